import AppAuth
import AppAuthConcurrency
import Foundation
import TestFixtures
import Testing

/// A listener that speaks https, with clients of curl and of the openssl command.
@Suite(.timeLimit(.minutes(5)))
struct SecureListenerTests {
    private let authority: TestAuthority
    private let files: String
    private let listener: LoopbackRedirectListener

    init() throws {
        authority = try TestAuthority()
        files = try authority.issue("DNS:localhost,IP:127.0.0.1,IP:::1")
        listener = try Self.listener(files)
    }

    private static func listener(
        _ files: String, _ host: LoopbackRedirectListener.Host = .ipv4,
        responseMode: AuthorizationRequest.ResponseMode = .query, _ change: (inout ListenerLimits) -> Void = { _ in }
    ) throws -> LoopbackRedirectListener {
        var limits = ListenerLimits()
        change(&limits)
        return try LoopbackRedirectListener(
            host: host, responseMode: responseMode, certificate: .init(file: files + ".pem", keyFile: files + ".key"),
            limits: limits)
    }

    private func port(_ listener: LoopbackRedirectListener) throws -> UInt16 {
        try #require(SecureURL(listener.redirectURI).port)
    }

    /// Runs curl with the authority's certificate. Returns the head and the body of each response.
    private func curl(_ arguments: String...) async throws -> String {
        let all = ["-sSi", "--max-time", "30", "--cacert", authority.root] + arguments
        return String(decoding: try await onThread { try run("curl", all) }, as: UTF8.self)
    }

    /// The awaited redirect is served and handed over, and its page is shown.
    private func expectService(_ listener: LoopbackRedirectListener, _ arguments: String...) async throws {
        let all = ["-sSL", "--max-time", "30", "--cacert", authority.root] + arguments
        let uri = listener.redirectURI
        async let page = onThread { try run("curl", all + ["\(uri)?code=c&state=right"]) }
        #expect(try await listener.redirect(state: "right") == "code=c&state=right")
        await listener.finish(with: .signedIn(appName: "Harbour"))
        #expect(String(decoding: try await page, as: UTF8.self).contains("<h1>You are signed in</h1>"))
    }

    @Test(arguments: [["--tls-max", "1.2"], ["--tlsv1.3"]])
    func `a redirect by each version of TLS is accepted, and its page is shown`(version: [String]) async throws {
        #expect(listener.redirectURI.wholeMatch(of: /https:\/\/127\.0\.0\.1:\d+\/callback/) != nil)
        try await expectService(listener, version[0], version.last ?? "")
        #expect(listener.ignoredRequests == 0)
    }

    @Test(arguments: [
        (LoopbackRedirectListener.Host.ipv6, "https://[::1]:"), (.localhost, "https://localhost:"),
        (.both, "https://127.0.0.1:"),
    ])
    func `each host has https`(host: LoopbackRedirectListener.Host, beginning: String) async throws {
        let listener = try Self.listener(files, host)
        #expect(listener.redirectURI.hasPrefix(beginning))
        try await expectService(listener)
    }

    @Test func `the one-time URL is https too, and other paths and states change nothing`() async throws {
        let url = listener.oneTimeURL(redirectingTo: "https://op.example/authorize?state=s")
        let opened = try await curl(url)
        #expect(opened.hasPrefix("HTTP/1.1 303 ") && opened.contains("https://op.example/authorize?state=s"))
        let origin = listener.redirectURI.replacing("/callback", with: "")
        #expect(url.hasPrefix(origin + "/open/"))
        #expect(try await curl(origin + "/favicon.ico").hasPrefix("HTTP/1.1 404 "))
        async let query = listener.redirect(state: "right")
        #expect(try await curl(origin + "/callback?state=wrong").hasPrefix("HTTP/1.1 400 "))
        let accepted = try await curl(origin + "/callback?state=right")
        #expect(accepted.hasPrefix("HTTP/1.1 303 ") && accepted.contains("\r\nLocation: \(origin)/callback/done/"))
        #expect(try await query == "state=right")
    }

