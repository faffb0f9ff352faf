internal import HTTPTypes
internal import JOSE
internal import Logging

extension Discovery {
    /// Asks a protected resource for its metadata (RFC 9728 §3, §5).
    ///
    /// Sends a GET without a token to the resource. If its response names a location of the metadata that can be used,
    /// fetches that; otherwise, the location of RFC 9728 §3.1, and then that of the resource's origin. If there are none,
    /// and the origin is an authorization server itself, it is the resource's (MCP 2025-03-26). No redirects are
    /// followed. Nothing is kept of the resource.
    ///
    /// - Parameter url: The URL of the resource.
    /// - Throws: ``AuthError`` with ``AuthError/Code/resourceMismatch`` if the metadata is about another resource,
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidResponse`` with what each location returned,
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that is not https (or http on loopback),
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func protectedResource(at url: String) async throws -> ProtectedResource {
        try await protectedResource(at: url, initializing: false)
    }

    /// - Parameters:
    ///   - initializing: Whether a resource that does not respond to GET is asked with the first request of MCP, an empty
    ///     `initialize`. It can be served over POST only.
    ///   - chosen: The user's choice of an authorization server, for a resource that has no metadata.
    package func protectedResource(
        at url: String, initializing: Bool, or chosen: Issuer? = nil
    ) async throws -> ProtectedResource {
        let url = try SecureURL(url)
        let challenge = try await challenge(of: url, initializing: initializing)
        let known = try url.resourceMetadataURLs
        let named = challenge.flatMap { metadataURL(in: $0, namedBy: url) }.flatMap { known.contains($0) ? nil : $0 }
        var missing = MissingDocuments()
        var unusable: AuthError?
        for location in [named].compactMap(\.self) + known {
            do {
                let found = try await missing.document(at: location) {
                    let (json, _) = try await environment.document(at: location, stage: .resource)
                    return try ProtectedResource(
                        json, of: url, from: location, isWellKnown: location != named, demanded: challenge?.scope)
                }
                if let found { return found }
            } catch let error as AuthError
                where [.resourceMismatch, .invalidMetadata].contains(error.code) && location == named
            {
                // Whoever answers at the URL may name any location. It is trusted no more than the well-known ones.
                unusable = error
            }
        }
        if let unusable { throw unusable }
        let error = missing.error("no metadata of the resource", "Check the URL, or name its issuer")
        if missing.trouble != nil { throw error }
        let issuer = if let chosen { chosen } else { try await origin(of: url, or: error) }
        return ProtectedResource(url, of: issuer, demanded: challenge?.scope)
    }

    /// Returns the origin of a resource as its authorization server (MCP 2025-03-26, Authorization §2.3).
    private func origin(of resource: SecureURL, or error: AuthError) async throws -> Issuer {
        let origin = try Issuer("\(resource.scheme)://\(resource.authority)")
        do {
            _ = try await metadata(for: origin)
            return origin
        } catch let found as AuthError where found.code == .issuerMismatch {
            var error = error
            error.message = "\(found.message); \(error.message)"
            throw error
        } catch let found as AuthError where !found.leavesDocumentUnknown {
            throw error
        }
    }

    /// Returns the metadata of the authorization server that issues tokens for a resource. If the resource lists none, that is
    /// its origin.
    ///
    /// The metadata notes the resource (``ProviderMetadata/resource``), unless the app chooses the issuer. Sign in with
    /// this metadata: ``SignIn`` then requires the user's agreement (``AuthError/Code/confirmationRequired``) if the
    /// owner of the resource could direct the user to another server's page (RFC 9700 §4.4).
    ///
    /// - Parameters:
    ///   - resource: The resource.
    ///   - chosen: The app's or the user's choice: one of the servers that the resource lists. The choice is an agreement
    ///     to sign in there.
    /// - Throws: As ``ProtectedResource/authorizationServer(_:)``, if the origin is no authorization server, and
    ///   ``metadata(for:at:policy:)``; ``AuthError`` with
    ///   ``AuthError/Code/resourceMismatch`` if the server lists its resources, and this one is not among them.
    public func metadata(for resource: ProtectedResource, choosing chosen: Issuer? = nil) async throws
        -> ProviderMetadata
    {
        var provider = try await metadata(ofListed: server(of: resource, choosing: chosen))
        // RFC 9728 §4, §7.6: if both lists exist, each must name the other. A resource that only claims to belong to the
        // server would otherwise get its tokens.
        if let resources = provider.document["protected_resources"] {
            guard resources.strings?.contains(where: resource.url.string.isExactly) == true else {
                throw AuthError(
                    .resourceMismatch, .discovery,
                    "the authorization server \(provider.issuer) does not list the resource \(resource.url)")
            }
        }
        if chosen == nil { provider.resource = resource.asked }
        provider.servesResource = true
        return provider
    }

