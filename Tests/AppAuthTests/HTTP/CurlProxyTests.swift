import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// Where connections go through.
@Suite(.timeLimit(.minutes(1)))
struct CurlProxyTests {
    @Test func `a configured proxy gets the request`() async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply(body: "by proxy")
        }
        let transport = CurlTransport(.init(proxy: .url("http://\(proxy.authority)")))
        #expect(try await transport.send(elsewhere("http")).text == "by proxy")
        #expect(proxy.requests.map(\.line) == ["GET http://server.example/path HTTP/1.1"])
    }

    @Test func `a proxy that refuses to connect has not been sent the request`() async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("502 Bad Gateway", ["X-Proxy: 1"], body: "no")
        }
        let transport = CurlTransport(.init(proxy: .url("http://\(proxy.authority)")))
        let error = await authError { try await transport.send(elsewhere("https")) }
        #expect(error?.code == .transport)
        #expect(error?.outcome == .notSent)
        #expect(error?.message.hasPrefix("no connection to server.example:443: ") == true)
        #expect(proxy.requests.map(\.line) == ["CONNECT server.example:443 HTTP/1.1"])
        // Credentials are only for the server.
        #expect(proxy.requests.first?.values("Authorization") == [])
    }

    @Test func `a proxy of the environment is used, but never for loopback hosts`() async throws {
        await #expect(processExitsWith: .success) {
            let proxy = try RawServer { connection in
                try connection.readRequest()
                try connection.reply(body: "by proxy")
            }
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply(body: "direct")
            }
            for name in ["no_proxy", "NO_PROXY"] { unsetenv(name) }
            for name in ["http_proxy", "all_proxy"] { setenv(name, "http://\(proxy.authority)", 1) }

            let direct = CurlTransport(.init(proxy: .none))
            let transport = CurlTransport()
            let (first, second) = try await (transport.send(elsewhere("http")), transport.send(server.get()))
            try #require(first.text == "by proxy" && second.text == "direct")
            let error = await authError { try await direct.send(elsewhere("http")) }
            try #require(error?.outcome == .notSent)
            try #require(proxy.requests.count == 1)
        }
    }

    @Test func `a proxy with NTLM gets the name and a proof of the password, and never the password`() async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            // MS-NLMP §2.2.1.2: no target, the flags for OEM text and NTLM, and the server's challenge.
            var message = Array("NTLMSSP\0".utf8)
            message += [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0]
            message += [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]
            let text = Data(message).base64EncodedString()
            try connection.reply("407 Proxy Authentication Required", ["Proxy-Authenticate: NTLM \(text)"], body: "")
            try connection.readRequest()
            try connection.reply(body: "by proxy")
        }
        var configuration = CurlTransport.Configuration(proxy: .url("http://jane:looking-glass@\(proxy.authority)"))
        configuration.proxyAuthentication = .ntlm
        #expect(try await CurlTransport(configuration).send(elsewhere("http")).text == "by proxy")
        let messages = proxy.requests.compactMap { $0.values("Proxy-Authorization").first }.map { field in
            String(decoding: Data(base64Encoded: String(field.dropFirst("NTLM ".count))) ?? Data(), as: UTF8.self)
        }
        #expect(messages.map { String($0.prefix(9)) } == ["NTLMSSP\0\u{1}", "NTLMSSP\0\u{3}"])
        #expect(messages.last?.contains("jane") == true && !messages.contains { $0.contains("looking-glass") })
    }

    @Test(arguments: [CurlTransport.ProxyAuthentication.basic, .digest, .negotiate])
    func `the proxy gets no other proof than the configured one`(
        authentication: CurlTransport.ProxyAuthentication
    ) async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("407 Proxy Authentication Required", ["Proxy-Authenticate: Other"], body: "no")
        }
        var configuration = CurlTransport.Configuration(proxy: .url("http://jane:looking-glass@\(proxy.authority)"))
        configuration.proxyAuthentication = authentication
        let response = try? await CurlTransport(configuration).send(elsewhere("http"))
        #expect(response == nil || response?.status == 407)
        let sent = proxy.requests.flatMap { $0.values("Proxy-Authorization") }
        let basic = "Basic " + Data("jane:looking-glass".utf8).base64EncodedString()
        #expect(sent == (authentication == .basic ? [basic] : []))
    }

    @Test(arguments: ["localhost", "LOCALHOST", "127.0.0.1", "127.255.1.2", "[::1]"])
    func `these hosts are loopback`(host: String) throws {
        #expect(try target(host).isLoopback)
    }

    @Test(arguments: ["localhost.example", "128.0.0.1", "127.0.0.1.example", "127.1", "[::2]", "example.com"])
    func `these hosts are not loopback`(host: String) throws {
        #expect(try !target(host).isLoopback)
    }

    private func target(_ host: String) throws -> HTTPTarget {
        try HTTPTarget(HTTPRequest(method: .get, scheme: "http", authority: "\(host):80", path: "/"))
    }
}

/// A request to a host that only a proxy can reach.
private func elsewhere(_ scheme: String) -> TransportRequest {
    var request = HTTPRequest(method: .get, scheme: scheme, authority: "server.example", path: "/path")
    request.headerFields[.authorization] = "Bearer abc"
    return TransportRequest(request)
}
