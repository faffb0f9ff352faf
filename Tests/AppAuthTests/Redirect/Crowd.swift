import Glibc
import Testing

/// Hostile clients of one listener. Their calls block.
struct Crowd: Sendable {
    private let port: UInt16
    private let authority: String
    private let wrong: [(request: [UInt8], status: Int)]
    /// The same for long requests.
    private let large: [(request: [UInt8], status: Int)]

    private static let form = "Content-Type: application/x-www-form-urlencoded"

    init(_ redirectURI: String) {
        let authority = String(redirectURI.dropFirst("http://".count).prefix { $0 != "/" })
        let form = Self.form
        port = authority.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        self.authority = authority
        let longest = String(repeating: "x", count: 128 << 10)
        wrong = [
            (request("/callback?code=stolen&state=wrong", host: authority), 400),
            (request("/callback?error=access_denied&state=", host: authority), 400),
            (request("/callback?%zz=%&state=%72ight%", host: authority), 400),
            (
                request("/callback", host: authority, method: "POST", fields: [form, "Content-Length: 7"]) + "state=x",
                400
            ),
            (request("/callback", host: authority, method: "POST", fields: [form]), 411),
            (request("/callback", host: authority, method: "HEAD"), 405),
            (request("/callback", host: authority, method: "OPTIONS"), 405),
            (request("/callback?state=right", host: "evil.example"), 421),
            (request("/callback/?state=right", host: authority), 404),
            (request("/callback?state=right", host: authority, fields: ["Sec-Purpose: prefetch"]), 503),
            (request("/favicon.ico", host: authority), 404),
            (request("/callback/done/guess", host: authority), 404),
            ("GET /callback?state=right HTTP/1.1\nHost: \(authority)\n\n", 400),
            ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}", 400),
        ].map { (Array($0.0.utf8), $0.1) }
        large = [
            ("GET /\(longest)", 414), ("GET / HTTP/1.1\r\nHost: \(authority)\r\nX: \(longest)\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\n" + String(repeating: "a:\r\n", count: 200), 431),
        ].map { (Array($0.0.utf8), $0.1) }
    }

    /// The awaited redirect.
    func redirect() throws -> WireResponse {
        let client = try WireClient(port)
        client.send(request("/callback?code=c&state=right", host: authority))
        return try client.response()
    }

    /// The page that it leads to.
    func page(_ response: WireResponse) throws -> WireResponse { try browserAtPage(response).response() }

    /// A browser that has asked for the page.
    func browserAtPage(_ response: WireResponse) throws -> WireClient {
        let origin = "http://" + authority
        let client = try WireClient(port)
        client.send(request(String((response["location"] ?? "").dropFirst(origin.count)), host: authority))
        return client
    }

    /// The awaited redirect, and then the page.
    func comeBack() throws -> [WireResponse] {
        let response = try redirect()
        return [response, try page(response)]
    }

    /// One wrong request after the other, each with its response; now and then `watching` is called.
    func exchange(_ count: Int, watching: () -> Void) throws {
        var knocker = LeanClient(port)
        for number in 0..<count {
            let (request, status) = number % 64 == 0 ? large[number / 64 % 3] : wrong[number % wrong.count]
            let response = try knocker.exchange(request)
            try #require(response == status, "request \(number): \(response) in place of \(status)")
            if number % 500 == 0 { watching() }
        }
        watching()
    }

    /// 20 MB of a head that never ends.
    func sendTooMuch(_ start: String, watching: () -> Void) throws {
        var knocker = LeanClient(port)
        let client = try WireClient(port)
        client.send(start)
        let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 16)
        for _ in 0..<320 {
            guard client.send(chunk) else { break }
            watching()
        }
        let status = try knocker.status(client)
        try #require(status == 414 || status == 431)
    }

    /// Connections that send a head of many fields and a form, each a piece at a time, and never come to an end.
    func slowConnections(_ count: Int, watching: () -> Void) throws -> [WireClient] {
        let clients = try (0..<count).map { _ in try WireClient(port) }
        let fields = String(repeating: "a: b\r\n", count: 20)
        let head = "POST /callback HTTP/1.1\r\nHost: \(authority)\r\nContent-Length: 16384\r\n\(Self.form)\r\n"
        let piece = String(repeating: "x", count: 1500)
        for text in [head, fields, fields, fields, fields, "\r\n"] + Array(repeating: piece, count: 10) {
            let bytes = Array(text.utf8)
            for client in clients { client.send(bytes) }
            watching()
        }
        return clients
    }
}
