/// An issuer identifier: an https URL without query and fragment (OpenID Connect Core §1.2, RFC 8414 §2). Issuers are
/// compared byte for byte. `http` is accepted only for loopback hosts.
public struct Issuer: Sendable, Hashable, CustomStringConvertible {
    /// The identifier as a URL.
    public let url: SecureURL

    /// Parses and checks an issuer. (With a literal, Swift calls ``init(stringLiteral:)`` instead.)
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that says what is wrong.
    public init(_ string: String) throws {
        url = try SecureURL(string)
        guard url.query == nil else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected an issuer without a query, found one after \(url.place)")
        }
    }

    /// The identifier for people: see ``string`` for the identifier as written.
    public var description: String { url.description }
    /// The identifier as written.
    public var string: String { url.string }

    /// The same server with a slash after the host, or without the one that is there (RFC 3986 §6.2.3); nil if the issuer
    /// has another path.
    var withOtherRootSlash: Issuer? {
        guard url.path == "/" else { return nil }
        return try? Issuer(url.endsWithPath ? String(string.dropLast()) : string + "/")
    }

    /// The metadata's URLs by OpenID Connect Discovery §4.1, after the issuer's path. Several servers have the same name
    /// between the host and the path, as in RFC 8414: that URL comes second.
    package var openIDConfigurationURLs: [String] { locations(of: "openid-configuration").reversed() }

    /// The metadata's URLs by RFC 8414 §3.1, between the host and the issuer's path. Several servers have the same name
    /// after the path, as in OpenID Connect Discovery: that URL comes second.
    package var authorizationServerMetadataURLs: [String] { locations(of: "oauth-authorization-server") }

    /// The URLs between the host and the path, and after the path.
    private func locations(of name: String) -> [String] {
        let (origin, name) = ("\(url.scheme)://\(url.authority)", "/.well-known/\(name)")
        let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        return path.isEmpty ? [origin + name] : [origin + name + path, origin + path + name]
    }
}

extension Issuer: ExpressibleByStringLiteral {
    /// Creates an issuer from a literal in the source, for example `let issuer: Issuer = "https://accounts.example.org"`.
    ///
    /// A literal that is not an issuer is a programming error and ends the program. For a text that comes from elsewhere,
    /// use ``init(_:)``, which throws.
    public init(stringLiteral literal: StaticString) {
        do { try self.init(String(describing: literal)) } catch { preconditionFailure("\(literal): \(error)") }
    }
}

extension Issuer: Codable {
    /// Decodes and checks a single string.
    public init(from decoder: any Decoder) throws { try self.init(decoder.singleValueContainer().decode(String.self)) }

    /// Encodes a single string.
    public func encode(to encoder: any Encoder) throws { try url.encode(to: encoder) }
}
