import AppAuth
import AppAuthProxy
import Foundation
import TestFixtures
import Testing

/// Each rule has a request that is passed on, and one that is wrong in only that respect.
@Suite struct SafetyRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let passes: [String]
        let wrong: [String]
        let status: Int

        init(_ rule: String, _ passes: [String], _ wrong: [String], _ status: Int) {
            (self.rule, self.passes, self.wrong, self.status) = (rule, passes, wrong, status)
        }

        var testDescription: String { rule }
    }

    private static let usual = get("/v1/items")

    private static func get(_ target: String, _ method: String = "GET") -> [String] {
        ProxyFixture.request("\(method) \(target) HTTP/1.1")
    }

    private static func with(_ fields: String...) -> [String] { usual + fields }

    /// As a browser sends an address that the user has typed.
    private static let typed = with("Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")

    private static func post(_ fields: String..., version: String = "HTTP/1.1") -> [String] {
        ProxyFixture.request("POST /v1/items \(version)") + fields
    }

    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="

    /// The handshake of a WebSocket, which this API does not accept.
    private static func webSocket(
        _ line: String = "GET /v1/items HTTP/1.1", connection: String = "keep-alive, Upgrade",
        protocols: String = "WebSocket", key: [String] = [key], _ fields: String...
    ) -> [String] {
        ProxyFixture.request(line) + ["Connection: \(connection)", "Upgrade: \(protocols)"] + key + fields
    }

    private static let coding = "Transfer-Encoding: chunked"

    /// A chunked request, with the lines of its body.
    private static func chunked(_ body: String...) -> [String] { post(coding) + [""] + body + [""] }

    static let cases: [Case] = [
        Case("the host", usual, ProxyFixture.request(host: "rebound.example"), 421),
        Case("a single host", usual, with("Host: localhost"), 400),
        Case("some host", usual, ProxyFixture.request(host: nil), 400),
        Case("the absolute host", get("http://localhost/v1/items"), get("http://other.example/v1/items"), 421),
        Case("the path", usual, get("/v2/items"), 404),
        Case("a path of the same beginning", usual, get("/v11/items"), 404),
        Case("dot segments", usual, get("/v1/../v2/items"), 404),
        Case("encoded dot segments", get("/v1/a%2eb"), get("/v1/%2e%2E/v2"), 404),
        Case("encoded slashes", get("/v1/a%2fb"), get("/v1/..%2fv2"), 404),
        Case("twice encoded", get("/v1/a%252fb"), get("/v1/%252e%252e/v2"), 404),
        Case("backslashes", usual, get("/v1/..\\v2"), 404),
        Case("a path", usual, get("*", "OPTIONS"), 400),
        Case("TRACE", get("/v1/items", "DELETE"), get("/v1/items", "TRACE"), 405),
        Case("TRACK, in any case", get("/v1/items", "PATCH"), get("/v1/items", "track"), 405),
        Case("dot segments before an escape", get("/v1/..a%20b"), get("/v1/..%20/v2"), 404),
        Case("a dot before a letter", get("/v1/.%E3%81%82"), get("/v1/.%20/v2"), 404),
        Case("a source to move", with("X-Source: v"), with("X-Amz-Rename-Source: v"), 400),
        Case("another method", with("X-HTTP: DELETE"), with("X-HTTP-Method-Override: DELETE"), 400),
        Case("another path", with("X-Place: /"), with("X-Original-URL: /v2"), 400),
        Case("a part of a path", with("X-Place: /"), with("X-Forwarded-Prefix: /v2"), 400),
        Case("the method for the next server", with("X-Forwarded-For: ::1"), with("X-Forwarded-Method: PUT"), 400),
        Case("a method without hyphens", with("X-HTTP: PUT"), with("X-HTTPMethod: PUT"), 400),
        Case("a path of another name", with("X-Place: /"), with("Original-URL: /v2"), 400),
        Case("underscores", with("X-Place: /"), with("X_Place: /"), 400),
        Case("the folder of a script", with("X-Folder: /v1"), with("Script-Name: /v1"), 400),
        Case("another source", with("X-Request-Source: /v2"), with("X-Goog-Copy-Source: /v2/a"), 400),
        Case("parts elsewhere", with("X-Manifest: a/b"), with("X-Object-Manifest: a/b"), 400),
        Case("the destination", with("Destination: /v1/new"), with("Destination: /v2/new"), 404),
        Case("its host", with("Destination: http://LOCALHOST/v1/a"), with("Destination: http://other/v1/a"), 400),
        Case("its dots", with("Destination: http://localhost/v1/a"), with("Destination: /v1/../v2"), 404),
        Case("a blank before dots", get("/v1/%20..a"), get("/v1/%09../v2"), 404),
        Case("escapes of escapes", get("/v1/%25%32%65a"), get("/v1/%25%32%65%25%32%65/v2"), 404),
        Case("other dots", get("/v1/%e2%80%a6"), get("/v1/%e2%80%a5/v2"), 404),
        Case("overlong dots", get("/v1/%c3%ae"), get("/v1/%c0%ae%c0%ae/v2"), 404),
        Case("half an overlong dot", get("/v1/%c3%a9"), get("/v1/%c0%2e%c0%2e/v2"), 404),
        Case("a letter for an overlong dot", get("/v1/nn"), get("/v1/%c0%6e%c0%6e/v2"), 404),
        Case("overlong slashes", get("/v1/..a"), get("/v1/..%c0%2fv2"), 404),
        Case("wide dots", get("/v1/%ef%bc%a1"), get("/v1/%ef%bc%8e%ef%bc%8e/v2"), 404),
        Case("wide escapes", get("/v1/%ef%bc%8541"), get("/v1/%ef%bc%852e%ef%bc%852e/v2"), 404),
        Case("dots one above the other", get("/v1/%ef%b8%b2"), get("/v1/%ef%b8%b0/v2"), 404),
        Case("wide backslashes", get("/v1/..a"), get("/v1/..%ef%bc%bcv2"), 404),
        Case("small backslashes", get("/v1/..a"), get("/v1/..%ef%b9%a8v2"), 404),
        Case("currencies for backslashes", get("/v1/%c2%a55..6"), get("/v1/a%c2%a5..%e2%82%a9v2"), 404),
        Case("other marks after dots", get("/v1/v1.%c3%a9"), get("/v1/..%cd%be/v2"), 404),
        Case("other question marks", get("/v1/.well-known"), get("/v1/..%ef%b9%96a"), 404),
        Case("dots in the middle", get("/v1/l%c2%b7l"), get("/v1/%c2%b7%c2%b7/v2"), 404),
        Case("marks after dots", get("/v1/%cd%85..a"), get("/v1/..%cd%85/v2"), 404),
        Case("an account of the destination", with("Account: a"), with("Destination-Account: a"), 400),
        Case("other slashes", get("/v1/..a"), get("/v1/..%e2%81%84v2"), 404),
        Case("no UTF-8", get("/v1/%c3%bf"), get("/v1/%ff"), 404),
        Case("service workers", usual, with("Service-Worker: script"), 403),
        Case("an earlier worker", usual, with("Service-Worker-Navigation-Preload: true"), 403),
        Case("CONNECT", usual, get("localhost:80", "CONNECT"), 405),
        Case("the origin", usual, with("Origin: http://localhost"), 403),
        Case("a null origin", usual, with("Origin: null"), 403),
        Case("the page", with("Sec-Fetch-Site: none"), with("Sec-Fetch-Site: cross-site"), 403),
        Case("an earlier page", usual, with("Sec-Fetch-Site: same-origin"), 403),
        Case("a page in advance", typed, typed + ["Sec-Purpose: prefetch"], 403),
        Case("a prerendered page", typed, typed + ["Sec-Purpose: prefetch;prerender"], 403),
        Case("a page in advance of older browsers", typed, typed + ["Purpose: prefetch"], 403),
        Case("a page in advance of Firefox", typed, typed + ["X-moz: prefetch"], 403),
        Case("a page by a rule", typed, typed + ["Sec-Speculation-Tags: null"], 403),
        Case("another port", with("Sec-Fetch-Site: none"), with("Sec-Fetch-Site: same-site"), 403),
        Case("a WebSocket's method", webSocket(), webSocket("POST /v1/items HTTP/1.1"), 400),
        Case("its version of HTTP", webSocket(), webSocket("GET /v1/items HTTP/1.0"), 400),
        Case("its path", webSocket(), webSocket("GET /v2/items HTTP/1.1"), 404),
        Case("its connection", webSocket(), webSocket(connection: "keep-alive"), 400),
        Case("its only protocol", webSocket(protocols: "h2c"), webSocket(protocols: "h2c, websocket"), 400),
        Case("its key", webSocket(), webSocket(key: []), 400),
        Case("its only key", webSocket(), webSocket(key: [key, key]), 400),
        Case("a key of 16 bytes", webSocket(), webSocket(key: ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j"]), 400),
        Case("no body of it", webSocket(), webSocket("GET /v1/items HTTP/1.1", "Content-Length: 0"), 400),
        Case("its page", webSocket(), webSocket("GET /v1/items HTTP/1.1", "Origin: http://localhost"), 403),
        Case("expectations", with("Expect: 100-continue"), with("Expect: 200-ok"), 417),
        Case("a length beside a coding", chunked("0", ""), post(coding, "Content-Length: 5", "", "0", "", ""), 400),
        Case("one length", post("Content-Length: 0"), post("Content-Length: 0", "Content-Length: 0"), 400),
        Case("a length of digits", post("Content-Length: 0"), post("Content-Length: +0"), 400),
        Case("the coding", chunked("0", ""), post("Transfer-Encoding: gzip, chunked", "", "0", "", ""), 400),
        Case("one coding", chunked("0", ""), post(coding, coding, "", "0", "", ""), 400),
        Case("its version", chunked("0", ""), post(coding, "", "0", "", "", version: "HTTP/1.0"), 400),
        Case("the size of a chunk", chunked("0;a=b", ""), chunked("0x0", ""), 400),
        Case("the end of a chunk", chunked("1", "a", "0", ""), chunked("1", "ab", "0", ""), 400),
        Case("a bare line feed", usual, with("X-A: b\nX-C: d"), 400),
        Case("a folded line", usual, with("X-A: b", " c"), 400),
        Case("a space before the colon", usual, with("X-A : b"), 400),
    ]

    @Test(arguments: cases) func `a request that breaks a rule is not passed on`(_ rule: Case) async throws {
        try await ProxyFixture.run(script: Self.anyBody) { proxy in
            #expect(try await proxy.exchange(rule.passes).status == 200)
            let passed = proxy.api.connectionCount
            #expect(passed == 1)
            let response = try await proxy.exchange(rule.wrong)
            #expect(response.status == rule.status, "\(response)")
            // The head of a chunked request is good, and the API may have seen it.
            if !rule.wrong.contains("Transfer-Encoding: chunked") { #expect(proxy.api.connectionCount == passed) }
        }
    }

    /// Responds once a request has ended, however its end is found.
    private static let anyBody: RawServer.Script = { connection in
        var text = ""
        while true {
            text += String(decoding: try connection.read(), as: UTF8.self)
            let isChunked = text.contains("Transfer-Encoding: chunked")
            if text.hasSuffix(isChunked ? "\r\n0\r\n\r\n" : "\r\n\r\n") {
                try connection.reply()
                text = ""
            }
        }
    }
}
