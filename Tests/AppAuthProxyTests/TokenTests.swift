import AppAuth
import AppAuthConcurrency
import AppAuthProxy
import AppAuthTestProvider
import Foundation
import TestFixtures
import Testing

@Suite struct TokenTests {
    private static let invalid = "WWW-Authenticate: Bearer error=\"invalid_token\""

    /// An API that rejects the first token as invalid.
    private static func rejectsFirst() -> RawServer.Script {
        let first = LockedValue<[String]?>(nil)
        return { connection in
            while true {
                let sent = try connection.readRequest().values("Authorization")
                let isFirst = first.withLock { first in
                    first = first ?? sent
                    return first == sent
                }
                try connection.reply(isFirst ? "401 Unauthorized" : "200 OK", isFirst ? [Self.invalid] : [])
            }
        }
    }

    @Test func `the server gets the token, and neither credentials nor cookies of the client`() async throws {
        try await ProxyFixture.run { proxy in
            let response = try await proxy.exchange(
                ProxyFixture.request(
                    "GET /v1/items?a=b%20c HTTP/1.1", host: "localhost", "Authorization: Basic YTpi", "Cookie: a=b",
                    "Proxy-Authorization: Basic YTpi", "X-Kept: 1", "X-Hop: 2", "Connection: x-hop", "TE: gzip",
                    "Referer: http://localhost/", "DPoP: a"))
            #expect(response.status == 200)
            let request = try #require(proxy.api.requests.first)
            #expect(request.line == "GET /v1/items?a=b%20c HTTP/1.1")
            let token = try await proxy.state.freshAccessToken()
            #expect(request.values("Authorization") == ["Bearer \(token.value.reveal())"])
            #expect(request.values("Host") == [proxy.api.authority])
            #expect(request.values("X-Kept") == ["1"])
            for name in ["Cookie", "Proxy-Authorization", "X-Hop", "TE", "Referer", "DPoP"] {
                #expect(request.values(name) == [], "\(name)")
            }
        }
    }

