internal import JOSE

/// An absolute URL to which credentials may be sent: `https`, or `http` to loopback (`127.0.0.0/8`, `[::1]` and
/// `localhost`).
///
/// The URL is kept exactly as written, because issuers are compared byte for byte. It must follow RFC 3986 strictly:
/// only ASCII, no user information, no fragment.
public struct SecureURL: Sendable, Hashable {
    /// The URL as written.
    public let string: String
    /// Positions in the UTF-8 of ``string``, which is ASCII. This way, parsing copies nothing: it is done for each
    /// request.
    private let schemeEnd, hostEnd, authorityEnd: Int

    /// `https` or `http`.
    public var scheme: String { part(0..<schemeEnd).lowercased() }

    /// The host and, if given, the port, as in the URL and in a `Host` header.
    public var authority: String { part(authorityStart..<authorityEnd) }

    /// The host in lower case. An IPv6 address keeps its brackets.
    public var host: String { part(authorityStart..<hostEnd).lowercased() }

    /// Path and query, beginning with `/`, as in an HTTP request line.
    public var pathAndQuery: String {
        let rest = part(authorityEnd..<string.utf8.count)
        return rest.hasPrefix("/") ? rest : "/" + rest
    }

    /// Whether the URL as written ends with a path: it has no query, and its path is not empty.
    package var endsWithPath: Bool { string.hasSuffix(authority + path) }

    private var authorityStart: Int { schemeEnd + "://".utf8.count }

    private func part(_ range: Range<Int>) -> String {
        let start = string.utf8.index(string.startIndex, offsetBy: range.lowerBound)
        return String(string[start..<string.utf8.index(start, offsetBy: range.count)])
    }

    /// Parses and checks a URL.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that says what is wrong.
    public init(_ string: String) throws { try self.init(string, isTyped: true) }

    /// - Parameter isTyped: Whether the URL is the user's or the app's, so that an error says what may be meant.
    package init(_ string: String, isTyped: Bool) throws {
        func refuse(_ why: String) -> AuthError {
            AuthError(
                .invalidConfiguration, .configuration,
                "expected an absolute https URL, found \(Self.excerpt(string).foundText): \(why)")
        }
        self.string = string
        (schemeEnd, hostEnd, authorityEnd) = try string.withBytes { bytes in
            guard bytes.count <= 8192 else { throw refuse("it is longer than 8192 bytes") }
            guard !bytes.contains(UInt8(ascii: "#")) else {
                throw refuse("it has a fragment, from '#' on: leave it out")
            }
            guard bytes.allSatisfy(\.isAllowed) else {
                let refused = string.unicodeScalars.first { UInt8(exactly: $0.value)?.isAllowed != true }
                let encoded = refused.map { String($0).percentEncoded { _ in false } } ?? ""
                throw refuse("it has a character that must be percent-encoded, as \(encoded)")
            }
            guard bytes.escapesAreComplete else { throw refuse("it has a '%' without two hexadecimal digits") }
            let schemeEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
            guard bytes[schemeEnd...].starts(with: "://".utf8) else {
                let suggestion = isTyped ? Self.suggestion(for: string) : nil
                throw refuse("it does not begin with https://" + (suggestion ?? ""))
            }
            let rest = bytes[(schemeEnd + "://".utf8.count)...]
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard let hostEnd = Self.hostEnd(rest[..<end]) else { throw refuse("its host or port is malformed") }
            let port = String(decoding: bytes[hostEnd..<end].dropFirst(), as: UTF8.self)
            guard port.isEmpty || UInt16(port).map({ $0 > 0 }) == true else {
                throw refuse("its port is not 1 to 65535")
            }
            return (schemeEnd, hostEnd, end)
        }
        switch scheme {
        case "https": break
        case "http" where isLoopback: break
        case "http":
            let rest = part(authorityStart..<string.utf8.count)
            throw refuse(
                "http is allowed for loopback hosts only. Use \("https://\(Self.excerpt(rest))".shownURL.foundText)")
        default: throw refuse("its scheme is not https")
        }
    }

    /// Whether the host is this machine: `127.0.0.0/8`, `[::1]` or `localhost`.
    public var isLoopback: Bool { part(authorityStart..<hostEnd).isLoopbackHost }

    /// Scheme, host and port. Two URLs have the same origin if these are equal (RFC 6454 §4).
    public var origin: String {
        "\(scheme)://\(host):\(port ?? (scheme == "https" ? 443 : 80))"
    }

    /// The URL for messages: without the query, which may have secrets, and encoded as ``String/shownURL``.
    package var place: String { "\(scheme)://\(authority)\(path)".shownURL }

    /// The host for users, with the port unless it is the default one.
    package var shownHost: String {
        port.map { $0 == (scheme == "https" ? 443 : 80) ? host : "\(host):\($0)" } ?? host
    }

    /// The port, if the URL names one.
    public var port: UInt16? { UInt16(part(hostEnd..<authorityEnd).dropFirst()) }

    /// The path without the query.
    public var path: String { String(Substring(pathAndQuery.utf8.prefix { $0 != UInt8(ascii: "?") })) }

    /// The query without its `?`, or nil if there is none.
    public var query: String? {
        string.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(string[string.utf8.index(after: $0)...]) }
    }

