internal import FoundationEssentials
internal import JOSE

/// An authorization request that was pushed and waits for its browser (RFC 9126 §2.2).
struct PushedRequest: Sendable {
    let request: AuthorizationRequest
    let expiresAt: Date
}

/// The pushed requests, and what the authorization endpoint makes of them (RFC 9126 §4).
struct PushedRequests {
    let context: Context

    private static let prefix = "urn:ietf:params:oauth:request_uri:"

    /// Keeps a request.
    ///
    /// - Returns: Its `request_uri`, which nobody can guess (RFC 9126 §7.1).
    func add(_ request: AuthorizationRequest) throws -> String {
        let (uri, now) = (Self.prefix + (try OpaqueToken.make()), context.now)
        context.store.withLock { records in
            records.prune(now)
            records.pushedRequests[uri] = PushedRequest(
                request: request, expiresAt: now.adding(context.configuration.pushedRequestLifetime))
        }
        return uri
    }

    /// The request that the authorization endpoint goes on with: the pushed one that the parameters name, or themselves.
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

    /// What stands beside client_id and request_uri does not count (RFC 9126 §4). Where the request is not there, neither
    /// is its redirect URI, so refusals stay here.
    private func take(_ uri: String, _ parameters: Parameters) throws(AuthorizationRefusal) -> AuthorizationRequest {
        guard parameters.values("client_id").count == 1, parameters.values("request_uri").count == 1 else {
            throw AuthorizationRefusal(.invalidRequest("expected one client_id and one request_uri"))
        }
        let (now, clientID) = (context.now, parameters["client_id"])
        let found = context.store.withLock { records -> PushedRequest? in
            // RFC 9126 §2.2: bound to the client that pushed it. Another client's question leaves it there.
            guard let found = records.pushedRequests[uri], found.request.client.id == clientID else { return nil }
            // RFC 9126 §4: good once.
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
    /// RFC 9126 §5.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["pushed_authorization_request_endpoint"] = .string(context.issuer.url(.pushedAuthorization))
        document["require_pushed_authorization_requests"] = .bool(context.configuration.requiresPushedRequests)
    }
}