    @Test func `a posted form arrives, also one of the largest size`() async throws {
        let listener = try Self.listener(files, responseMode: .formPost)
        let form = "state=right&x=" + String(repeating: "x", count: (16 << 10) - 14)
        async let query = listener.redirect(state: "right")
        #expect(try await curl("--data-raw", form, listener.redirectURI).contains("HTTP/1.1 303 "))
        #expect(try await query == form)
    }

    @Test func `a head that is too large is refused, and the sender can read why`() async throws {
        let field = "X: " + String(repeating: "x", count: 70_000)
        try await expectService(listener, "-H", field)
        // curl 7.88 sends 128 KiB of a head and no more, which is just the usual limit.
        let strict = try Self.listener(files) { $0.headBytes = 64 << 10 }
        #expect(try await curl("-H", field, strict.redirectURI).contains("HTTP/1.1 431 "))
        try await expectService(strict)
    }

    @Test func `a page larger than the buffers of the kernel arrives whole`() async throws {
        let html = String(repeating: "<p>Signed in</p>\n", count: 1 << 20)
        let listener = try Self.listener(files) { $0.requestTime = .seconds(120) }
        let uri = listener.redirectURI
        async let page = curl("-L", uri + "?state=right")
        _ = try await listener.redirect(state: "right")
        var last = CompletionPage.signedIn()
        last.replacement = .html(html)
        await listener.finish(with: last)
        #expect(try await page.hasSuffix(html))
    }

    /// The end of TLS that it has sent is no sign that it is still there.
    @Test func `a browser that went away before the outcome has not read it`() async throws {
        let listener = try Self.listener(files) { $0.pageTime = .seconds(2) }
        async let query = listener.redirect(state: "right")
        let accepted = try await curl(listener.redirectURI + "?state=right")
        _ = try await query
        let done = try #require(accepted.firstMatch(of: /Location: (\S+)/).map { String($0.1) })
        await #expect(throws: CommandFailure.self) { try await curl("--max-time", "1", done) }
        let start = ContinuousClock.now
        await listener.finish(with: .signedIn())
        #expect(ContinuousClock.now - start >= .seconds(2))
    }

    // MARK: hostile clients

    @Test(arguments: [
        "GET /callback?state=right HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
        "\u{0}\u{1}\u{2}\u{3}\u{0}\u{1}\u{2}\u{3}", "\u{16}\u{3}\u{1}\u{0}\u{4}\u{2}\u{0}\u{0}\u{0}",
    ])
    func `what is not TLS is closed at once, without a redirect`(text: String) async throws {
        let port = try port(listener)
        let bytes = try await onThread {
            let client = try WireClient(port)
            client.send(text)
            return try client.readAll()
        }
        // At most an alert (RFC 8446 §5.1).
        #expect(bytes.isEmpty || bytes[0] == 21, "\(bytes)")
        #expect(listener.ignoredRequests == 1)
        try await expectService(listener)
    }

    @Test(arguments: [[], Array(clientHello.prefix(5)), Array(clientHello.dropLast()), clientHello])
    func `a handshake that does not end in time is closed`(bytes: [UInt8]) async throws {
        let listener = try Self.listener(files) { $0.requestTime = .seconds(1) }
        let port = try port(listener)
        let response = try await onThread {
            let client = try WireClient(port)
            client.send(bytes)
            return try client.readAll()
        }
        // The server's part of the handshake, if the client's was complete.
        #expect(response.first == (bytes == clientHello ? 22 : nil))
        try await expectService(listener)
    }

    @Test func `a request that does not end in time gets its response by TLS`() async throws {
        let listener = try Self.listener(files) { $0.requestTime = .seconds(2) }
        let port = try port(listener)
        let text = try await onThread {
            try run("openssl", "s_client", "-quiet", "-connect", "127.0.0.1:\(port)", input: Data("GET / HTTP".utf8))
        }
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
        try await expectService(listener)
    }

