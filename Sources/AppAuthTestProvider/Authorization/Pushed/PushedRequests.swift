internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The pushed requests, and their use at the authorization endpoint (RFC 9126 §4).
struct PushedRequests {
    let context: Context

    private static let prefix = "urn:ietf:params:oauth:request_uri:"

    /// Stores a request.
    ///
    /// - Returns: Its `request_uri`, which cannot be guessed (RFC 9126 §7.1).
    func add(_ request: AuthorizationRequest) throws -> String {
        let (uri, now) = (Self.prefix + (try OpaqueToken.make()), context.now)
        context.store.withLock { records in
            records.prune(now)
            records.pushedRequests[uri] = PushedRequest(
                request: request, expiresAt: now.adding(context.configuration.pushedRequestLifetime))
        }
        return uri
    }

    /// Returns the request for the authorization endpoint: the pushed request that the parameters name, or the one that
    /// they contain.
    func request(_ parameters: Parameters) throws(AuthorizationRefusal) -> AuthorizationRequest {
        if let uri = parameters["request_uri"], uri.hasPrefix(Self.prefix) { return try take(uri, parameters) }
        let request = try AuthorizationRequest(parameters, context)
        // RFC 9126 §5: with require_pushed_authorization_requests there is no other way.
        guard !context.configuration.requiresPushedRequests else {
            throw AuthorizationRefusal(
                .invalidRequest("expected a pushed authorization request"), wayBack: request.wayBack)
        }
        return request
    }

    /// Returns the pushed request, and ignores parameters other than client_id and request_uri (RFC 9126 §4). Without a
    /// request there is no redirect URI, so a refusal is shown on a page.
    private func take(_ uri: String, _ parameters: Parameters) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard parameters.values("client_id").count == 1, parameters.values("request_uri").count == 1 else {
            throw AuthorizationRefusal(.invalidRequest("expected one client_id and one request_uri"))
        }
        let (now, clientID) = (context.now, parameters["client_id"])
        let found = context.store.withLock { records -> PushedRequest? in
            // RFC 9126 §2.2: bound to the client that pushed it. Another client's request leaves it in place.
            guard let found = records.pushedRequests[uri], found.request.client.id == clientID else { return nil }
            // RFC 9126 §4: valid once.
            records.pushedRequests[uri] = nil
            return found
        }
        guard let found, found.expiresAt > now else {
            throw AuthorizationRefusal(
                OAuthFailure("invalid_request_uri", "the request_uri has expired, was used, or is not this client's"))
        }
        return found.request
    }
}

extension PushedRequests {
    /// Adds the metadata of RFC 9126 §5.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["pushed_authorization_request_endpoint"] = .string(context.issuer.url(.pushedAuthorization))
        document["require_pushed_authorization_requests"] = .bool(context.configuration.requiresPushedRequests)
    }
}
