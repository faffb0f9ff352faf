/// An issuer identifier: an https URL without query and fragment (OpenID Connect Core §1.2, RFC 8414 §2), compared byte
/// for byte. `http` is taken for loopback hosts alone.
public struct Issuer: Sendable, Hashable, CustomStringConvertible {
    /// The identifier as a URL.
    public let url: SecureURL

    /// Reads and checks an issuer.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that says what is wrong.
    public init(_ string: String) throws {
        url = try SecureURL(string)
        guard url.query == nil else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected an issuer without a query, found one behind '\(url.scheme)://\(url.authority)\(url.path)'",
                outcome: .notSent)
        }
    }

    /// The identifier as it was written.
    public var description: String { url.string }
    /// The identifier as it was written.
    public var string: String { url.string }

    /// Where OpenID Connect Discovery §4.1 puts the metadata: behind the issuer's path.
    package var openIDConfigurationURL: String { trimmed + "/.well-known/openid-configuration" }

    /// Where RFC 8414 §3.1 puts the metadata, between the host and the issuer's path; then the same name behind the path, as
    /// in OpenID Connect Discovery, where several servers have it.
    package var authorizationServerMetadataURLs: [String] {
        let name = "/.well-known/oauth-authorization-server"
        let path = url.path == "/" ? "" : url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        let between = "\(url.scheme)://\(url.authority)\(name)\(path)"
        return path.isEmpty ? [between] : [between, trimmed + name]
    }

    private var trimmed: String { string.hasSuffix("/") ? String(string.dropLast()) : string }
}

extension Issuer: Codable {
    /// Reads and checks a single string.
    public init(from decoder: any Decoder) throws { try self.init(decoder.singleValueContainer().decode(String.self)) }

    /// Writes a single string.
    public func encode(to encoder: any Encoder) throws { try url.encode(to: encoder) }
}