    @Test(arguments: [true, false])
    func `a client that closes in the middle of the handshake changes nothing`(resets: Bool) async throws {
        let port = try port(listener)
        try await onThread {
            for bytes in [clientHello, Array(clientHello.dropLast())] {
                let client = try WireClient(port)
                client.send(bytes)
                if bytes == clientHello { #expect(client.isReadable(within: 10_000)) }
                if resets { client.reset() }
            }
        }
        try await expectService(listener)
    }

    @Test func `a handshake without end is closed after 64 KiB`() async throws {
        let listener = try Self.listener(files) { $0.requestTime = .seconds(600) }
        let port = try port(listener)
        let isClosed = try await onThread {
            let client = try WireClient(port)
            // The beginning of a message of 128,000 bytes, and further records of it.
            client.send([22, 3, 1, 0x3E, 0x80, 1, 1, 0xF4, 0, 3, 3] + [UInt8](repeating: 0, count: 15_994))
            for _ in 0..<6 { client.send([22, 3, 1, 0x3E, 0x80] + [UInt8](repeating: 0, count: 16_000)) }
            return client.isReadable(within: 20_000)
        }
        #expect(isClosed)
        #expect(listener.ignoredRequests == 1)
        try await expectService(listener)
    }

    @Test func `a thousand half-open handshakes delay no other`() async throws {
        try raiseDescriptorLimit()
        let port = try port(listener)
        let clients = try await onThread {
            try (0..<1000).map { number in
                let client = try WireClient(port)
                client.send(number.isMultiple(of: 2) ? clientHello : Array(clientHello.dropLast()))
                return client
            }
        }
        try await expectService(listener)
        #expect(clients.count == 1000)
    }

    @Test func `a client cannot demand another handshake`() async throws {
        let port = try port(listener)
        // `R` in a line of its own is the command of s_client for that.
        let error = await #expect(throws: CommandFailure.self) {
            try await onThread {
                try run("openssl", "s_client", "-tls1_2", "-connect", "127.0.0.1:\(port)", input: Data("R\n".utf8))
            }
        }
        #expect(error?.output.contains("no renegotiation") == true, "\(String(describing: error))")
        try await expectService(listener)
    }

    // MARK: certificates

    private func refusal(
        _ file: String, _ key: String? = nil, _ host: LoopbackRedirectListener.Host = .ipv4
    ) async -> String? {
        let error = await authError {
            _ = try LoopbackRedirectListener(host: host, certificate: .init(file: file, keyFile: key))
        }
        return error?.code == .invalidConfiguration && error?.outcome == .notSent ? error?.message : nil
    }

    @Test func `one file may have the certificate and its key`() async throws {
        let both = authority.directory.appending(path: "both.pem")
        let texts = try [files + ".key", files + ".pem"].map { try Data(contentsOf: URL(filePath: $0)) }
        try (texts[0] + texts[1]).write(to: both)
        try await expectService(LoopbackRedirectListener(certificate: .init(file: both.path)))
    }

    @Test func `a chain is sent whole`() async throws {
        let chain = authority.directory.appending(path: "chain")
        let texts = try [files + ".pem", authority.root].map { try Data(contentsOf: URL(filePath: $0)) }
        try (texts[0] + texts[1]).write(to: chain.appendingPathExtension("pem"))
        try FileManager.default.copyItem(atPath: files + ".key", toPath: chain.path + ".key")
        let listener = try Self.listener(chain.path)
        let port = try port(listener)
        let shown = try await onThread {
            try run("openssl", "s_client", "-showcerts", "-connect", "127.0.0.1:\(port)")
        }
        let text = String(decoding: shown, as: UTF8.self)
        #expect(text.components(separatedBy: "-----BEGIN CERTIFICATE-----").count == 3)
    }

