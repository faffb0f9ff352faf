/// An absolute URL to which credentials may be sent: `https`, or `http` to loopback (`127.0.0.0/8`, `[::1]` and
/// `localhost`).
///
/// The URL is kept exactly as written, because issuers are compared byte for byte. It must follow RFC 3986 strictly:
/// only ASCII, no user information, no fragment.
public struct SecureURL: Sendable, Hashable {
    /// The URL as written.
    public let string: String
    /// `https` or `http`.
    public let scheme: String
    /// The host and, if given, the port, as in the URL and in a `Host` header.
    public let authority: String
    /// The host in lower case. An IPv6 address keeps its brackets.
    public let host: String
    /// Path and query, beginning with `/`, as in an HTTP request line.
    public let pathAndQuery: String

    /// Parses and checks a URL.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that says what is wrong.
    public init(_ string: String) throws {
        func refuse(_ why: String) -> AuthError {
            AuthError(
                .invalidConfiguration, .configuration,
                "expected an absolute https URL, found '\(Self.excerpt(string))': \(why)", outcome: .notSent)
        }
        guard string.utf8.count <= 8192 else { throw refuse("it is longer than 8192 bytes") }
        guard string.utf8.allSatisfy(Self.isAllowed), Self.escapesAreComplete(string) else {
            throw refuse("it has a character that must be percent-encoded")
        }
        // From here on the code works on bytes: the text is ASCII, and this runs for each request.
        let scheme = string.utf8.prefix { $0 != UInt8(ascii: ":") }
        guard string[scheme.endIndex...].hasPrefix("://") else {
            let isHost = !string.contains("://") && (try? SecureURL("https://" + string)) != nil
            throw refuse("it does not begin with https://" + (isHost ? ". Use 'https://\(Self.excerpt(string))'" : ""))
        }
        let rest = string[scheme.endIndex...].dropFirst(3)
        let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<end]
        guard let (host, port) = Self.split(authority) else { throw refuse("its host or port is malformed") }
        guard port.isEmpty || UInt16(port).map({ $0 > 0 }) == true else { throw refuse("its port is not 1 to 65535") }
        let tail = rest[end...]
        self.string = string
        self.scheme = Substring(scheme).lowercased()
        self.authority = String(authority)
        self.host = host.lowercased()
        pathAndQuery = tail.hasPrefix("/") ? String(tail) : "/" + tail
        switch self.scheme {
        case "https": break
        case "http" where isLoopback: break
        case "http":
            throw refuse("http is allowed for loopback hosts only. Use 'https://\(Self.excerpt(String(rest)))'")
        default: throw refuse("its scheme is not https")
        }
    }

    /// Whether the host is this machine: `127.0.0.0/8`, `[::1]` or `localhost`.
    public var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }

    /// Scheme, host and port. Two URLs have the same origin if these are equal (RFC 6454 §4).
    public var origin: String {
        "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
    }

    /// The port, if the URL names one.
    public var port: UInt16? { Self.split(authority[...]).flatMap { UInt16($0.port) } }

    /// The path without the query.
    public var path: String { String(pathAndQuery.prefix { $0 != "?" }) }

    /// The query without its `?`, or nil if there is none.
    public var query: String? {
        pathAndQuery.firstIndex(of: "?").map { String(pathAndQuery[pathAndQuery.index(after: $0)...]) }
    }

    /// Returns the URL with parameters appended to its query, which stays unchanged (RFC 6749 §3.1).
    package func appending(_ parameters: FormParameters) -> String {
        let joint = query == nil ? "?" : query == "" || pathAndQuery.hasSuffix("&") ? "" : "&"
        return string + joint + parameters.encoded
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~:/?[]@!$&'()*+,;=%".utf8.contains(byte)
    }

    private static func escapesAreComplete(_ string: String) -> Bool {
        var rest = string.utf8[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[percent...].dropFirst()
            guard rest.count >= 2, rest.prefix(2).allSatisfy(\.isHexDigit) else { return false }
        }
        return true
    }

    /// Returns the part of a rejected URL that may be shown: not user information, query or fragment, which may be
    /// secret.
    private static func excerpt(_ string: String) -> String {
        let shown = string.prefix { $0 != "?" && $0 != "#" }
        let visible = shown.lastIndex(of: "@").map { "…" + shown[$0...] } ?? String(shown)
        return visible.shortened(to: 200)
    }

    /// Splits `host[:port]`. Returns nil for user information, an empty host, and brackets around anything but an IPv6
    /// address. Escapes, which RFC 3986 §3.2.2 allows, are rejected too: HTTP clients disagree on their meaning.
    private static func split(_ authority: Substring) -> (host: Substring, port: Substring)? {
        let bytes = authority.utf8
        let host: Substring.UTF8View
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = bytes[...end]
            let address = host.dropFirst().dropLast()
            guard address.contains(UInt8(ascii: ":")),
                address.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return nil }
        } else {
            host = bytes.prefix { $0 != UInt8(ascii: ":") }
            guard host.allSatisfy({ $0.isLetter || $0.isDigit || "-._~".utf8.contains($0) }) else { return nil }
        }
        let rest = bytes[host.endIndex...]
        guard !host.isEmpty, rest.isEmpty || rest.first == UInt8(ascii: ":"), rest.dropFirst().allSatisfy(\.isDigit)
        else { return nil }
        return (Substring(host), Substring(rest.dropFirst()))
    }
}

extension SecureURL: CustomStringConvertible {
    /// The URL as written.
    public var description: String { string }
}

extension SecureURL: Codable {
    /// Decodes and checks a single string.
    public init(from decoder: any Decoder) throws { try self.init(decoder.singleValueContainer().decode(String.self)) }

    /// Encodes a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isHexDigit: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }
}