    @Test func `the client gets no cookie, and redirects to the server lead through the proxy`() async throws {
        try await ProxyFixture.run { connection in
            let request = try connection.readRequest()
            let isElsewhere = request.line.contains("elsewhere")
            let own = "http://\(request.values("Host")[0])/v1/new?a=b"
            try connection.reply(
                "302 Found",
                [
                    "Location: \(isElsewhere ? "https://other.example/v1/" : own)", "Set-Cookie: a=b", "X-Kept: 1",
                    "Alt-Svc: h3=\":443\"", "Access-Control-Allow-Origin: *", "Keep-Alive: timeout=5",
                    "Service-Worker-Allowed: /", "Connection: content-length", "Cache-Control: max-age=600",
                ])
        } _: { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.contains("\r\nLocation: http://localhost/v1/new?a=b\r\n"), "\(response)")
            // A page of the server is not one of the proxy's origin.
            #expect(response.contains("\r\nContent-Security-Policy: sandbox\r\n"))
            #expect(response.contains("\r\nX-Content-Type-Options: nosniff\r\n"))
            #expect(response.contains("\r\nCache-Control: no-store\r\n"))
            #expect(response.contains("\r\nX-Kept: 1\r\n"))
            for name in ["Set-Cookie", "Alt-Svc", "Access-Control", "Keep-Alive", "Service-Worker", "max-age"] {
                #expect(!response.contains(name), "\(name)")
            }
            let other = try await proxy.exchange(ProxyFixture.request("GET /v1/elsewhere HTTP/1.1"))
            #expect(other.contains("\r\nLocation: https://other.example/v1/\r\n"))
            #expect(proxy.api.requests.count == 2)
        }
    }

    @Test func `a rejected token is refreshed, and the request is sent once more with its body`() async throws {
        try await ProxyFixture.run(script: Self.rejectsFirst()) { proxy in
            let body = String(repeating: "b", count: 1 << 20)
            let response = try await proxy.exchange(
                ProxyFixture.request("PUT /v1/items HTTP/1.1", host: "localhost", "Content-Length: \(body.utf8.count)"),
                body: body)
            #expect(response.status == 200)
            #expect(proxy.api.requests.map(\.body) == [Array(body.utf8), Array(body.utf8)])
        }
    }

    @Test func `a request whose body is too long to keep is answered with the 401`() async throws {
        try await ProxyFixture.run(script: Self.rejectsFirst()) { proxy in
            let body = String(repeating: "b", count: 1 << 20 + 1)
            let response = try await proxy.exchange(
                ProxyFixture.request("PUT /v1/items HTTP/1.1", host: "localhost", "Content-Length: \(body.utf8.count)"),
                body: body)
            #expect(response.status == 401)
            #expect(proxy.api.requests.count == 1)
            // The token was replaced nevertheless.
            #expect(try await proxy.exchange(ProxyFixture.request()).status == 200)
        }
    }

    @Test func `many requests share one refresh`() async throws {
        try await ProxyFixture.run(script: Self.rejectsFirst()) { proxy in
            try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<20 { group.addTask { try await proxy.exchange(ProxyFixture.request()).status } }
                for try await status in group { #expect(status == 200) }
            }
            let refreshes = proxy.world.provider.log(.token).filter { $0.form["grant_type"] == "refresh_token" }
            #expect(refreshes.count == 1)
        }
    }

    @Test func `a step-up challenge is answered with a sentence for the user`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.reply(
                "403 Forbidden", ["WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"more\""])
        } _: { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.status == 403)
            #expect(response.contains("requires another sign-in: the scopes 'more'."), "\(response)")
            #expect(response.contains("\"remedy\":\"sign-in login --scope more\""))
        }
    }

    @Test func `an ended session is answered with 503`() async throws {
        try await ProxyFixture.run { proxy in
            #expect(try await proxy.exchange(ProxyFixture.request()).status == 200)
            try await proxy.state.signOut(revokingTokens: false)
            let json = try await proxy.exchange(ProxyFixture.request())
            #expect(json.status == 503)
            #expect(json.contains("\"code\":\"sign_in_required\""))
            #expect(json.contains("\"remedy\":\"sign-in login\""))
            let page = try await proxy.exchange(ProxyFixture.request(host: "localhost", "Accept: text/html,*/*"))
            #expect(page.status == 503)
            #expect(page.contains("<h1>Not signed in</h1>"))
            #expect(page.contains("sign-in login"))
            #expect(proxy.api.requests.count == 1)
        }
    }

    @Test func `pages of an allowed origin may send requests and read the responses`() async throws {
        let origin = "http://localhost:5173"
        try await ProxyFixture.run(allowing: [origin]) { proxy in
            let asked = try await proxy.exchange(
                ProxyFixture.request(
                    "OPTIONS /v1/items HTTP/1.1", host: "localhost", "Origin: \(origin)", "Sec-Fetch-Site: same-site",
                    "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-a"))
            #expect(asked.status == 204)
            #expect(asked.contains("Access-Control-Allow-Origin: \(origin)\r\n"))
            #expect(asked.contains("Access-Control-Allow-Methods: PUT\r\n"))
            #expect(proxy.api.requests.isEmpty)
            let sent = try await proxy.exchange(
                ProxyFixture.request(host: "localhost", "Origin: \(origin)", "Sec-Fetch-Site: same-site"))
            #expect(sent.status == 200)
            #expect(sent.contains("Access-Control-Allow-Origin: \(origin)\r\n"))
            let other = try await proxy.exchange(
                ProxyFixture.request(host: "localhost", "Origin: http://localhost:5174"))
            #expect(other.status == 403)
            #expect(!other.contains("Access-Control"))
        }
    }

    @Test func `a session with another HTTP client, which would lose the body, is not used`() async throws {
        try await ProxyFixture.run(hasOtherClient: true) { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.status == 503)
            #expect(response.contains("expected a session with a CurlTransport"))
            #expect(proxy.api.requests.isEmpty)
        }
    }

    @Test func `neither logs nor errors have the token`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            connection.close()
        } _: { proxy in
            let token = try await proxy.state.freshAccessToken().value.reveal()
            let response = try await proxy.exchange(ProxyFixture.request("GET /v1/items?secret=value HTTP/1.1"))
            #expect(response.status == 502)
            #expect(response.contains("\"code\":\"transport\""))
            let log = proxy.world.log.lines.joined(separator: "\n")
            #expect(log.contains("/v1/items"))
            for text in [log, response] { #expect(!text.contains(token) && !text.contains("value")) }
        }
    }
}
