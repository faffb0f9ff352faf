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
        #expect(error?.isTemporary == true)
        #expect(error?.message.hasPrefix("no connection to server.example:443: ") == true)
        #expect(proxy.requests.map(\.line) == ["CONNECT server.example:443 HTTP/1.1"])
        // Credentials are only for the server.
        #expect(proxy.requests.first?.values("Authorization") == [])
    }

    @Test func `if the proxy refuses the connection, the error names the proxy's address`() async throws {
        let port = try RawServer.closedPort()
        let transport = CurlTransport(.init(proxy: .url("http://127.0.0.1:\(port)")))
        let error = await authError { try await transport.send(elsewhere("https")) }
        #expect(error?.message.hasPrefix("could not connect to the proxy for server.example:443: ") == true)
        #expect(error?.message.contains("127.0.0.1 port \(port) ") == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        ("server.example:443", "https://server.example", true),
        ("server.example:8443", "https://server.example", false),
        ("server.example:8443", "https://server.example:8443", true), ("*.example", "https://server.example", true),
        ("a.test, *.Server.example", "https://server.example", false), ("example:443", "https://server.example", true),
        ("*.example:80", "http://server.example", true), ("[2001:db8::1]:443", "https://[2001:db8::1]", true),
        ("server.example", "https://server.example", true), ("2001:db8::1", "https://[2001:db8::1]", true),
        ("other.example;server.example", "https://server.example", true),
        ("other.example|.example", "https://server.example", true), ("*.example ", "https://example", false),
        ("*server.example", "https://server.example", true), ("*ver.example", "https://server.example", false),
        ("https://server.example/", "https://server.example", true), ("a, *", "https://server.example", true),
        ("https://server.example:80/", "https://server.example", false), ("<local>", "https://server.example", false),
        (".", "https://server.example", false), ("*.", "https://server.example", false),
        ("http://", "https://server.example", false), (":443", "https://server.example", false),
        ("a,,b", "https://server.example", false), ("[]", "https://server.example", false),
        ("<local>", "http://intranet", true), ("<local>", "http://[2001:db8::1]", false),
        ("", "http://intranet", false),
    ])
    func `NO_PROXY may name a port, or have a wildcard`(list: String, url: String, isNamed: Bool) throws {
        let parts = url.split(separator: "/")
        let request = HTTPRequest(
            method: .get, scheme: String(parts[0].dropLast()), authority: String(parts[1]), path: "/")
        #expect(try NoProxyList(list).contains(HTTPTarget(request)) == isNamed)
    }

    @Test func `a server that NO_PROXY names with its port is not asked through the proxy`() async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply(body: "by proxy")
        }
        let transport = CurlTransport(.init(proxy: .url("http://\(proxy.authority)"))) { name in
            name == "NO_PROXY" ? "*.invalid:80" : nil
        }
        let request = HTTPRequest(method: .get, scheme: "http", authority: "server.invalid", path: "/")
        let error = await authError { try await transport.send(TransportRequest(request)) }
        #expect(error?.message == "could not resolve host 'server.invalid'")
        #expect(proxy.requests.isEmpty)
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

    @Test(arguments: [CurlTransport.ProxyAuthentication.digest, .ntlm])
    func `a proxy gets the name and a proof of the password, and never the password or the request`(
        authentication: CurlTransport.ProxyAuthentication
    ) async throws {
        // MS-NLMP §2.2.1.2: no target, the flags for OEM text and NTLM, and the server's challenge.
        var challenge = Array("NTLMSSP\0".utf8)
        challenge += [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0]
        challenge += [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]
        let field =
            authentication == .ntlm
            ? "NTLM " + Data(challenge).base64EncodedString() : "Digest realm=\"proxy\", nonce=\"abc\", qop=\"auth\""
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("407 Proxy Authentication Required", ["Proxy-Authenticate: \(field)"])
            try connection.readRequest()
            try connection.reply("502 Bad Gateway")
        }
        let error = await authError { _ = try await Self.transport(authentication, proxy).send(elsewhere("https")) }
        #expect(error?.outcome == .notSent)
        #expect(proxy.requests.allSatisfy { $0.line.hasPrefix("CONNECT ") && $0.values("Authorization") == [] })
        let proof = try #require(proxy.requests.last?.values("Proxy-Authorization").first)
        if authentication == .ntlm {
            let message = Data(base64Encoded: String(proof.dropFirst("NTLM ".count))) ?? Data()
            #expect(message.starts(with: Data("NTLMSSP\0\u{3}".utf8)))
            #expect(String(decoding: message, as: UTF8.self).contains("jane"))
        } else {
            #expect(proof.hasPrefix("Digest username=\"jane\""))
        }
        #expect(!proxy.requests.contains { $0.head.contains("looking-glass") || $0.head.contains("Basic") })
    }

    @Test(arguments: [CurlTransport.ProxyAuthentication.basic, .digest, .ntlm, .negotiate])
    func `a proxy that offers only Basic gets the password only if that is configured`(
        authentication: CurlTransport.ProxyAuthentication
    ) async throws {
        let proxy = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("407 Proxy Authentication Required", ["Proxy-Authenticate: Basic realm=\"proxy\""])
        }
        let error = await authError { _ = try await Self.transport(authentication, proxy).send(elsewhere("https")) }
        #expect(error?.outcome == .notSent)
        #expect(error?.isTemporary == true && error?.httpStatus == 407)
        #expect(
            error?.message == """
                no connection to server.example:443: the proxy did not authenticate the user (407). Check the method \
                that it requires, the name and password in its URL, or the Kerberos ticket (klist)
                """)
        let basic = "Basic " + Data("jane:looking-glass".utf8).base64EncodedString()
        let fields = proxy.requests.flatMap { $0.values("Proxy-Authorization") }
        #expect(fields.contains(basic) == (authentication == .basic), "\(fields)")
    }

    private static func transport(
        _ authentication: CurlTransport.ProxyAuthentication, _ proxy: RawServer
    ) -> CurlTransport {
        var configuration = CurlTransport.Configuration(proxy: .url("http://jane:looking-glass@\(proxy.authority)"))
        configuration.proxyAuthentication = authentication
        return CurlTransport(configuration)
    }

    @Test(arguments: ["localhost", "LOCALHOST", "127.0.0.1", "127.1.0.1", "127.255.1.2", "[::1]"])
    func `these hosts are loopback`(host: String) throws {
        #expect(try target(host).isLoopback)
    }

    @Test(arguments: [
        "localhost.example", "128.0.0.1", "127.0.0.1.example", "127.1", "127.+1.0.1", "127.01.0.1", "127.0.0.256",
        "[::2]", "example.com",
    ])
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
