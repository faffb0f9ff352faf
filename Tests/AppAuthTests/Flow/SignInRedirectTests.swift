import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// An app's redirect and page options reach the provider and the browser.
@Suite(.timeLimit(.minutes(5)))
struct SignInRedirectTests {
    private struct Visit {
        /// The last page that the browser showed.
        let page: String
        let redirectURI: String
        /// The error of ``SignIn/run(store:)``.
        let error: AuthError?
    }

    private func visit(_ world: World, _ change: (inout SignIn) -> Void) async throws -> Visit {
        var signIn = try SignIn(
            issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour", environment: world.environment)
        let (browser, page) = (world.browser, LockedValue<Task<String, any Error>?>(nil))
        signIn.browser = Browser { url in
            let visit = Task { try await browser.visit(url) }
            page.withLock { $0 = visit }
        }
        change(&signIn)
        let error = await authError { _ = try await signIn.run(store: MemoryTokenStore()) }
        let uri = try #require(world.provider.log(.authorization).first?.query["redirect_uri"])
        return Visit(page: try await page.withLock { $0 }?.value ?? "", redirectURI: uri, error: error)
    }

    @Test(
        arguments: [
            (["openid", "profile"] as JSON?, nil, [[.offlineAccess]], "openid profile"),
            (nil, nil, [], "openid profile offline_access"),
            (["openid"], [.openID, .offlineAccess], [], "openid offline_access"),
        ] as [(JSON?, [Scope]?, [[Scope]], String)])
    func `default scopes that the provider does not list are reported and not requested`(
        supported: JSON?, scope: [Scope]?, expected: [[Scope]], requested: String
    ) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["scopes_supported"] = supported }, at: .openIDConfiguration)
            let leftOut = LockedValue<[[Scope]]>([])
            let visit = try await visit(world) { signIn in
                signIn.scope = scope
                signIn.observe = { event in
                    if case .scopesLeftOut(let scopes) = event { leftOut.withLock { $0.append(scopes) } }
                }
            }
            #expect(visit.error == nil)
            #expect(leftOut.withLock { $0 } == expected)
            #expect(world.provider.log(.authorization).first?.query["scope"] == requested)
        }
    }

    @Test(
        arguments: [(nil, "openid profile offline_access api"), (["api", .openID], "api openid")]
            as [([Scope]?, String)])
    func `additional scopes are requested after the app's, or after the default ones`(
        scope: [Scope]?, requested: String
    ) async throws {
        try await World.run { world in
            let visit = try await visit(world) { ($0.scope, $0.additionalScope) = (scope, ["api"]) }
            #expect(visit.error == nil)
            #expect(world.provider.log(.authorization).first?.query["scope"] == requested)
        }
    }

    /// The browser may be signed in as another user. The session is one that is valid, and one that has ended.
    @Test(arguments: [false, true], [false, true])
    func `a session goes on only with its own user`(isOther: Bool, hasEnded: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        let bob = LocalProvider.User(name: "bob", password: "builder")
        configuration.users.append(bob)
        try await World.run(configuration) { world in
            let store = TestStore()
            let response = try await world.authorize(world.client(), as: isOther ? bob : .alice)
            let state = try await AuthState.exchange(response, store: store, environment: world.environment)
            if hasEnded {
                world.provider.revokeGrant(of: try #require(await state.record.refreshToken).reveal())
                _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            }
            let former = try #require(await store.record)
            #expect((former.end != nil) == hasEnded)
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            signIn.browser = Browser { [browser = world.browser] url in Task { try await browser.visit(url) } }
            let error = await authError { [signIn] in _ = try await signIn.run(continuing: state, store: store) }
            #expect(error?.code == (isOther ? .sessionReplaced : nil), "\(error as Any)")
            #expect(world.provider.log(.authorization).last?.query["login_hint"] == (isOther ? "bob" : "alice"))
            #expect(await (store.record == former) == isOther)
            // What another user got is nobody's to revoke, and the former session is not over.
            #expect(world.provider.count(.revocation) == 0)
            try await store.update(TokenStoreCall()) { $0 = nil }
            let gone = await authError { [signIn] in _ = try await signIn.run(continuing: state, store: store) }
            #expect(gone?.code == .sessionReplaced)
        }
    }

    @Test func `without a word the library's page names the app`() async throws {
        try await World.run { world in
            let visit = try await visit(world) { _ in }
            #expect(visit.error == nil)
            #expect(visit.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/callback/) != nil)
            #expect(visit.page.contains("Signed in – Harbour") && visit.page.contains("--good:#1a7f45"))
        }
    }

    @Test func `the app's pages are shown, by the true outcome`() async throws {
        var pages = CompletionPages(appName: "Harbour")
        pages.light.success = 0x00_488A
        pages.signedIn.texts[0].heading = "Welcome aboard"
        pages.failed.texts[0].heading = "No berth"
        try await World.run { [pages] world in
            let visit = try await visit(world) { $0.pages = pages }
            #expect(visit.error == nil)
            #expect(visit.page.contains("<h1>Welcome aboard</h1>") && visit.page.contains("--good:#00488a"))
        }
        try await World.run { [pages] world in
            world.provider.fault(.editIDToken { $0.claims["nonce"] = "other" }, at: .token)
            let visit = try await visit(world) { $0.pages = pages }
            let message = try #require(visit.error?.message)
            #expect(visit.page.contains("<h1>No berth</h1>"))
            #expect(visit.page.contains("class=\"reason\"") && !message.isEmpty)
        }
    }

    @Test func `a sign-in that the user does not finish ends in time, and its port is free again`() async throws {
        try await World.run { world in
            var signIn = try SignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                environment: world.environment)
            #expect(signIn.timeout == .seconds(300))
            signIn.timeout = .milliseconds(100)
            signIn.browser = nil
            let shown = LockedValue("")
            signIn.observe = { if case .authorization(let url) = $0 { shown.withLock { $0 = url } } }
            let store = MemoryTokenStore()
            let error = await authError { [signIn] in _ = try await signIn.run(store: store) }
            #expect(error?.code == .timeout && error?.stage == .redirect)
            #expect(error?.message == "the browser did not come back in time")
            let query = FormParameters(decoding: shown.withLock { $0 }.drop { $0 != "?" }.dropFirst())
            let redirect = try SecureURL(#require(query?.values("redirect_uri").first))
            let again = try LoopbackRedirectListener(ports: [#require(redirect.port)])
            again.close()
            #expect(try await store.load() == nil)
        }
    }

    /// The provider shows its error only on its page, for example if it does not know the client.
    @Test func `printURL says what to compare if the browser does not come back, once`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await World.run { world in
                var signIn = try SignIn(
                    issuer: Issuer(world.provider.issuer), clientID: "wrong", appName: "Harbour",
                    environment: world.environment)
                signIn.scope = [.openID, "https://api.example/read"]
                signIn.timeout = .milliseconds(500)
                signIn.browser = Browser { _ in }
                signIn.observe = SignIn.printURL
                let error = await authError { [signIn] in _ = try await signIn.run(store: MemoryTokenStore()) }
                try #require(error?.code == .timeout)
            }
        }
        let lines = String(decoding: try #require(result).standardErrorContent, as: UTF8.self).split(separator: "\n")
        #expect(lines.count { $0.contains("compare this with what is registered") } == 1, "\(lines)")
        #expect(lines.contains("  client ID: wrong"), "\(lines)")
        #expect(lines.contains { $0.contains(/^  redirect URI: http:\/\/127\.0\.0\.1:\d+\/callback$/) }, "\(lines)")
        #expect(lines.contains("  scope: 'openid https://api.example/read'"), "\(lines)")
    }

    @Test func `printURL says why no browser opens, and that any browser will do`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try await World.run { world in
                var signIn = try SignIn(
                    issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Harbour",
                    environment: world.environment)
                signIn.timeout = .milliseconds(100)
                signIn.browser = Browser(candidates: ["/nothing/here"])
                signIn.observe = SignIn.printURL
                let error = await authError { [signIn] in _ = try await signIn.run(store: MemoryTokenStore()) }
                try #require(error?.code == .timeout)
            }
        }
        let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(
            text.contains("No browser could be started: tried /nothing/here (No such file or directory)."), "\(text)")
        #expect(text.contains("any browser on this computer"), "\(text)")
    }

    @Test func `a form post to a random path on both addresses signs in`() async throws {
        try await World.run { world in
            let visit = try await visit(world) {
                $0.redirect.addsRandomComponent = true
                $0.redirect.host = .both
                $0.options.responseMode = .formPost
            }
            #expect(visit.error == nil)
            #expect(visit.page.contains("You are signed in"))
            #expect(visit.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/callback\/[\w-]{22}/) != nil)
            #expect(world.provider.log(.authorization).first?.query["response_mode"] == "form_post")
        }
    }
}