    /// Returns the URL with parameters appended to its query, which stays unchanged (RFC 6749 §3.1).
    package func appending(_ parameters: FormParameters) -> String {
        let query = query
        let joint = query == nil ? "?" : query == "" || string.hasSuffix("&") ? "" : "&"
        return "\(string)\(joint)\(parameters.encoded)"
    }

    /// Returns the URL without the parameters of these names in its query.
    func removing(_ names: Set<String>) throws -> SecureURL {
        guard let query else { return self }
        let kept = query.split(separator: "&").filter { piece in
            !(FormParameters(decoding: piece)?.items.contains { names.contains($0.name) } ?? false)
        }
        return try SecureURL(
            string.dropLast(query.utf8.count + 1) + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&")))
    }

    /// Returns the sentence that gives a URL without a whole scheme as the user may have meant it; nil if that is no URL.
    private static func suggestion(for string: String) -> String? {
        guard !string.contains("://") else { return nil }
        let scheme = ["https:", "http:"].first { string.lowercased().hasPrefix($0) } ?? ""
        let rest = String(string.dropFirst(scheme.count).drop { $0 == "/" })
        guard let url = try? SecureURL("https://" + rest), !url.authority.hasSuffix(":") else { return nil }
        return ". Use \("\(url.isLoopback ? "http" : "https")://\(excerpt(rest))".shownURL.foundText)"
    }

    /// Returns the part of a rejected URL that may be shown: not user information, query or fragment, which may be
    /// secret.
    private static func excerpt(_ string: String) -> String {
        // By Unicode scalars: a combining mark would hide the character before it.
        let shown = String(string.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        let visible = shown.unicodeScalars.lastIndex(of: "@").map { "…" + shown[$0...] } ?? shown
        return visible.shortened(to: 200)
    }

    /// Returns the end of the host in `host[:port]`. Returns nil for user information, an empty host, and brackets around
    /// anything but an IPv6 address. Escapes, which RFC 3986 §3.2.2 allows, are rejected too: HTTP clients disagree on
    /// their meaning.
    private static func hostEnd(_ authority: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        let host: Slice<UnsafeBufferPointer<UInt8>>
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            host = authority[...end]
            let address = host.dropFirst().dropLast()
            guard address.contains(UInt8(ascii: ":")),
                address.allSatisfy({ $0.hexDigitValue != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return nil }
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
            guard host.allSatisfy(\.isUnreserved) else { return nil }
        }
        let rest = authority[host.endIndex...]
        let isPort = rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isASCIIDigit)
        // RFC 1035 §2.3.4. A longer one would fill the screen of a user who has to know it.
        guard !host.isEmpty, host.count <= 253, rest.isEmpty || isPort else { return nil }
        return host.endIndex
    }
}

extension SecureURL: CustomStringConvertible {
    /// The URL for people, who may paste it into a command line: see ``string`` for the URL as written.
    public var description: String { string.shownURL }
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
    /// RFC 3986 §2: reserved and unreserved characters and `%`, but no `#`, which begins a fragment.
    fileprivate var isAllowed: Bool {
        switch self {
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: (0x21...0x7E).contains(self)
        }
    }

    /// RFC 3986 §2.3.
    fileprivate var isUnreserved: Bool {
        isASCIIAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: ".") || self == UInt8(ascii: "_")
            || self == UInt8(ascii: "~")
    }
}
