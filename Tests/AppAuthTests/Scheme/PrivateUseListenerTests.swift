import AppAuth
import Foundation
import Testing

/// Redirects that come to the socket of a listener.
@Suite(.timeLimit(.minutes(5)))
struct PrivateUseListenerTests {
    private let session: DesktopFixture

    init() throws { session = try DesktopFixture() }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func onlySocket() throws -> String {
        try #require(session.sockets.count == 1)
        return session.sockets[0]
    }

    @Test func `a redirect reaches the waiting listener`() async throws {
        let listener = try await session.listener()
        #expect(listener.redirectURI == DesktopFixture.uri)
        async let query = listener.redirect(state: "s")
        #expect(try await session.deliver(DesktopFixture.uri + "?code=c&state=s"))
        #expect(try await query == "code=c&state=s")
        #expect(listener.ignoredRedirects == 0)
    }

    @Test func `only this user may use the socket, and it is gone at the end`() async throws {
        let listener = try await session.listener()
        let socket = try onlySocket()
        #expect(try mode(socket) == 0o600)
        #expect(try mode(session.folders.runtime + "/appauth") == 0o700)
        listener.close()
        listener.close()
        #expect(session.sockets.isEmpty)
    }

    @Test(arguments: [
        "de.7pass.example:/cb/authz/?state=s", "de.7pass.example:/cb?state=s", "de.7pass.example:/cb/authzz?state=s",
        "de.7pass.example:/CB/authz?state=s", "de.7pass.example://cb/authz?state=s", "de.7pass.example:?state=s",
        "de.7pass.example:/cb/authz&state=s", "de.7pass.example:/cb/authz#?state=s", "de.7pass.example:/cb/authz",
    ])
    func `only the exact redirect URI counts`(url: String) async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        // The same scheme, so that it comes to this listener, before the awaited one.
        #expect(try await session.deliver(DesktopFixture.uri + "?state=wrong") == false)
        #expect(try await session.deliver(url) == false)
        #expect(listener.ignoredRedirects == 2)
        #expect(try await session.deliver(DesktopFixture.uri + "?state=s"))
        #expect(try await waiting.value == "state=s")
    }

    @Test(arguments: [
        ("?state=s#_=_", "state=s"), ("?code=%zz+%C3%BC&&a&=b&state=s&x=?;'", "code=%zz+%C3%BC&&a&=b&state=s&x=?;'"),
        ("?code=ü&state=s", "code=ü&state=s"),
    ])
    func `the matcher gets the query as it came, without a fragment`(end: String, query: String) async throws {
        let listener = try await session.listener(uri: "oauthtest://oauth-callback")
        async let matched = listener.redirect(state: "s")
        #expect(try await session.deliver("oauthtest://oauth-callback" + end))
        #expect(try await matched == query)
    }

    @Test func `a thousand wrong states change nothing but a counter`() async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        // The first may come before a caller waits.
        let socket = try onlySocket()
        let responses = try await onThread {
            try (0..<1000).map { number in
                let client = try SocketClient(socket)
                client.send(Array("\(DesktopFixture.uri)?code=stolen&state=\(number)".utf8))
                client.endSending()
                return client.response()
            }
        }
        #expect(responses.allSatisfy { $0 == "ignored\n" })
        #expect(listener.ignoredRedirects == 1000)
        #expect(try await session.deliver(DesktopFixture.uri + "?state=s"))
        #expect(try await waiting.value == "state=s")
    }

    @Test func `there is one result at most`() async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<20 {
                group.addTask { try await session.deliver(DesktopFixture.uri + "?code=\(number)&state=s") }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(taken.filter { $0 }.count == 1)
        _ = try await waiting.value
        await #expect(throws: AuthError.self) { try await listener.redirect(state: "s") }
    }

    @Test func `a lasting wait takes every redirect until it is cancelled`() async throws {
        let listener = try await session.listener()
        let (taken, take) = AsyncStream.makeStream(of: String.self)
        let waiting = Task { try await listener.redirects { take.yield($0) } }
        for number in 0..<3 { #expect(try await session.deliver(DesktopFixture.uri + "?code=\(number)")) }
        #expect(try await session.deliver(DesktopFixture.uri + "/other?code=3") == false)
        #expect(listener.ignoredRedirects == 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        take.finish()
        #expect(await taken.reduce(into: []) { $0.append($1) } == ["code=0", "code=1", "code=2"])
        #expect(session.isClear)
    }

    @Test func `a redirect that comes before a caller waits for it is kept`() async throws {
        let listener = try await session.listener()
        let socket = try onlySocket()
        let client = try await onThread {
            let client = try SocketClient(socket)
            client.send(Array("\(DesktopFixture.uri)?state=s".utf8))
            client.endSending()
            return client
        }
        #expect(try await listener.redirect(state: "s") == "state=s")
        #expect(try await onThread { client.response() } == "taken\n")
    }

    @Test func `a redirect stays valid after its helper has gone`() async throws {
        let listener = try await session.listener()
        let socket = try onlySocket()
        for url in ["?state=s", "/other?state=s"] {
            // The second is responded to at once, and by then the end of the first is noticed.
            _ = try await onThread {
                let client = try SocketClient(socket)
                client.send(Array((DesktopFixture.uri + url).utf8))
                client.endSending()
                return url == "?state=s" ? "" : client.response()
            }
        }
        #expect(listener.ignoredRedirects == 1)
        let query = try await withTimeout(.seconds(60), .redirect, "the redirect was not kept") {
            try await listener.redirect(state: "s")
        }
        #expect(query == "state=s")
    }

    @Test func `of several waiting listeners, the one with its state takes a redirect`() async throws {
        let listeners = [try await session.listener(), try await session.listener(), try await session.listener()]
        let waiting = listeners.enumerated().map { index, listener in
            Task { try await listener.redirect(state: "s\(index)") }
        }
        for index in [1, 0, 2] { #expect(try await session.deliver(DesktopFixture.uri + "?state=s\(index)")) }
        for (index, task) in waiting.enumerated() { #expect(try await task.value == "state=s\(index)") }
    }

    @Test func `another scheme's redirect does not reach this listener`() async throws {
        let listener = try await session.listener()
        #expect(try await session.deliver("de.7pass.other:/cb/authz?state=s") == false)
        #expect(try await session.deliver("no URL") == false)
        #expect(listener.ignoredRedirects == 0)
    }

    @Test func `two cannot wait at once`() async throws {
        let listener = try await session.listener()
        let results = try await withThrowingTaskGroup(of: Result<String, any Error>.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do { return .success(try await listener.redirect(state: "s")) } catch { return .failure(error) }
                }
            }
            let refused = try #require(try await group.next())
            #expect(try await session.deliver(DesktopFixture.uri + "?state=s"))
            return [refused, try #require(try await group.next())]
        }
        #expect(throws: AuthError.self) { try results[0].get() }
        #expect(try results[1].get() == "state=s")
    }

    // MARK: the end

    @Test func `a cancelled wait leaves nothing, within 100 ms`() async throws {
        var best = Duration.seconds(60)
        // The best of many: other work of the machine does not count.
        for _ in 0..<100 where best >= .milliseconds(100) {
            let listener = try await session.listener(.whileWaiting)
            #expect(!session.isClear)
            let waiting = Task { try await listener.redirect(state: "s") }
            #expect(try await session.deliver(DesktopFixture.uri + "?state=wrong") == false)
            let start = ContinuousClock.now
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            best = min(best, ContinuousClock.now - start)
            #expect(session.isClear && session.list == nil)
        }
        #expect(best < .milliseconds(100))
    }

    @Test func `a listener is not begun in a cancelled task`() async throws {
        let session = session
        let beginning = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await session.listener(.whileWaiting)
        }
        await #expect(throws: CancellationError.self) { try await beginning.value }
        #expect(session.isClear && session.list == nil)
    }

    @Test func `closing ends the wait with an error`() async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        #expect(try await session.deliver(DesktopFixture.uri + "?state=wrong") == false)
        listener.close()
        await #expect(throws: AuthError.self) { try await waiting.value }
        await #expect(throws: AuthError.self) { try await listener.redirect(state: "s") }
    }

    @Test func `the last reference clears away`() async throws {
        do { _ = try await session.listener(.whileWaiting) }
        #expect(session.isClear)
    }

    @Test func `a dead socket is removed by the next listener, and by a helper that finds it`() async throws {
        let dead = try await session.listener().deadSocket(in: session)
        #expect(session.sockets == [dead])
        let listener = try await session.listener()
        #expect(session.sockets.count == 1 && session.sockets != [dead])
        listener.close()
        _ = try await session.listener().deadSocket(in: session)
        #expect(try await session.deliver(DesktopFixture.uri + "?state=s") == false)
        #expect(session.sockets.isEmpty)
    }
}

extension PrivateUseRedirectListener {
    /// Leaves a socket without a listener, as a killed process does.
    fileprivate func deadSocket(in session: DesktopFixture) throws -> String {
        let socket = try #require(session.sockets.first)
        let kept = session.root + "/kept"
        try FileManager.default.moveItem(atPath: socket, toPath: kept)
        close()
        try FileManager.default.moveItem(atPath: kept, toPath: socket)
        return socket
    }
}
