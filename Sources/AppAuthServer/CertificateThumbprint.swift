public import AppAuthProtocol
internal import JOSE

/// The certificate that an access token is bound to (RFC 8705 §3): the token is good only on a connection on which that
/// certificate was shown. For the servers that tokens are presented to.
///
/// ```swift
/// if let bound = try CertificateThumbprint(confirmation: response.confirmation) {
///     guard bound == CertificateThumbprint(certificate: shown) else { return .unauthorized }
/// }
/// ```
public struct CertificateThumbprint: Sendable, Hashable {
    /// SHA-256 of the certificate in DER, in base64url without padding.
    public let value: String

    /// Takes the thumbprint of a certificate, as the connection has it.
    ///
    /// - Parameter der: The certificate in DER.
    public init(certificate der: [UInt8]) { value = Base64URL.encode(Digest.sha256.hash(der)) }

    /// Reads the member `x5t#S256` of a `cnf` (RFC 8705 §3.1): of an introspection response, or of an access token that is a
    /// JWT and was verified. Nil if the token is bound to no certificate.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` for a member that is no SHA-256 in base64url: such a
    ///   token is not to be taken for one that is bound to nothing.
    public init?(confirmation: JSON.Object?) throws {
        guard let member = confirmation?["x5t#S256"] else { return nil }
        guard let text = member.string, Base64URL.decode(text)?.count == Digest.sha256.byteCount else {
            throw Introspection.refusal(
                "expected 'x5t#S256' to be 32 bytes in base64url, found \((member as JSON?).foundText)")
        }
        value = text
    }
}
