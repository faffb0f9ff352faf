public import AppAuthProtocol
internal import JOSE

/// The thumbprint of the certificate that an access token is bound to (RFC 8705 §3). The token is valid only on a
/// connection with that certificate. For resource servers.
///
/// ```swift
/// if let bound = try CertificateThumbprint(confirmation: response.confirmation) {
///     guard bound == CertificateThumbprint(certificate: shown) else { throw Unauthorized() }
/// }
/// ```
public struct CertificateThumbprint: Sendable, Hashable {
    /// The SHA-256 of the certificate in DER, in base64url without padding.
    public let value: String

    /// Computes the thumbprint of a connection's certificate.
    ///
    /// - Parameter der: The certificate in DER.
    public init(certificate der: [UInt8]) { value = Base64URL.encode(Digest.sha256.hash(der)) }

    /// Reads the member `x5t#S256` of a `cnf` (RFC 8705 §3.1) from an introspection response, or from a verified access
    /// token that is a JWT. Returns nil if the token is not bound to a certificate.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if the member is not a SHA-256 in base64url:
    ///   such a token must not count as unbound. Not even `null`, which elsewhere means absent.
    public init?(confirmation: JSON.Object?) throws {
        let name = "x5t#S256"
        guard let confirmation, confirmation.names.contains(name) else { return nil }
        let member = confirmation[name]
        guard let text = member?.string, Base64URL.decode(text)?.count == Digest.sha256.byteCount else {
            throw Introspection.refusal(
                "expected \(name.foundText) to be 32 bytes in base64url, found \(member.foundText)")
        }
        value = text
    }
}