    @Test func `files that cannot be used are named`() async throws {
        let (file, key) = (files + ".pem", files + ".key")
        let other = try authority.issue("IP:127.0.0.1")
        let encrypted = authority.directory.appending(path: "encrypted.key").path
        _ = try run("openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", key, "-out", encrypted)
        #expect(await refusal("/none.pem", key) == "/none.pem: No such file or directory")
        #expect(await refusal(file, "/none.key") == "/none.key: No such file or directory")
        #expect(await refusal("/tmp", key) == "/tmp: expected a regular file, found a folder, a pipe or a device")
        #expect(await refusal(key, key) == "expected a certificate in PEM in \(key)")
        for wrong in [nil, encrypted] {
            let place = wrong ?? file
            #expect(
                await refusal(file, wrong)
                    == "expected the certificate’s private key in PEM, not encrypted, in \(place)")
        }
        #expect(
            await refusal(file, other + ".key")
                == "the key in \(other).key is not that of the certificate in \(file)")
        #expect(await refusal(file, key) == nil)
    }

    @Test func `a certificate that browsers refuse is refused before a browser opens`() async throws {
        let expired = try authority.issue("IP:127.0.0.1", days: -1)
        #expect(
            await refusal(expired + ".pem", expired + ".key")
                == "the certificate in \(expired).pem has expired: make another one")
        let early = try authority.issue("IP:127.0.0.1", from: "20991231000000Z")
        #expect(
            await refusal(early + ".pem", early + ".key")
                == "the certificate in \(early).pem is not valid yet: check this computer’s clock")
        let weak = try authority.issue("IP:127.0.0.1", key: "rsa:512")
        #expect(
            await refusal(weak + ".pem", weak + ".key")
                == "OpenSSL refuses the certificate in \(weak).pem: ee key too small")
    }

    @Test(arguments: [
        (
            "DNS:localhost", LoopbackRedirectListener.Host.ipv4, "127.0.0.1",
            "use another host (localhost), or make another"
        ),
        ("DNS:127.0.0.1", .ipv4, "127.0.0.1", "make one that is"),
        ("IP:127.0.0.1", .localhost, "localhost", "use another host (127.0.0.1), or make another"),
        ("IP:127.0.0.1", .both, "[::1]", "use another host (127.0.0.1), or make another"),
        ("DNS:example.org", .localhost, "localhost", "make one that is"),
    ])
    func `a certificate for another host is refused`(
        names: String, host: LoopbackRedirectListener.Host, missing: String, advice: String
    ) async throws {
        // Browsers ignore the name in the subject.
        let files = try authority.issue(names, subject: "localhost")
        let message = try #require(await refusal(files + ".pem", files + ".key", host))
        #expect(
            message.hasPrefix("the certificate in \(files).pem is not for \(missing), so a browser would refuse it"))
        #expect(message.contains(advice), "\(message)")
    }

    private func obstacles(_ listener: LoopbackRedirectListener) -> LockedValue<[BrowserObstacle]> {
        let met = LockedValue<[BrowserObstacle]>([])
        listener.onObstacle { obstacle in met.withLock { $0.append(obstacle) } }
        return met
    }

    @Test(arguments: [(0o600, false), (0o640, true), (0o604, true)])
    func `a key that other users can read is reported`(mode: Int, isReported: Bool) async throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files + ".key")
        let met = obstacles(try Self.listener(files)).withLock { $0 }
        #expect(met.map(\.kind) == (isReported ? [.keyReadByOthers] : []))
        #expect(met.allSatisfy { $0.message.hasSuffix(": chmod go-rwx \(files).key") })
    }

    @Test(arguments: [["--tls-max", "1.2"], ["--tlsv1.3"]])
    func `a client that does not trust the certificate is reported, and the wait goes on`(version: [String])
        async throws
    {
        let met = obstacles(listener)
        let uri = listener.redirectURI
        await #expect(throws: CommandFailure.self) {
            try await onThread { try run("curl", ["-sS", "--max-time", "30"] + version + [uri]) }
        }
        try await waitUntil { met.withLock { !$0.isEmpty } }
        #expect(met.withLock { $0.map(\.kind) } == [.certificateRefused])
        try await expectService(listener)
    }
}
