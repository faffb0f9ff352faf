import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// A sign-in that takes pasted redirects while its listener listens: the first response wins.
@Suite(.timeLimit(.minutes(5)))
struct SignInPasteTests {
    private struct Chosen: Error {}

    /// A sign-in that waits, and its events.
    private final class Waiting: Sendable {
        let paste: AsyncThrowingStream<String, any Error>.Continuation
        let result: Task<AuthState, any Error>
        let url: String
        var port: String { String(url.firstMatch(of: /127\.0\.0\.1%3A(\d+)/)?.1 ?? "") }
        private let events: AsyncStream<SignIn.Event>
        let isTerminated = LockedValue(false)

        init(_ world: World, _ change: (inout SignIn) -> Void = { _ in }) async throws {
            let (events, event) = AsyncStream.makeStream(of: SignIn.Event.self)
            let (pasted, paste) = AsyncThrowingStream.makeStream(of: String.self, throwing: (any Error).self)
            paste.onTermination = { [isTerminated] _ in isTerminated.withLock { $0 = true } }
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            signIn.browser = nil
            signIn.observe = { event.yield($0) }
            signIn.pasted = { pasted }
            change(&signIn)
            result = Task { [signIn] in
                defer { event.finish() }
                return try await signIn.run(store: MemoryTokenStore())
            }
            (self.events, self.paste) = (events, paste)
            var url: String?
            for await event in events {
                if case .authorization(let shown) = event { url = shown }
                if url != nil { break }
            }
            self.url = try #require(url)
        }

        func wrongPaste() async -> AuthError? {
            for await event in events { if case .wrongPaste(let error) = event { return error } }
            return nil
        }

        /// Goes through the provider's pages in a browser of another machine, and returns the address that it cannot open.
        func elsewhere(_ world: World) async throws -> String {
            try await world.browser.address(from: url, upTo: "http://127.0.0.1:\(port)/")
        }
    }

    @Test func `a pasted address signs in`() async throws {
        try await World.run { world in
            let waiting = try await Waiting(world)
            waiting.paste.yield(try await waiting.elsewhere(world))
            let record = try await waiting.result.value.record
            #expect(record.idToken != nil && record.hasRefreshToken)
            #expect(waiting.isTerminated.withLock { $0 })
            #expect(world.log.lines.allSatisfy { !$0.contains("code=") })
        }
    }

    @Test func `the browser may still come back by itself, after wrong pastes and the end of them`() async throws {
        try await World.run { world in
            let waiting = try await Waiting(world)
            waiting.paste.yield("  \n")
            waiting.paste.yield("abc")
            #expect(await waiting.wrongPaste()?.message.contains("not just the code") == true)
            waiting.paste.yield(waiting.url)
            #expect(await waiting.wrongPaste()?.message.contains("starts the sign-in") == true)
            waiting.paste.finish()
            #expect(try await world.browser.visit(waiting.url).contains("You are signed in"))
            #expect(try await waiting.result.value.record.hasRefreshToken)
        }
    }

    @Test func `of two responses there is one exchange`() async throws {
        try await World.run { world in
            for _ in 0..<5 {
                let waiting = try await Waiting(world)
                let address = try await waiting.elsewhere(world)
                async let page = try? world.browser.visit(address)
                waiting.paste.yield(address)
                _ = try await waiting.result.value
                _ = await page
            }
            #expect(world.provider.count(.token) == 5)
        }
    }

    @Test func `a pasted refusal ends the sign-in`() async throws {
        try await World.run { world in
            let waiting = try await Waiting(world)
            let address = try await waiting.elsewhere(world)
            waiting.paste.yield(address.replacing("code=", with: "error=access_denied&x="))
            let error = await authError { try await waiting.result.value }
            #expect(error?.code == .accessDenied)
            #expect(world.provider.count(.token) == 0)
        }
    }

    @Test func `a source that throws ends the sign-in with its error, and closes the port`() async throws {
        try await World.run { world in
            let waiting = try await Waiting(world)
            waiting.paste.finish(throwing: Chosen())
            await #expect(throws: Chosen.self) { try await waiting.result.value }
            let request = HTTPRequest(method: .get, url: try SecureURL("http://127.0.0.1:\(waiting.port)/"))
            await #expect(throws: AuthError.self) { try await world.transport.send(TransportRequest(request)) }
        }
    }

    @Test func `cancelling ends both waits`() async throws {
        try await World.run { world in
            let waiting = try await Waiting(world)
            waiting.result.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.result.value }
            #expect(waiting.isTerminated.withLock { $0 })
        }
    }

    @Test(arguments: [true, false])
    func `a browser that was not started is reported, with the provider's alternative`(hasDevice: Bool) async throws {
        try await World.run { world in
            if !hasDevice {
                world.provider.fault(
                    .editDocument { $0["device_authorization_endpoint"] = nil }, at: .openIDConfiguration)
            }
            let events = LockedValue<[SignIn.Event]>([])
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            signIn.browser = Browser(in: { DesktopSession(environment: ["SSH_TTY": "x"]) })
            signIn.observe = { event in events.withLock { $0.append(event) } }
            signIn.pasted = { AsyncThrowingStream { $0.finish(throwing: Chosen()) } }
            await #expect(throws: Chosen.self) { try await signIn.run(store: MemoryTokenStore()) }
            guard case .withoutBrowser(let error?, hasDevice)? = events.withLock({ $0.last }) else {
                return #expect(Bool(false), "\(events.withLock { $0 })")
            }
            #expect(error.code == .browser)
            #expect(error.message.contains("SSH session") && error.message.contains("no display"))
        }
    }

    @Test func `the possible obstacles of a browser that was started are reported`() async throws {
        try await World.run { world in
            let obstacles = LockedValue<[BrowserObstacle.Kind]>([])
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            signIn.browser = Browser(in: { DesktopSession(environment: ["SSH_TTY": "x", "BROWSER": "true"]) })
            signIn.observe = { event in
                if case .browserObstacle(let obstacle) = event { obstacles.withLock { $0.append(obstacle.kind) } }
            }
            signIn.pasted = { AsyncThrowingStream { $0.finish(throwing: Chosen()) } }
            await #expect(throws: Chosen.self) { try await signIn.run(store: MemoryTokenStore()) }
            #expect(obstacles.withLock { $0 }.contains(.sshSession))
        }
    }

    @Test func `the metadata is fetched once for the runs of one sign-in`() async throws {
        try await World.run { world in
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            let browser = world.browser
            signIn.browser = Browser { url in Task { try await browser.visit(url) } }
            for _ in 0..<2 { _ = try await signIn.run(store: MemoryTokenStore()) }
            #expect(world.provider.count(.openIDConfiguration) == 1)
        }
    }
}
