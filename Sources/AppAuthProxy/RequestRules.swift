package import AppAuth
package import HTTPTypes
internal import JOSE

/// The requests that are passed on, and what is passed on of them.
package struct RequestRules: Sendable {
    /// The server, with the path below which requests are passed on.
    let server: SecureURL
    /// The host and port of the proxy, in each way in which a client may name it.
    let authorities: Set<String>
    /// Web pages that may send requests, by their origin.
    let allowedOrigins: Set<String>

    package init(server: SecureURL, authorities: Set<String>, allowedOrigins: Set<String>) {
        (self.server, self.authorities, self.allowedOrigins) = (server, authorities, allowedOrigins)
    }

    /// Returns the request for the server, without a token.
    package func request(for head: RequestHead) throws(ProxyResponse) -> HTTPRequest {
        let origin = try origin(of: head)
        try checkFetch(head, origin)
        let query = head.query.isEmpty ? "" : "?" + head.query
        let (method, target) = (try method(head), try url(head.path + query))
        var request = HTTPRequest(method: method, url: target)
        request.headerFields = try fields(head)
        if try WebSocketHandshake(head) != nil { request.headerFields[.upgrade] = "websocket" }
        return request
    }

    /// Returns the web page that sends a request, if it is not one of the proxy's own.
    func foreignOrigin(of head: RequestHead) -> String? {
        head["origin"].flatMap { allowedOrigins.contains($0) ? $0 : nil }
    }

    /// Checks the host (RFC 9110 §7.4), since a web page could reach the proxy under its own name (DNS rebinding), and the
    /// origin (RFC 6454 §7.3). Returns the origin, if the request has one.
    private func origin(of head: RequestHead) throws(ProxyResponse) -> String? {
        // Of a target in absolute form, too.
        for authority in [head.authority, head["host"] ?? ""] where !authorities.contains(authority.lowercased()) {
            throw ProxyResponse(
                421, "wrong_host", "This is a proxy on this machine. Its address is http://\(authorities.sorted()[0]).")
        }
        let origins = head.fields.filter { $0.name == "origin" }.map(\.value)
        for origin in origins where !allowedOrigins.contains(origin) {
            throw ProxyResponse(
                403, "foreign_origin",
                "Web pages of another origin may not send requests here, unless the proxy allows their origin.")
        }
        return origins.first
    }

    /// Checks what the browser says about the page that sends the request (Fetch Metadata). The server's pages have an origin
    /// of their own, so a page with that of the proxy is an earlier program's at this port.
    private func checkFetch(_ head: RequestHead, _ origin: String?) throws(ProxyResponse) {
        guard origin.map({ !allowedOrigins.contains($0) }) ?? true else { return }
        // A worker of a page would outlive the proxy, and act on the next program at its port. One of an earlier program's reads
        // what the browser requests before it runs (navigation preload).
        guard head["service-worker"] == nil, head["service-worker-navigation-preload"] == nil else {
            throw ProxyResponse(403, "foreign_origin", "Web pages may have no service worker here.")
        }
        for field in head.fields where field.name == "sec-fetch-site" && field.value != "none" {
            throw ProxyResponse(
                403, "foreign_origin", "Web pages of another origin may not send requests or link to this proxy.")
        }
        // A page of any site can have addresses requested in advance (speculation rules), and Chromium says of these what it
        // says of an address that the user has typed.
        guard !head.isPrefetch else {
            throw ProxyResponse(403, "foreign_origin", "Browsers may not request addresses of this proxy in advance.")
        }
    }

    private func method(_ head: RequestHead) throws(ProxyResponse) -> HTTPRequest.Method {
        // RFC 9110 §9.3.8: the response to TRACE has the fields of the request, and with them the token.
        guard let method = HTTPRequest.Method(head.method),
            !["TRACE", "TRACK", "CONNECT"].contains(head.method.uppercased())
        else {
            throw ProxyResponse(405, "method_not_allowed", "The proxy passes no \(head.method.onOneLine) requests.")
        }
        return method
    }

    /// Returns the server's URL for a path, which may have a query.
    private func url(_ path: String) throws(ProxyResponse) -> SecureURL {
        // Not `*`, and not the `host:port` of CONNECT.
        guard path.hasPrefix("/") else {
            throw ProxyResponse(400, "bad_request", "Expected a path that begins with /.")
        }
        // Browsers send these as they are. RFC 3986 §2 has them encoded.
        let path = path.percentEncoded { !"\"<>\\^`{|}".utf8.contains($0) }
        guard let url = try? SecureURL("\(server.scheme)://\(server.authority)\(path)") else {
            throw ProxyResponse(400, "bad_request", "The path or the query is malformed, or too long.")
        }
        guard url.isWithin(server) else {
            throw ProxyResponse(404, "not_found", "The proxy passes only requests for paths within \(server.path).")
        }
        return url
    }

    /// Returns the fields that are passed on: neither credentials, nor what is about the connection to the proxy (RFC 9110
    /// §7.6.1) or about the page that sends the request.
    private func fields(_ head: RequestHead) throws(ProxyResponse) -> HTTPFields {
        let ofConnection = head.fields.connectionOptions
        if let expectation = head["expect"], expectation.lowercased() != "100-continue" {
            throw ProxyResponse(417, "expectation_failed", "The proxy knows no expectation but 100-continue.")
        }
        var fields = HTTPFields()
        for var field in head.fields where !Self.dropped.contains(field.name) && !ofConnection.contains(field.name) {
            // With these, some servers take another method or path than the one that was checked, or copy from it. Programs
            // behind CGI or WSGI take `_` for `-`, and some names for what the server itself says.
            if Self.isOverriding(field.name) {
                throw ProxyResponse(
                    400, "bad_request", "The proxy passes no \(field.name): send the method and the path themselves.")
            }
            // RFC 4918 §10.3: where the resource is copied or moved to.
            if field.name == "destination" { field.value = try destination(field.value) }
            guard !field.name.hasPrefix("proxy-"), !field.name.hasPrefix("sec-fetch-") else { continue }
            // What is not UTF-8 would change on the way.
            guard let name = HTTPField.Name(field.name), !field.value.unicodeScalars.contains("\u{FFFD}") else {
                throw ProxyResponse(400, "bad_request", "The value of a header field is not UTF-8.")
            }
            fields.append(HTTPField(name: name, value: field.value))
        }
        if head.takesTrailers { fields[.te] = "trailers" }
        return fields
    }

    /// Returns a URL on the proxy as one on the server.
    private func destination(_ value: String) throws(ProxyResponse) -> String {
        let path = authorities.map { "http://\($0)" }.first { value.lowercased().hasPrefix($0 + "/") }
            .map { String(value.dropFirst($0.count)) }
        return try url(path ?? value).string
    }

    private static func isOverriding(_ name: String) -> Bool {
        let isOwn = name.hasPrefix("x-") && !overriding.isDisjoint(with: name.split(separator: "-"))
        return isOwn || name.contains("_") || otherOverriding.contains(where: name.replacing("-", with: "").contains)
    }

    /// What a field of no standard names by one of these words.
    private static let overriding: Set<Substring> = [
        "method", "url", "uri", "path", "prefix", "script", "override", "rewrite", "destinationurl", "mapping",
        "sendfile",
    ]
    /// Parts of other names, without their hyphens.
    private static let otherOverriding = [
        "copysource", "renamesource", "copyfrom", "symlinktarget", "scriptname", "objectmanifest", "override",
        "httpmethod", "httpverb", "originalur", "rewriteur", "requestur", "requestpath", "destinationaccount",
    ]

    private static let dropped: Set = [
        "authorization", "cookie", "cookie2", "dpop", "host", "content-length", "expect", "connection", "keep-alive",
        "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "origin", "referer",
        "access-control-request-method", "access-control-request-headers",
    ]
}

extension RequestHead {
    /// Whether the client may send another request on the connection (RFC 9112 §9.3). No HTTP/1.0 client may.
    var mayBeFollowed: Bool { !isVersion10 && !fields.connectionOptions.contains("close") }

    /// Whether the client takes fields after the body (RFC 9110 §10.1.4).
    var takesTrailers: Bool {
        fields.contains { field in
            field.name == "te"
                && field.value.split(separator: ",").contains {
                    $0.filter { $0 != " " && $0 != "\t" }.lowercased() == "trailers"
                }
        }
    }
}

extension [RequestHead.Field] {
    /// The options of the connection, in lower case: `close`, and names of fields that are only for it (RFC 9110 §7.6.1).
    var connectionOptions: Set<String> {
        Set(
            filter { $0.name == "connection" }.flatMap { $0.value.split(separator: ",") }
                .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() })
    }
}
