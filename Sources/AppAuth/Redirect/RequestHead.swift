internal import JOSE

/// The head of an HTTP/1 request, as far as the listener reads it.
package struct RequestHead: Sendable, Hashable {
    /// The method as sent.
    package var method: String
    /// The host and port that the request is meant for, from a target in absolute form or else from the `Host` field.
    package var authority: String
    /// The path of the target, undecoded.
    package var path: String
    /// The part of the target after the first `?`, undecoded; empty if there is none.
    package var query: String
    /// The header fields in their order, with names in lower case.
    package var fields: [Field]
    /// Whether the client speaks only HTTP/1.0.
    package var isVersion10 = false

    /// A header field.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    package init(method: String, authority: String, path: String, query: String, fields: [Field]) {
        (self.method, self.authority, self.path, self.query) = (method, authority, path, query)
        self.fields = fields
    }

    /// The first value of a field.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Whether a browser requests the page in advance, before the user opens it.
    package var isPrefetch: Bool {
        fields.contains { field in
            ["sec-purpose", "purpose", "x-moz"].contains(field.name) && field.value.lowercased().contains("prefetch")
                || field.name == "sec-speculation-tags"
        }
    }
}

extension RequestHead {
    /// Creates a head from its parsed lines.
    ///
    /// - Throws: ``Refusal`` with the status that describes the fault.
    init(_ start: RequestLine, fields: [Field]) throws(Refusal) {
        // RFC 9112 §3.2: a request without exactly one Host field gets a 400 response.
        let hosts = fields.filter { $0.name == "host" }
        guard hosts.count == 1 else { throw .badRequest }

        // RFC 9112 §3.2.2: the authority of a target in absolute form takes precedence over the Host field.
        let (authority, local) = Self.splitAbsolute(start.target) ?? (hosts[0].value, start.target)
        let parts = local.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (method, self.authority, self.fields) = (start.method, authority, fields)
        isVersion10 = start.isVersion10
        path = String(parts[0])
        query = parts.count > 1 ? String(parts[1]) : ""
    }

    struct RequestLine: Sendable {
        var method: String
        var target: String
        var isVersion10: Bool
    }

    /// RFC 9112 §3: `method SP request-target SP HTTP-version`, parsed strictly.
    static func requestLine(_ line: [UInt8]) throws(Refusal) -> RequestLine {
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenCharacter), !parts[1].isEmpty,
            parts[1].allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .badRequest }
        let version = text(parts[2])
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw version.hasPrefix("HTTP/") ? .versionNotSupported : .badRequest
        }
        return RequestLine(method: text(parts[0]), target: text(parts[1]), isVersion10: version == "HTTP/1.0")
    }

    /// RFC 9112 §5: no space before the colon, which enables request smuggling, and no folded lines.
    package static func field(_ line: [UInt8]) throws(Refusal) -> Field {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy(\.isTokenCharacter)
        else { throw .badRequest }
        let value = line[(colon + 1)...].drop(while: \.isBlank)
        let end = value.lastIndex { !$0.isBlank }.map { $0 + 1 } ?? value.startIndex
        return Field(name: text(line[..<colon]).lowercased(), value: text(value[..<end]))
    }

    /// Splits `http://authority/path?query`. Returns nil for a target in another form.
    private static func splitAbsolute(_ target: String) -> (authority: String, local: String)? {
        let scheme = "http://"
        guard target.prefix(scheme.count).lowercased() == scheme else { return nil }
        let rest = target.dropFirst(scheme.count)
        guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return (String(rest), "/") }
        let local = String(rest[end...])
        return (String(rest[..<end]), local.hasPrefix("/") ? local : "/" + local)
    }

    private static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// The reason to reject a request, as the status of the response.
    package enum Refusal: Int, Error, Sendable, Hashable {
        case badRequest = 400
        case lengthRequired = 411
        case contentTooLarge = 413
        case targetTooLong = 414
        case unsupportedMediaType = 415
        case headTooLarge = 431
        case versionNotSupported = 505
    }
}

extension UInt8 {
    /// `tchar` of RFC 9110 §5.6.2.
    var isTokenCharacter: Bool {
        isASCIIAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(self)
    }

    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
