internal import JOSE

/// Proof key for code exchange (RFC 7636): a secret that only this app has, and its challenge in the request.
///
/// The method is always S256. `plain` is not supported, and PKCE cannot be disabled (RFC 7636 §7.2, RFC 9700 §2.1.1).
public struct PKCE: Sendable, Hashable {
    /// 32 random bytes as 43 characters of base64url (RFC 7636 §4.1).
    public let codeVerifier: Secret
    /// The SHA-256 of the verifier in base64url (RFC 7636 §4.2).
    public let codeChallenge: String

    /// Creates a new pair.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the system provides no random bytes.
    public init() throws { self.init(codeVerifier: try Secret(randomBytes: 32)) }

    package init(codeVerifier: Secret) {
        self.codeVerifier = codeVerifier
        codeChallenge = codeVerifier.fingerprint
    }
}
