import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import SevenPass
import TestFixtures
import Testing

/// The sign-in through Facebook, with its app and without.
@Suite(.timeLimit(.minutes(1))) struct FacebookTests {
    private static let scheme = "fb734789116545825"

    @Test(
        arguments: [
            ("?code=a%26b&state=s", "code=a%26b&state=s&fbapp_type=web"),
            ("?code=a&state=s#_=_", "code=a&state=s&fbapp_type=web"),
            ("#code=a&state=s", "code=a&state=s&fbapp_type=native"),
            ("?x=y#state=s+t&granted_scopes=email&code=a", "code=a&state=s+t&fbapp_type=native"),
        ])
    func `code and state of query or fragment go to the external callback`(response: String, query: String) throws {
        var deliver = try FacebookDelivery(.qa)
        let callback = "https://interaction.qa.7pass.ctf.prosiebensat1.com/externals/callback"
        #expect(deliver.take("\(Self.scheme)://authorize" + response) == .open("\(callback)?\(query)"))
        #expect(deliver.take("\(Self.scheme)://authorize" + response) == .ignored(reason: "it was delivered before"))
        let next = deliver.take("\(Self.scheme.uppercased())://authorize?code=b&state=another")
        #expect(next == .open("\(callback)?code=b&state=another&fbapp_type=web"))
    }

    /// Facebook's "URL scheme suffix": several apps share an app id.
    @Test(arguments: ["", "free", "-x"])
    func `a suffix of the scheme is that of the redirect, and its URLs count`(suffix: String) throws {
        var facebook = SevenPassConfiguration.Facebook.qa
        facebook.schemeSuffix = suffix
        let scheme = Self.scheme + suffix
        #expect(try facebook.redirect(appName: "Tests", arguments: []).redirectURI.hasPrefix("\(scheme):"))
        // Any suffix counts, whichever is configured.
        for scheme in [scheme, scheme.uppercased(), Self.scheme + "paid", Self.scheme] {
            var deliver = try FacebookDelivery(facebook)
            guard case .open = deliver.take("\(scheme)://authorize?code=a&state=s") else {
                Issue.record("expected a callback")
                continue
            }
        }
    }

    @Test(arguments: [
        ("https://a.example/?code=SECRET&state=s", "expected the scheme fb734789116545825, found https"),
        ("fb1://authorize?code=SECRET&state=s", "expected the scheme fb734789116545825, found fb1"),
        // More digits: the id of another app.
        ("fb7347891165458259://authorize?code=SECRET&state=s", "found fb7347891165458259"),
        ("fb", "expected the scheme fb734789116545825, found none"), ("", "found none"),
        ("fb734789116545825://authorize?code=\(String(repeating: "x", count: 16 << 10))", "at most 16 KiB"),
    ])
    func `a URL that is not Facebook's is dropped, with the reason`(url: String, reason: String) throws {
        var deliver = try FacebookDelivery(.qa)
        guard case .ignored(let found) = deliver.take(url) else {
            Issue.record("expected it to be ignored")
            return
        }
        #expect(found.contains(reason) && !found.contains("SECRET"), "\(found)")
    }

    @Test func `a URL that is dropped is logged, with the reason and without the code`() async throws {
        try await withSevenPass { fixture in
            let recorder = LogCapture()
            let (responses, response) = AsyncStream.makeStream(of: String.self)
            for url in ["fb1://authorize?code=SECRET&state=s", "\(Self.scheme)://authorize?state=SECRET"] {
                response.yield(url)
            }
            _ = try await fixture.withAlice { browser in
                var environment = fixture.environment
                environment.logger = recorder.logger
                var facebook = try FacebookSignIn(fixture.configuration, appName: "Tests", environment: environment)
                facebook.desktop = DesktopHandlers { _ in nil }
                let (drops, drop) = AsyncStream.makeStream(of: Void.self)
                facebook.observe = { _ in drop.yield() }
                facebook.signIn.browser = Browser { url in
                    // Only when both URLs were seen.
                    for await _ in drops.prefix(2) {}
                    try await browser.open(url)
                }
                return try await facebook.run(store: MemoryTokenStore(), responses: responses)
            }
            let text = recorder.lines.joined(separator: "\n")
            #expect(text.contains("dropped") && text.contains("expected the scheme fb734789116545825, found fb1"))
            #expect(text.contains("expected a code and a state") && !text.contains("SECRET"), "\(text)")
        }
    }

    @Test(
        arguments: [
            ("?code=a", "invalid_redirect"), ("#state=s", "invalid_redirect"), ("?code=&state=s", "invalid_redirect"),
            ("?code=a&code=b&state=s", "invalid_redirect"), ("?code=a&state=s#code=b&state=s", "invalid_redirect"),
            ("?code=%&state=s", "invalid_redirect"), ("", "invalid_redirect"),
            ("?error=access_denied&error_description=No", "access_denied"), ("#error=access_denied", "access_denied"),
        ])
    func `a wrong response is refused, and the right one still works`(response: String, code: String) throws {
        var deliver = try FacebookDelivery(.qa)
        guard case .refused(let error) = deliver.take("\(Self.scheme)://authorize" + response) else {
            Issue.record("expected a refusal")
            return
        }
        #expect(error.code.rawValue == code)
        guard case .open = deliver.take("\(Self.scheme)://authorize?code=a&state=s") else {
            Issue.record("expected a callback")
            return
        }
    }

    @Test(arguments: [("", "https://a.example/"), ("12x", "https://a.example/"), ("12", "http://a.example/")])
    func `an app id of digits and an https callback are needed`(appID: String, callback: String) {
        #expect(throws: AuthError.self) {
            try FacebookDelivery(.init(appID: appID, externalCallback: callback))
        }
    }

    @Test(arguments: [false, true])
    func `the sign-in goes through Facebook to its normal redirect`(hasApp: Bool) async throws {
        try await withSevenPass { fixture in
            let (steps, asked) = (LockedValue<[FacebookDelivery.Step]>([]), LockedValue<[String]>([]))
            let state = try await signIn(fixture) { facebook in
                facebook.desktop = DesktopHandlers { type in
                    asked.withLock { $0.append(type) }
                    return hasApp ? "com.facebook.desktop\n" : "\n"
                }
                facebook.observe = { step in steps.withLock { $0.append(step) } }
            }
            #expect(await state.record.idToken?.claims.email == "alice@example.com")
            #expect(asked.withLock { $0 } == ["x-scheme-handler/fbauth2"])
            #expect(fixture.double.log(.authorization).first?.query["fbapp_pres"] == (hasApp ? "1" : "0"))
            #expect(fixture.double.count(hasApp ? .facebookApp : .facebookDialog) > 0)
            #expect(fixture.double.count(hasApp ? .facebookDialog : .facebookApp) == 0)
            let callback = try #require(fixture.double.log(.externalCallback).first)
            #expect(callback.query.names == ["code", "state", "fbapp_type"])
            #expect(callback.query["fbapp_type"] == (hasApp ? "native" : "web"))
            // The browser that began the sign-in has its cookie.
            #expect(callback.headers[.cookie] != nil)
            #expect(steps.withLock { $0.count } == 1)
        }
    }

    @Test func `a user who refuses at Facebook can continue with a password`() async throws {
        try await withSevenPass { fixture in
            let (responses, response) = AsyncStream.makeStream(of: String.self)
            response.yield("\(Self.scheme)://authorize?error=access_denied&error_reason=user_denied")
            let (refusals, refusal) = AsyncStream.makeStream(of: AuthError.self)
            let state = try await fixture.withAlice { browser in
                var facebook = try FacebookSignIn(
                    fixture.configuration, appName: "Tests", environment: fixture.environment)
                facebook.desktop = DesktopHandlers { _ in nil }
                facebook.signIn.browser = Browser { url in
                    // Only when the refusal has been seen.
                    for await error in refusals {
                        #expect(error.code == .accessDenied)
                        break
                    }
                    try await browser.open(url)
                }
                facebook.observe = { if case .refused(let error) = $0 { refusal.yield(error) } }
                return try await facebook.run(store: MemoryTokenStore(), responses: responses)
            }
            #expect(await state.record.idToken?.subject == "7p-248289761001")
            #expect(fixture.double.count(.externalCallback) == 0)
        }
    }

    @Test func `the app's own choice of Facebook's app counts`() async throws {
        try await withSevenPass { fixture in
            _ = try await signIn(fixture) { facebook in
                facebook.desktop = DesktopHandlers { _ in nil }
                facebook.signIn.options.additionalParameters = [.init("fbapp_pres", "1")]
            }
            #expect(fixture.double.log(.authorization).first?.query["fbapp_pres"] == "1")
        }
    }

    @Test func `a configuration without an app at Facebook is refused`() {
        let configuration = SevenPassConfiguration(issuer: "https://op.example", clientID: "app")
        #expect(throws: AuthError.self) { try FacebookSignIn(configuration, appName: "Tests") }
    }

    /// Signs Alice in through Facebook: she chooses it, and its app or its dialog says yes.
    private func signIn(
        _ fixture: SevenPassFixture, _ change: @escaping @Sendable (inout FacebookSignIn) -> Void
    ) async throws -> AuthState {
        let (responses, response) = AsyncStream.makeStream(of: String.self)
        return try await withScriptedBrowser(
            entries: ["provider": "facebook"], transport: fixture.environment.transport,
            leave: { [base = fixture.double.facebookURL] url, open in
                if url.hasPrefix("fbauth2:") {
                    open(base + "/facebook/app" + url.drop { $0 != "?" })
                } else {
                    response.yield(url)
                }
            }
        ) { browser in
            var facebook = try FacebookSignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
            facebook.signIn.browser = Browser { url in
                // Neither 7Pass's state nor Facebook's code.
                #expect(url.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/open\/[\w-]{22}/) != nil, "\(url)")
                try await browser.open(url)
            }
            change(&facebook)
            return try await facebook.run(store: MemoryTokenStore(), responses: responses)
        }
    }
}
