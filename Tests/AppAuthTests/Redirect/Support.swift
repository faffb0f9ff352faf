import AppAuth

extension LoopbackRedirectListener {
    /// A listener whose time limits end no test.
    static func patient(
        _ host: Host = .ipv4, responseMode: AuthorizationRequest.ResponseMode = .query,
        pages: CompletionPages = CompletionPages()
    ) throws -> LoopbackRedirectListener {
        var limits = ListenerLimits()
        (limits.requestTime, limits.farewellTime, limits.pageTime) = (.seconds(600), .seconds(600), .seconds(600))
        return try LoopbackRedirectListener(host: host, responseMode: responseMode, pages: pages, limits: limits)
    }

    /// The port of the redirect URI.
    var port: UInt16 { authority.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

    /// Host and port of the redirect URI.
    var authority: String { String(redirectURI.dropFirst("http://".count).prefix { $0 != "/" }) }

    /// Waits for a redirect with this state and returns its whole query.
    func redirect(state: String) async throws -> String {
        try await redirect { query in query.split(separator: "&").contains("state=\(state)") ? query : nil }
    }

    /// Asks for a path, with the right `Host`, and reads the response.
    func get(_ target: String, fields: [String] = [], v6: Bool = false) async throws -> WireResponse {
        let (port, authority) = (port, authority)
        return try await onThread {
            let client = try WireClient(port, v6: v6)
            client.send(request(target, host: authority, fields: fields))
            return try client.response()
        }
    }

    /// Sends bytes as they are and reads the response.
    func send(_ bytes: [UInt8]) async throws -> WireResponse {
        let port = port
        return try await onThread {
            let client = try WireClient(port)
            client.send(bytes)
            return try client.response()
        }
    }

    /// The path of a URL of this listener.
    func path(of url: String?) -> String? {
        let origin = "http://" + authority
        guard let url, url.hasPrefix(origin) else { return nil }
        return String(url.dropFirst(origin.count))
    }
}

/// A whole ClientHello of TLS 1.2, with P-256 and AES-128-GCM (RFC 5246 §7.4.1.2).
let clientHello: [UInt8] = {
    let extensions: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 23, 0, 13, 0, 4, 0, 2, 4, 3]
    let body: [UInt8] =
        [3, 3] + Array(repeating: 7, count: 32) + [0, 0, 2, 0xC0, 0x2B, 1, 0, 0, UInt8(extensions.count)]
        + extensions
    return [22, 3, 1, 0, UInt8(body.count + 4), 1, 0, 0, UInt8(body.count)] + body
}()
