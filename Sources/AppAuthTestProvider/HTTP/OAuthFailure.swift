internal import HTTPTypes
internal import JOSE

/// An OAuth error (RFC 6749 §4.1.2.1, §5.2). The description is ASCII without quotes and backslashes, as the RFC
/// requires. It states what was expected, and never contains a secret.
struct OAuthFailure: Error {
    let code: String
    let description: String
    var status = HTTPResponse.Status.badRequest
    /// The `WWW-Authenticate` field of the response.
    var challenge: String?

    init(_ code: String, _ description: String) { (self.code, self.description) = (code, description) }

    static func invalidRequest(_ description: String) -> OAuthFailure { OAuthFailure("invalid_request", description) }
    static func invalidGrant(_ description: String) -> OAuthFailure { OAuthFailure("invalid_grant", description) }

    /// A 401 with a challenge for the scheme that the client can use (RFC 6749 §5.2).
    static func invalidClient(_ description: String) -> OAuthFailure {
        var failure = OAuthFailure("invalid_client", description)
        failure.status = .unauthorized
        failure.challenge = #"Basic realm="local-provider", charset="UTF-8""#
        return failure
    }

    /// The reason why a client is not known, with what its developer can do.
    static func notRegistered(_ id: String) -> String {
        let name = id.forDescription
        return "no client is registered as \(name). If it is yours, start local-provider with --client \(name)"
    }

    var reply: Reply {
        var reply = Reply.json(["error": .string(code), "error_description": .string(description)], status).notStored
        if let challenge { reply.headers[.wwwAuthenticate] = challenge }
        return reply
    }
}

extension String {
    /// The name without the characters that RFC 6749 §5.2 forbids in a description.
    var forDescription: String {
        String(decoding: utf8.filter { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }.prefix(80), as: UTF8.self)
    }
}