    private func server(of resource: ProtectedResource, choosing chosen: Issuer?) async throws -> Issuer {
        do { return try resource.authorizationServer(chosen) } catch let error as AuthError where resource.namesNoServer
        {
            // RFC 9728 §2: a resource need not list its servers.
            return try await origin(of: resource.url, or: error)
        }
    }

    /// Several resources list their server with a slash after the host that its issuer does not have, or without one that
    /// it has. RFC 3986 §6.2.3: it is the same URL. The metadata names the issuer, as always.
    private func metadata(ofListed issuer: Issuer) async throws -> ProviderMetadata {
        do { return try await metadata(for: issuer) } catch let error as AuthError where error.code == .issuerMismatch {
            guard let same = issuer.withOtherRootSlash, let found = try? await metadata(for: same) else { throw error }
            return found
        }
    }

    /// Returns the resource's challenge; nil if it has none, or if the whole response cannot be received, for example
    /// because it is a stream without an end.
    private func challenge(of url: SecureURL, initializing: Bool) async throws -> Challenge? {
        let request = TransportRequest(HTTPRequest(method: .get, url: url), limits: .challenge)
        do {
            var response = try await environment.send(request, stage: .resource)
            if initializing, response.mayBeForPOST {
                response = try await environment.send(.initialize(url), stage: .resource)
            }
            guard response.status == .unauthorized else { return nil }
            let challenges = response.headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
            return challenges.first { $0.parameters["resource_metadata"] != nil }
                ?? challenges.first { ["bearer", "dpop"].contains($0.scheme) }
        } catch let error as AuthError where error.outcome != .notSent {
            return nil
        }
    }

    /// Returns the location of the resource's metadata (RFC 9728 §5.1); nil if the challenge names none that can be used.
    private func metadataURL(in challenge: Challenge, namedBy resource: SecureURL) -> SecureURL? {
        guard let text = challenge.parameters["resource_metadata"], !challenge.repeated.contains("resource_metadata"),
            let url = try? SecureURL(text)
        else { return nil }
        // RFC 9728 §7.7: a remote server must not direct requests to this machine.
        guard let objection = url.objection(namedBy: resource) else { return url }
        environment.logger.notice("resource: ignored 'resource_metadata' of \(resource): \(objection)")
        return nil
    }
}

extension TransportResponse {
    /// Whether the server may respond to POST only. 401 is a response to any method.
    fileprivate var mayBeForPOST: Bool {
        status != .unauthorized && [.clientError, .redirection].contains(status.kind) || status == .notImplemented
    }
}

extension TransportRequest {
    /// The first request of MCP over HTTP, without its contents: it comes before any other, and has no effect.
    fileprivate static func initialize(_ url: SecureURL) -> TransportRequest {
        let body: JSON = ["jsonrpc": "2.0", "id": 1, "method": "initialize", "params": [:]]
        var request = HTTPRequest(method: .post, url: url)
        request.headerFields[.contentType] = "application/json"
        request.headerFields[.accept] = "application/json, text/event-stream"
        return TransportRequest(request, body: Array(body.serialized().utf8), limits: .challenge)
    }
}

extension HTTPLimits {
    /// The limits of a response of which only the header counts.
    fileprivate static let challenge = HTTPLimits(
        bodyBytes: 64 << 10, headerBytes: 64 << 10, total: .seconds(10), connect: .seconds(10))
}

extension Challenge {
    /// The required scopes (RFC 6750 §3).
    fileprivate var scope: [Scope]? { parameters["scope"].map([Scope].init(received:)) }
}

extension SecureURL {
    /// The well-known locations of a resource's metadata: between the host and the path or query (RFC 9728 §3.1), where
    /// only a slash that follows the host is removed; then that of the origin, where several servers have it.
    fileprivate var resourceMetadataURLs: [SecureURL] {
        get throws {
            let rest = path == "/" ? pathAndQuery.dropFirst() : pathAndQuery[...]
            let root = "\(scheme)://\(authority)/.well-known/oauth-protected-resource"
            return try ([root + rest] + (rest.isEmpty ? [] : [root])).map(SecureURL.init)
        }
    }
}
