internal import JOSE

/// The key that whoever uses a code or a token has to prove (RFC 7800 §3.1), by its thumbprint (RFC 9449 §6.1).
struct Confirmation: Sendable, Hashable {
    let jkt: String

    var json: JSON { ["jkt": .string(jkt)] }
}

extension AuthorizationChecks {
    /// The key that the code will be bound to (RFC 9449 §10).
    func dpopKey() throws(OAuthFailure) -> Confirmation? {
        guard let thumbprint = parameters["dpop_jkt"] else { return nil }
        guard Base64URL.decode(thumbprint)?.count == 32 else {
            throw .invalidRequest("expected a dpop_jkt of 43 characters in base64url")
        }
        return Confirmation(jkt: thumbprint)
    }
}

extension Context {
    /// Refuses a code or a refresh token that is bound to another key than this request proves (RFC 9449 §5, §10).
    func check(_ bound: Confirmation?, of what: String) throws(OAuthFailure) {
        guard bound == nil || bound == confirmation else {
            throw .invalidGrant("\(what) is bound to a key that this request does not prove")
        }
    }
}
