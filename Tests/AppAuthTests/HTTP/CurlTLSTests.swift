import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// Which servers are trusted.
@Suite(.timeLimit(.minutes(1)))
struct CurlTLSTests {
    let authority: TestAuthority
    let server: TLSServer

    init() throws {
        authority = try TestAuthority()
        server = try TLSServer(authority.issue("IP:127.0.0.1"))
    }

    @Test func `a server under an additional root is trusted`() async throws {
        let configuration = CurlTransport.Configuration(additionalRoots: [authority.root], proxy: .none)
        // By the test's environment, and by one that names no roots.
        for transport in [CurlTransport(configuration), CurlTransport(configuration) { _ in nil }] {
            #expect(try await transport.send(get(server)).status.code == 200)
        }
    }

    @Test func `a server under the only roots is trusted`() async throws {
        let transport = CurlTransport(.init(roots: .files([authority.root]), proxy: .none))
        #expect(try await transport.send(get(server)).status.code == 200)
    }

    @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"])
    func `the environment names the file of roots`(variable: String) async throws {
        let root = authority.root
        let transport = CurlTransport(.init(proxy: .none)) { $0 == variable ? root : nil }
        #expect(try await transport.send(get(server)).status.code == 200)
    }

    @Test func `the environment names the folder of roots`() async throws {
        let directory = authority.directory.appending(path: "hashed")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: authority.root, toPath: directory.appending(path: "ca.pem").path)
        try run("openssl", "rehash", directory.path)
        let transport = CurlTransport(.init(proxy: .none)) { $0 == "SSL_CERT_DIR" ? directory.path : nil }
        #expect(try await transport.send(get(server)).status.code == 200)
    }

    /// An administrator has added a root to the file, and not to the folder that OpenSSL searches by name.
    @Test func `a root that only the system's file has is trusted, and the file is read only for it`() async throws {
        let other = try TestAuthority()
        let folder = authority.directory.appending(path: "system")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: other.root, toPath: folder.appending(path: "ca.pem").path)
        try run("openssl", "rehash", folder.path)
        for number in 0..<16 { try Data().write(to: folder.appending(path: "0000000\(number % 10).\(number)")) }
        let file = authority.directory.appending(path: "ca-certificates.crt")
        try FileManager.default.copyItem(atPath: authority.root, toPath: file.path)
        let transport = CurlTransport(
            .init(proxy: .none), system: (file.path, [folder.path]), environment: { _ in nil })
        let otherServer = try TLSServer(other.issue("IP:127.0.0.1"))
        #expect(try await transport.send(get(otherServer)).status.code == 200)
        for _ in 0..<2 { #expect(try await transport.send(get(server)).status.code == 200) }
        let third = try TestAuthority()
        let unknown = try TLSServer(third.issue("IP:127.0.0.1"))
        let error = await authError { try await transport.send(get(unknown)) }
        #expect(error?.message.contains("is not trusted: unable to get local issuer certificate") == true)
        // Without the file, the folder's roots are still trusted.
        let lean = CurlTransport(
            .init(additionalRoots: [authority.root], proxy: .none), system: ("/none", [folder.path]),
            environment: { _ in nil })
        for server in [server, otherServer] { #expect(try await lean.send(get(server)).status.code == 200) }
    }

    @Test func `additional roots add to those of the environment`() async throws {
        let other = try TestAuthority()
        let otherServer = try TLSServer(other.issue("IP:127.0.0.1"))
        let root = authority.root
        let transport = CurlTransport(.init(additionalRoots: [other.root], proxy: .none)) {
            $0 == "SSL_CERT_FILE" ? root : nil
        }
        #expect(try await transport.send(get(server)).status.code == 200)
        #expect(try await transport.send(get(otherServer)).status.code == 200)
    }

    @Test func `a server under an unknown root is not trusted`() async throws {
        let message = "the certificate of 127.0.0.1 is not trusted: unable to get local issuer certificate"
        await expectRefusal(message) { try await CurlTransport(.init(proxy: .none)).send(get(server)) }
        let other = try TestAuthority()
        for configuration in [
            CurlTransport.Configuration(roots: .files([other.root]), proxy: .none),
            .init(additionalRoots: [other.root], proxy: .none),
        ] {
            let transport = CurlTransport(configuration) { _ in nil }
            await expectRefusal(message) { try await transport.send(get(server)) }
        }
    }

    @Test func `an expired certificate is not trusted`() async throws {
        let server = try TLSServer(authority.issue("IP:127.0.0.1", days: -1))
        let transport = CurlTransport(.init(additionalRoots: [authority.root], proxy: .none))
        await expectRefusal("the certificate of 127.0.0.1 is not trusted: certificate has expired") {
            try await transport.send(get(server))
        }
    }

    @Test func `a certificate for another host is not trusted`() async throws {
        let server = try TLSServer(authority.issue("DNS:other.example"))
        let transport = CurlTransport(.init(additionalRoots: [authority.root], proxy: .none))
        await expectRefusal("the certificate of 127.0.0.1 is not trusted: ") { try await transport.send(get(server)) }
    }

    @Test func `a server that breaks off the handshake has not been sent the request`() async throws {
        let server = try RawServer { _ in }
        var request = server.post()
        request.head.scheme = "https"
        let error = await authError { [request] in try await CurlTransport(.init(proxy: .none)).send(request) }
        #expect(error?.code == .transport)
        #expect(error?.outcome == .notSent)
        #expect(error?.message.hasPrefix("no TLS connection to \(server.authority): ") == true)
    }

    @Test func `a server on loopback that speaks http is named as one`() async throws {
        let server = try RawServer { connection in
            try connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        }
        var request = server.get()
        request.head.scheme = "https"
        let error = await authError { [request] in try await CurlTransport(.init(proxy: .none)).send(request) }
        #expect(error?.message.hasPrefix("no TLS connection to \(server.authority): ") == true)
        #expect(error?.message.hasSuffix(". The server may speak http") == true, "\(error?.message ?? "")")
    }

    @Test func `an old version of TLS is refused even where the system allows it`() async {
        await #expect(processExitsWith: .success) {
            let authority = try TestAuthority()
            let certificate = try authority.issue("IP:127.0.0.1")
            let old = try TLSServer(certificate, "-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0")
            let new = try TLSServer(certificate, "-tls1_2")
            // The settings of an administrator who has to reach an old server.
            let file = authority.directory.appending(path: "openssl.cnf")
            let settings = "[a]\nssl_conf=b\n[b]\nsystem_default=c\n[c]\n"
            let lax = "openssl_conf=a\n\(settings)MinProtocol=TLSv1\nCipherString=DEFAULT:@SECLEVEL=0\n"
            try Data(lax.utf8).write(to: file)
            setenv("OPENSSL_CONF", file.path, 1)
            let transport = CurlTransport(.init(roots: .files([authority.root]), proxy: .none))
            let response = try await transport.send(get(new))
            try #require(response.status.code == 200)
            let error = await authError { try await transport.send(get(old)) }
            try #require(error?.code == .transport && error?.outcome == .notSent)
            try #require(error?.message.contains("no TLS connection to 127.0.0.1:\(old.port)") == true)
        }
    }

    private func expectRefusal(
        _ message: String, _ location: SourceLocation = #_sourceLocation, _ send: () async throws -> TransportResponse
    ) async {
        let error = await authError(send)
        #expect(error?.code == .transport, sourceLocation: location)
        #expect(error?.outcome == .notSent, sourceLocation: location)
        #expect(error?.isTemporary == true, sourceLocation: location)
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")", sourceLocation: location)
    }
}

private func get(_ server: TLSServer) -> TransportRequest {
    TransportRequest(HTTPRequest(method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/"))
}
