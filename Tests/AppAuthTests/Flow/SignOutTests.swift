import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// A sign-out that begins with the store.
struct SignOutTests {
    @Test func `the session of a store is revoked and removed, and reported once`() async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            _ = try await world.signIn(store: store)
            var signOut = SignOut(appName: "Test")
            signOut.endsBrowserSession = false
            let report = try #require(try await signOut.run(store: store, environment: world.environment))
            #expect(report.revocations.map(\.tokenTypeHint) == ["refresh_token", "access_token"])
            #expect(report.revocations.allSatisfy { $0.error == nil })
            #expect(try await store.load() == nil)
            let again = try await signOut.run(store: store, environment: world.environment)
            #expect(again == nil && world.provider.count(.revocation) == 2)
        }
    }

    @Test func `the report says in sentences what happened`() {
        let failure = AuthError(.timeout, .logout, "the provider did not send the browser back")
        var report = SignOut.Report()
        #expect("\(report)" == "Signed out. The browser may still be signed in.")
        report.endSessionError = failure
        #expect(
            "\(report)" == "Signed out. The browser may still be signed in: the provider did not send the browser back."
        )
        report = SignOut.Report()
        report.sessionEnded = true
        report.revocations = [.init(tokenTypeHint: "refresh_token", error: nil)]
        #expect("\(report)" == "Signed out, in the browser too.")
        report.revocations.append(
            .init(tokenTypeHint: "access_token", error: AuthError(.transport, .revocation, "offline")))
        #expect("\(report)" == "Signed out, in the browser too. The provider may still accept the tokens: offline.")
    }

    @Test func `without a browser, the user learns the URL, unless the app has an observer`() async throws {
        for isObserved in [false, true] {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                [isObserved = isObserved as Bool] in
                try await World.run { world in
                    var signOut = SignOut(appName: "Test")
                    (signOut.browser, signOut.waitsWithoutBrowser) = (nil, false)
                    if isObserved { signOut.observe = { _ in } }
                    _ = try await signOut.run(world.signIn())
                }
            }
            let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            #expect(output.contains("open this URL") == !isObserved, "\(output)")
            #expect(
                output.contains("http://127.0.0.1:") == !isObserved && !output.contains("id_token_hint"), "\(output)")
        }
    }

    /// Several providers refuse an expired ID token as a hint, and show an error in place of the way back.
    @Test(arguments: [true, false])
    func `an ID token that has expired is refreshed first, if that is possible`(isPossible: Bool) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let old = await state.record.idToken?.rawValue.reveal()
            world.clock.advance(by: 700)
            if !isPossible { world.provider.fault(.status(.badRequest), at: .token, times: nil) }
            let report = try await withScriptedBrowser(entries: [:]) { browser in
                var signOut = SignOut(appName: "Test")
                signOut.browser = browser
                return try await signOut.run(state)
            }
            #expect(report.sessionEnded)
            let hint = try #require(world.provider.log(.endSession).first?.query["id_token_hint"])
            #expect((hint == old) == !isPossible)
        }
    }

    @Test func `a browser that comes back without the state is reported, and ends nothing`() async throws {
        try await World.run { world in
            let foreign = LockedValue(0)
            var signOut = SignOut(appName: "Test")
            (signOut.browser, signOut.timeout) = (nil, .seconds(10))
            signOut.observe = { event in
                switch event {
                case .waiting(let uri):
                    Task {
                        try await onThread {
                            for query in ["", "?state=", "?state=x"] { _ = try run("curl", "-s", uri + query) }
                        }
                    }
                case .foreignRedirect: foreign.withLock { $0 += 1 }
                default: break
                }
            }
            let report = try await signOut.run(world.signIn())
            #expect(!report.sessionEnded && report.endSessionError?.code == .timeout && foreign.withLock { $0 } == 3)
            #expect(report.endSessionError?.message == "the browser came back without the state of this sign-out")
        }
    }

    // Several providers end all sessions of a user with the browser's.
    @Test(arguments: [nil, "before", "during", "elsewhere"])
    func `the browser is not sent to the provider if it may be signed in for a later session`(
        later: String?
    ) async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            let state = try await world.signIn(store: store)
            if later == "before" { _ = try await world.signIn(store: store) }
            let hold = later == "during" ? world.provider.hold(.revocation) : nil
            if later == "elsewhere" { try await World.run { _ = try await $0.signIn(store: store) } }
            async let reported = withScriptedBrowser(entries: [:]) { browser in
                var signOut = SignOut(appName: "Test")
                signOut.browser = browser
                return try await signOut.run(state)
            }
            if let hold {
                try await hold.arrived()
                _ = try await world.signIn(store: store)
                hold.release()
            }
            let (report, isOpened) = (try await reported, later == nil || later == "elsewhere")
            #expect(report.sessionEnded == isOpened)
            #expect(report.endSessionError?.code == (isOpened ? nil : .sessionReplaced))
            #expect(world.provider.count(.endSession) == (isOpened ? 1 : 0))
            #expect(report.revocations.count == (later == nil || later == "during" ? 2 : 0))
            #expect(try await (store.load() == nil) == (later == nil))
        }
    }
}
