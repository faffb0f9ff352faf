internal import HTTPTypes
internal import JOSE

extension Discovery {
    /// Asks a protected resource for its metadata (RFC 9728 §3, §5).
    ///
    /// Sends a GET without a token to the resource. If its response names the location of the metadata, fetches that;
    /// otherwise, the location of RFC 9728 §3.1. No redirects are followed. Nothing is kept.
    ///
    /// - Parameter url: The URL of the resource, exactly as the resource names itself.
    /// - Throws: ``AuthError`` with ``AuthError/Code/resourceMismatch`` if the metadata is about another resource,
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that is not https (or http on loopback),
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func protectedResource(at url: String) async throws -> ProtectedResource {
        let url = try SecureURL(url)
        let challenge = try await challenge(of: url)
        let location = try challenge.flatMap { try $0.metadataURL(namedBy: url) } ?? url.resourceMetadataURL
        do {
            let (json, _) = try await environment.document(at: location, stage: .resource)
            return try ProtectedResource(json, of: url, from: location, demanded: challenge?.scope)
        } catch var error as AuthError where error.httpStatus == 404 {
            error.message = "no metadata of the resource at \(location) (404). Check the URL, or name its issuer"
                .shortened(to: 1000)
            throw error
        }
    }

    /// Returns the metadata of the authorization server that issues tokens for a resource.
    ///
    /// The metadata notes the resource (``ProviderMetadata/resource``), unless the app chooses the issuer. Sign in with
    /// this metadata: ``SignIn`` then requires the user's agreement (``AuthError/Code/confirmationRequired``) if the
    /// owner of the resource could direct the user to another server's page (RFC 9700 §4.4).
    ///
    /// - Parameters:
    ///   - resource: The resource.
    ///   - chosen: The app's or the user's choice: one of the servers that the resource lists. The choice is an agreement
    ///     to sign in there.
    /// - Throws: As ``ProtectedResource/authorizationServer(_:)`` and ``metadata(for:policy:)``; ``AuthError`` with
    ///   ``AuthError/Code/resourceMismatch`` if the server lists its resources, and this one is not among them.
    public func metadata(for resource: ProtectedResource, choosing chosen: Issuer? = nil) async throws
        -> ProviderMetadata
    {
        var provider = try await metadata(for: resource.authorizationServer(chosen))
        // RFC 9728 §4, §7.6: if both lists exist, each must name the other. A resource that only claims to belong to the
        // server would otherwise get its tokens.
        if let resources = provider.document["protected_resources"] {
            guard resources.strings?.contains(where: resource.url.string.isExactly) == true else {
                throw AuthError(
                    .resourceMismatch, .discovery,
                    "the authorization server \(provider.issuer) does not list the resource \(resource.url)")
            }
        }
        if chosen == nil { provider.resource = resource.url }
        return provider
    }

    /// Returns the resource's challenge; nil if it has none, or if the whole response cannot be received, for example
    /// because it is a stream without an end.
    private func challenge(of url: SecureURL) async throws -> Challenge? {
        let request = TransportRequest(HTTPRequest(method: .get, url: url), limits: .challenge)
        do {
            let response = try await environment.send(request, stage: .resource)
            guard response.status == .unauthorized else { return nil }
            let challenges = response.headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
            return challenges.first { $0.parameters["resource_metadata"] != nil }
                ?? challenges.first { ["bearer", "dpop"].contains($0.scheme) }
        } catch let error as AuthError where error.outcome != .notSent {
            return nil
        }
    }
}

extension HTTPLimits {
    /// The limits of a response of which only the header counts.
    fileprivate static let challenge = HTTPLimits(
        bodyBytes: 64 << 10, headerBytes: 64 << 10, total: .seconds(10), connect: .seconds(5))
}

extension Challenge {
    /// The required scopes (RFC 6750 §3).
    fileprivate var scope: [Scope]? { parameters["scope"].map([Scope].init(spaceDelimited:)) }

    /// The location of the resource's metadata (RFC 9728 §5.1).
    fileprivate func metadataURL(namedBy resource: SecureURL) throws -> SecureURL? {
        guard let text = parameters["resource_metadata"] else { return nil }
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidResponse, .discovery, "invalid 'resource_metadata' of \(resource): \(message)")
        }
        let url: SecureURL
        do { url = try SecureURL(text) } catch let error as AuthError { throw refusal(error.message) }
        // RFC 9728 §7.7: a remote server must not direct requests to this machine.
        if let objection = url.objection(namedBy: resource) { throw refusal(objection) }
        return url
    }
}

extension SecureURL {
    /// The location of a resource's metadata (RFC 9728 §3.1): between the host and the path or query. Only a slash that
    /// follows the host is removed.
    fileprivate var resourceMetadataURL: SecureURL {
        get throws {
            let rest = path == "/" ? pathAndQuery.dropFirst() : pathAndQuery[...]
            return try SecureURL("\(scheme)://\(authority)/.well-known/oauth-protected-resource\(rest)")
        }
    }
}
