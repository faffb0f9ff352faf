internal import JOSE

/// A response of the listener, as sent on the wire. Every response ends its connection and must not be cached.
package struct RedirectResponse: Sendable, Hashable {
    package var status: Int
    package var fields: [RequestHead.Field]
    package var body: String
    /// The Content-Security-Policy directives that an HTML body needs, or nil for plain text.
    package var policy: String?
    /// The media type of the body, if it is not text.
    package var mediaType: String?

    package init(status: Int, fields: [RequestHead.Field] = [], body: String = "", policy: String? = nil) {
        (self.status, self.fields, self.body, self.policy) = (status, fields, body, policy)
    }

    /// The status line, header fields and body.
    package var bytes: [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Error")\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        let type = mediaType ?? "text/\(policy == nil ? "plain" : "html"); charset=utf-8"
        if !body.isEmpty { head += "Content-Type: \(type)\r\n" }
        head += "Content-Length: \(body.utf8.count)\r\n" + Self.common
        head += (policy.map { "; " + $0 } ?? "") + "\r\n\r\n"
        return Array(head.utf8) + Array(body.utf8)
    }

    /// Returns a one-line plain-text response, for requests that do not come from a user.
    static func plain(_ status: Int) -> RedirectResponse {
        RedirectResponse(status: status, body: (reasons[status] ?? "Error") + "\n")
    }

    /// RFC 9110 §15.4.4. The location is absolute, since not every browser resolves a relative one against the port.
    static func seeOther(_ location: String) -> RedirectResponse {
        // A line break would end the field. RFC 3986 §2 allows neither line breaks nor non-ASCII in a URI.
        let value = location.percentEncoded { (0x21...0x7E).contains($0) }
        return RedirectResponse(status: 303, fields: [.init(name: "Location", value: value)])
    }

    /// RFC 9110 §15.5.6. The response has no body, since the method may be HEAD.
    static func methodNotAllowed(_ method: String, allowed: String) -> RedirectResponse {
        // A preflight for another path comes from a web page that tries to reach the local network. Tell it nothing useful.
        let fields = method == "OPTIONS" ? [] : [RequestHead.Field(name: "Allow", value: allowed)]
        return RedirectResponse(status: 405, fields: fields)
    }

    private static let common = """
        Connection: close\r
        Cache-Control: no-store\r
        Referrer-Policy: no-referrer\r
        X-Content-Type-Options: nosniff\r
        Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        """

    private static let reasons = [
        200: "OK", 303: "See Other", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 410: "Gone", 411: "Length Required", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 417: "Expectation Failed",
        421: "Misdirected Request", 431: "Request Header Fields Too Large", 501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}
