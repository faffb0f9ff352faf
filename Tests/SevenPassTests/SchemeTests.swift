import AppAuth
import AppAuthConcurrency
import HTTPTypes
import JOSE
import Foundation
import AppAuthTestProvider
import ScriptedBrowser
import SevenPass
import TestFixtures
import Testing

/// The redirects that phones have, on a Linux desktop: a scheme of the app's own.
@Suite(.timeLimit(.minutes(1)), .serialized) struct SchemeTests {
    @Test(arguments: ["oauthtest://oauth-callback", "de.7pass.example:/cb/authz"])
    func `a redirect registered for a phone comes back by its scheme`(uri: String) async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                // The desktop's part: it starts the app again with the URL.
                let claims = try await withScriptedBrowser(
                    entries: SevenPassFixture.alice, transport: fixture.environment.transport,
                    leave: { url, _ in try? PrivateUseRedirect.deliver(url) }
                ) { browser in
                    var signIn = SignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
                    signIn.browser = browser
                    signIn.redirect.privateUse = try PrivateUseRedirect(
                        uri, appName: "Tests", arguments: [], installation: .byPackage)
                    return try await signIn.run(store: MemoryTokenStore()).record.idToken?.claims
                }
                #expect(claims?.subject == "7p-248289761001")
                #expect(fixture.double.log(.authorization).first?.query["redirect_uri"] == uri)
                #expect(fixture.double.log(.token).first?.form["redirect_uri"] == uri)
            }
        }
    }

    /// The double accepts no other redirect after a sign-out than those that are registered.
    @Test(arguments: ["oauthtest://oauth-callback", "de.7pass.example:/cb/authz"], [true, false])
    func `a sign-out after such a sign-in comes back by the same scheme`(uri: String, isChosen: Bool) async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                let report = try await withScriptedBrowser(
                    entries: SevenPassFixture.alice, transport: fixture.environment.transport,
                    leave: { url, _ in try? PrivateUseRedirect.deliver(url) }
                ) { browser in
                    let redirect = try PrivateUseRedirect(
                        uri, appName: "Tests", arguments: [], installation: .byPackage)
                    var signIn = SignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
                    (signIn.browser, signIn.redirect.privateUse) = (browser, redirect)
                    let state = try await signIn.run(store: MemoryTokenStore())
                    var signOut = SignOut(appName: "Tests")
                    signOut.browser = browser
                    // The app's package has installed an entry.
                    signOut.desktop = DesktopHandlers { _ in "tests.desktop" }
                    if isChosen { signOut.postLogoutRedirect = .privateUse(redirect) }
                    return try await signOut.run(state)
                }
                #expect(report.sessionEnded && report.endSessionError == nil)
                let sent = fixture.double.log(.endSession).map { $0.query["post_logout_redirect_uri"] }
                #expect(sent == [uri])
            }
        }
    }

    /// As after a sign-in with `.whileWaiting`: then no program handles the scheme any more.
    @Test func `a sign-out whose scheme nothing handles opens the provider's page, and does not wait`() async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                let store = MemoryTokenStore()
                let report = try await withScriptedBrowser(
                    entries: SevenPassFixture.alice, transport: fixture.environment.transport,
                    leave: { url, _ in try? PrivateUseRedirect.deliver(url) }
                ) { browser in
                    let state = try await Self.signIn(fixture, browser, store)
                    var signOut = SignOut(appName: "Tests")
                    (signOut.browser, signOut.desktop) = (browser, DesktopHandlers { _ in "" })
                    return try await signOut.run(state)
                }
                #expect(report.endSessionError?.code == .unavailable && !report.sessionEnded)
                #expect(report.endSessionError?.message.contains("scheme oauthtest") == true)
                try await fixture.expectSignedOutWithoutRedirect(store)
            }
        }
    }

    @Test func `a sign-out whose redirect cannot be received opens the provider's page all the same`() async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                let store = MemoryTokenStore()
                let report = try await withScriptedBrowser(
                    entries: SevenPassFixture.alice, transport: fixture.environment.transport,
                    leave: { url, _ in try? PrivateUseRedirect.deliver(url) }
                ) { browser in
                    let state = try await Self.signIn(fixture, browser, store)
                    unsetenv("XDG_RUNTIME_DIR")
                    var signOut = SignOut(appName: "Tests")
                    (signOut.browser, signOut.postLogoutRedirect) = (browser, .privateUse(try Self.redirect()))
                    return try await signOut.run(state)
                }
                #expect(report.endSessionError?.code == .listener && !report.sessionEnded)
                #expect(report.endSessionError?.message.contains("XDG_RUNTIME_DIR") == true)
                try await fixture.expectSignedOutWithoutRedirect(store)
            }
        }
    }

    private static func redirect() throws -> PrivateUseRedirect {
        try PrivateUseRedirect(
            "oauthtest://oauth-callback", appName: "Tests", arguments: [], installation: .byPackage)
    }

    private static func signIn(
        _ fixture: SevenPassFixture, _ browser: Browser, _ store: any TokenStore
    ) async throws -> AuthState {
        var signIn = SignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
        (signIn.browser, signIn.redirect.privateUse) = (browser, try redirect())
        return try await signIn.run(store: store)
    }

    @Test func `Facebook's scheme is not a redirect of the sign-in`() async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                var facebook = try FacebookSignIn(
                    fixture.configuration, appName: "Tests", environment: fixture.environment)
                facebook.signIn.browser = nil
                let redirect = try fixture.configuration.facebook?.redirect(
                    appName: "Tests", arguments: [], installation: .byPackage)
                (facebook.redirect, facebook.signIn.redirect.privateUse) = (redirect, redirect)
                let error = await #expect(throws: AuthError.self) {
                    try await facebook.run(store: MemoryTokenStore())
                }
                #expect(error?.code == .invalidConfiguration && error?.message.contains("Facebook’s") == true)
                // Nor without Facebook: no provider redirects to a whole scheme.
                facebook.redirect = nil
                let whole = await #expect(throws: AuthError.self) {
                    try await facebook.run(store: MemoryTokenStore())
                }
                #expect(whole?.code == .invalidConfiguration && whole?.message.contains("the whole scheme") == true)
                #expect(fixture.double.count(.authorization) == 0)
            }
        }
    }

    @Test func `the double refuses a redirect that is not registered, and its page says so`() async throws {
        try await withSevenPass { fixture in
            let error = await authError {
                _ = try await fixture.withAlice { browser in
                    var signIn = SignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
                    signIn.browser = browser
                    let state = try await signIn.run(store: MemoryTokenStore())
                    var signOut = SignOut(appName: "Tests")
                    signOut.browser = browser
                    signOut.postLogoutRedirect = .uri("http://127.0.0.1/signed-out")
                    return try await signOut.run(state)
                }
            }
            #expect(error?.message.contains("has not registered this post_logout_redirect_uri") == true)
            #expect(fixture.double.log(.endSession).map(\.status) == [400])
        }
    }

    /// RP-Initiated Logout §3: the listener could only send another one.
    @Test(arguments: ["http://127.0.0.1:8400", "http://127.0.0.1/bye?x=1"])
    func `a post-logout redirect URI without a path, or with a query, is refused`(uri: String) async throws {
        try await withSevenPass { fixture in
            let (state, _) = try await fixture.session()
            var signOut = SignOut(appName: "Tests")
            signOut.browser = nil
            signOut.postLogoutRedirect = .uri(uri)
            let report = try await signOut.run(state)
            #expect(report.endSessionError?.code == .invalidConfiguration)
            #expect(report.endSessionError?.message.contains("with a path, found '\(uri)'") == true)
        }
    }

    @Test func `Facebook's response comes by its scheme, with its fragment, beside the redirect`() async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                let store = MemoryTokenStore()
                let steps = LockedValue<[FacebookDelivery.Step]>([])
                let claims = try await withScriptedBrowser(
                    entries: ["provider": "facebook"], transport: fixture.environment.transport,
                    leave: { [base = fixture.double.facebookURL] url, open in
                        guard !url.hasPrefix("fbauth2:") else {
                            // The user first declines in Facebook's app, and then agrees.
                            try? PrivateUseRedirect.deliver("fb734789116545825://authorize#error=access_denied")
                            return open(base + "/facebook/app" + url.drop { $0 != "?" })
                        }
                        try? PrivateUseRedirect.deliver(url)
                    }
                ) { browser in
                    var facebook = try FacebookSignIn(
                        fixture.configuration, appName: "Tests", environment: fixture.environment)
                    facebook.desktop = DesktopHandlers { _ in "com.facebook.desktop" }
                    facebook.redirect = try fixture.configuration.facebook?.redirect(
                        appName: "Tests", arguments: [], installation: .byPackage)
                    facebook.signIn.browser = browser
                    facebook.signIn.redirect.privateUse = try PrivateUseRedirect(
                        "oauthtest://oauth-callback", appName: "Tests", arguments: [], installation: .byPackage)
                    facebook.observe = { step in steps.withLock { $0.append(step) } }
                    let state = try await facebook.restoreOrSignIn(store: store)
                    // The second start does not sign in again.
                    return try await (state.claims, facebook.restoreOrSignIn(store: store).claims)
                }
                #expect(claims.0?.email == "alice@example.com" && claims.0 == claims.1)
                #expect(fixture.double.count(.authorization) == 1)
                #expect(fixture.double.log(.externalCallback).map { $0.query["fbapp_type"] } == ["native"])
                let kinds = steps.withLock { $0.map { if case .open = $0 { "open" } else { "refused" } } }
                #expect(kinds == ["refused", "open"])
            }
        }
    }

    @Test func `without a way for Facebook's responses, 7Pass offers no Facebook`() async throws {
        try await withSevenPass { fixture in
            // The scripted browser chooses Facebook where it is offered, and else the password.
            let entries = SevenPassFixture.alice.merging(["provider": "facebook"]) { $1 }
            let state = try await withScriptedBrowser(entries: entries, transport: fixture.environment.transport) {
                browser in
                var facebook = try FacebookSignIn(
                    fixture.configuration, appName: "Tests", environment: fixture.environment)
                facebook.signIn.browser = browser
                return try await facebook.run(store: MemoryTokenStore())
            }
            #expect(await state.claims?.email == "alice@example.com")
            #expect(fixture.double.log(.authorization).first?.query["fbapp_pres"] == nil)
            #expect(fixture.double.count(.facebookApp) == 0 && fixture.double.count(.facebookDialog) == 0)
        }
    }

    /// Where the waiting process has its socket.
    private func withRuntimeFolder(_ body: () async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "seven-pass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let former = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
        setenv("XDG_RUNTIME_DIR", folder.path, 1)
        defer {
            if let former { setenv("XDG_RUNTIME_DIR", former, 1) } else { unsetenv("XDG_RUNTIME_DIR") }
            try? FileManager.default.removeItem(at: folder)
        }
        try await body()
    }
}

extension SevenPassFixture {
    /// Expects that nothing is stored, both tokens are revoked, and the browser was at the end-session endpoint.
    fileprivate func expectSignedOutWithoutRedirect(_ store: MemoryTokenStore) async throws {
        #expect(try await store.load() == nil)
        #expect(double.count(.revocation) == 2)
        // The browser is still on its way when the sign-out returns.
        try await double.requests(1, at: .endSession)
        let request = try #require(double.log(.endSession).first)
        #expect(request.query["id_token_hint"] != nil && request.query["post_logout_redirect_uri"] == nil)
    }
}
