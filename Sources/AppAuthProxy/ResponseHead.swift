internal import AppAuth
internal import HTTPTypes

/// The head of a server's response as the client gets it.
struct ResponseHead: Sendable {
    /// How the client finds the end of the body.
    enum Framing { case none, length, chunked, untilClose }

    let framing: Framing
    /// Whether the connection can have another request.
    let keepsOpen: Bool
    let bytes: [UInt8]
    private let takesTrailers: Bool

    /// - Parameters:
    ///   - head: The request.
    ///   - server: The server, whose absolute redirects lead through the proxy.
    ///   - origin: The web page of another origin that may read the response.
    init(_ response: HTTPResponse, to head: RequestHead, from server: SecureURL, readableBy origin: String?) {
        var fields = response.headerFields
        // RFC 9112 §6.3: a coding overrides a length. With another length than libcurl's, the client would take a part of the
        // body for the next response.
        let lengths = fields[values: .contentLength].compactMap { Int($0) }
        let isCoded = fields.contains(.transferEncoding)
        fields[.contentLength] = lengths.count == 1 && lengths[0] >= 0 && !isCoded ? "\(lengths[0])" : nil
        let isWebSocket = response.status == .switchingProtocols
        // RFC 9110 §6.4.1.
        if isWebSocket || head.method == "HEAD" || [.noContent, .notModified].contains(response.status) {
            framing = .none
        } else if fields[.contentLength] != nil {
            framing = .length
        } else {
            framing = head.isVersion10 ? .untilClose : .chunked
        }
        keepsOpen = head.mayBeFollowed
        takesTrailers = framing == .chunked && head.takesTrailers
        // The reason phrase has no meaning (RFC 9112 §4).
        var text = "HTTP/1.1 \(response.status.code) \r\n"
        let ofConnection = fields.map { RequestHead.Field(name: $0.name.canonicalName, value: $0.value) }
            .connectionOptions.subtracting(["content-length"])
        for field in fields {
            let name = field.name.canonicalName
            guard Self.passes(name) || name == "trailer" && takesTrailers, !ofConnection.contains(name) else {
                continue
            }
            let value = name == "location" ? Self.location(field.value, server, head) : field.value
            text += "\(field.name.rawName): \(value)\r\n"
        }
        let own = isWebSocket ? Self.ofWebSocket : Self.ofDocument + Self.readable(by: origin)
        for (name, value) in own { text += "\(name): \(value)\r\n" }
        if framing == .chunked { text += "Transfer-Encoding: chunked\r\n" }
        if !keepsOpen, !isWebSocket { text += "Connection: close\r\n" }
        bytes = Array((text + "\r\n").utf8)
    }

    /// Returns the lines of the fields after the body, for a client that takes them (RFC 9110 §6.5.1): none that describe the
    /// body or its framing, whose meaning the client has decided already.
    func trailers(_ fields: HTTPFields) -> String {
        guard takesTrailers else { return "" }
        return fields.filter { Self.passes($0.name.canonicalName) && !$0.name.canonicalName.hasPrefix("content-") }
            .map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
    }

    private static func passes(_ name: String) -> Bool {
        !dropped.contains(name) && !name.hasPrefix("proxy-") && !name.hasPrefix("access-control-")
    }

    /// A page of the server, for example an uploaded file, gets an origin of its own, runs no scripts and sends no requests
    /// (Content Security Policy Level 3 §6.3.2). It could use the session otherwise. A browser keeps nothing (RFC 9111
    /// §5.2.2.5): a page of the next program at this port, which may be another user's, could read it from the cache.
    private static let ofDocument = [
        ("Content-Security-Policy", "sandbox"), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
    ]

    private static let ofWebSocket = [("Upgrade", "websocket"), ("Connection", "Upgrade")]

    /// The fields that let a web page of another origin read a response.
    static func readable(by origin: String?) -> [(String, String)] {
        origin.map {
            [("Access-Control-Allow-Origin", $0), ("Access-Control-Expose-Headers", "*"), ("Vary", "Origin")]
        } ?? []
    }

    /// Returns the response to a page of another origin that asks whether it may send a request.
    static func preflight(_ head: RequestHead, from origin: String) -> [UInt8] {
        var fields = readable(by: origin)
        fields.append(("Access-Control-Allow-Methods", head["access-control-request-method"] ?? ""))
        if let names = head["access-control-request-headers"] { fields.append(("Access-Control-Allow-Headers", names)) }
        if head["access-control-request-private-network"] != nil {
            fields.append(("Access-Control-Allow-Private-Network", "true"))
        }
        let lines = fields.map { "\($0): \($1)\r\n" }.joined()
        return Array("HTTP/1.1 204 \r\n\(lines)\r\n".utf8)
    }

    /// Returns the address at the proxy, if it is at the server. A client follows any other one without a token.
    private static func location(_ value: String, _ server: SecureURL, _ head: RequestHead) -> String {
        guard let url = try? SecureURL(value), url.origin == server.origin else { return value }
        // With its own host, since a path that begins with `//` would name one (RFC 3986 §4.2).
        return "http://\(head.authority)\(url.pathAndQuery)"
    }

    /// Fields about the connection (RFC 9110 §7.6.1), and those that would act on all programs of this machine, whose pages
    /// have the same host.
    private static let dropped: Set = [
        "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "set-cookie", "set-cookie2",
        "alt-svc", "clear-site-data", "strict-transport-security", "dpop-nonce", "service-worker-allowed",
        "x-content-type-options", "cache-control",
    ]
}
