import JOSE
import AppAuthTestProvider
import Testing

/// OpenID Connect RP-Initiated Logout.
@Suite struct EndSessionTests {
    private let after = "http://127.0.0.1:49153/bye"

    /// A browser in which alice is signed in, and the ID token that the client got.
    private func signedIn(_ provider: LocalProvider) async throws -> (TestBrowser, idToken: String) {
        let (browser, flow) = (TestBrowser(), Flow(provider: provider))
        let code = try #require(try await flow.authorize(in: browser)["code"])
        return (browser, try #require(try await flow.exchange(code).json?["id_token"]?.string))
    }

    private func url(_ provider: LocalProvider, _ parameters: [(name: String, value: String)]) -> String {
        provider.url(.endSession).appendingQuery(parameters)
    }

    private func isSignedIn(_ browser: TestBrowser, _ provider: LocalProvider) async throws -> Bool {
        let silent = Flow(provider: provider).authorizationURL(["prompt": "none", "scope": "openid"])
        return try Flow.response(in: try await browser.open(silent))["code"] != nil
    }

    @Test func `with a hint the user is signed out at once and sent back with the state`() async throws {
        try await withLocalProvider { provider in
            let (browser, idToken) = try await signedIn(provider)
            #expect(try await isSignedIn(browser, provider))
            let location = try await browser.open(
                url(
                    provider,
                    [
                        ("id_token_hint", idToken), ("post_logout_redirect_uri", after), ("state", "a&b"),
                        ("client_id", "demo"),
                    ]))
            #expect(location == after + "?state=a%26b")
            #expect(!browser.hasCookies(for: provider.issuer))
            #expect(try await !isSignedIn(browser, provider))
        }
    }

    @Test func `the request may be posted, and without a redirect there is a page`() async throws {
        try await withLocalProvider { provider in
            let (browser, idToken) = try await signedIn(provider)
            #expect(try await browser.submit(to: provider.url(.endSession), [("id_token_hint", idToken)]) == nil)
            #expect(browser.page?.text.contains("You are signed out") == true)
            #expect(try await !isSignedIn(browser, provider))
        }
    }

    @Test func `an old hint is valid, even if its key is gone`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(
            .demo {
                $0.clock = clock.read
                $0.sessionLifetime = 1_000_000
            }
        ) { provider in
            let (browser, idToken) = try await signedIn(provider)
            clock.advance(100_000)
            try provider.rotateSigningKeys()
            try provider.withdrawOldSigningKeys()
            #expect(
                try await browser.open(
                    url(provider, [("id_token_hint", idToken), ("post_logout_redirect_uri", after)])) == after)
        }
    }

    @Test(arguments: ["sign-out", "stay"])
    func `without a hint the user is asked`(choice: String) async throws {
        try await withLocalProvider { provider in
            let (browser, _) = try await signedIn(provider)
            let parameters = [("client_id", "demo"), ("post_logout_redirect_uri", after), ("state", "x")]
            #expect(try await browser.open(url(provider, parameters)) == nil)
            #expect(browser.page?.text.contains("Do you want to sign out?") == true)
            #expect(try await isSignedIn(browser, provider))
            #expect(try await browser.open(url(provider, parameters)) == nil)
            let location = try await browser.submit(choice)
            #expect(location == (choice == "sign-out" ? after + "?state=x" : nil))
            #expect(try await isSignedIn(browser, provider) == (choice == "stay"))
        }
    }

    @Test func `the response to the question needs its token`() async throws {
        try await withLocalProvider { provider in
            let (browser, _) = try await signedIn(provider)
            #expect(try await browser.submit(to: provider.url(.endSession), [("action", "sign-out")]) == nil)
            #expect(browser.page?.text.contains("Do you want to sign out?") == true)
            #expect(try await isSignedIn(browser, provider))
        }
    }

    @Test func `another user's hint does not sign out without a question`() async throws {
        try await withLocalProvider(.demo { $0.users.append(User(name: "bob", password: "builder")) }) { provider in
            let (browser, _) = try await signedIn(provider)
            let bob = try #require(try provider.mintSession(user: "bob").idToken)
            #expect(try await browser.open(url(provider, [("id_token_hint", bob)])) == nil)
            #expect(browser.page?.text.contains("Do you want to sign out?") == true)
        }
    }

    @Test func `a wrong request gets a page and no redirect, and does not sign the user out`() async throws {
        var client = RegisteredClient.demo
        client.postLogoutRedirectURIs = ["http://127.0.0.1/bye"]
        try await withLocalProvider(.demo { $0.clients[0] = client }) { provider in
            let (browser, idToken) = try await signedIn(provider)
            let (hint, back) = (("id_token_hint", idToken), ("post_logout_redirect_uri", after))
            let foreign = ("id_token_hint", try #require(try provider.mintSession(client: "demo-confidential").idToken))
            let damaged = ("id_token_hint", idToken.dropLast(4) + "AAAA")
            let wrong: [[(name: String, value: String)]] = [
                [hint, ("post_logout_redirect_uri", "http://127.0.0.1:49153/elsewhere")],
                [hint, ("post_logout_redirect_uri", "https://evil.example/")], [back],
                [("id_token_hint", String(damaged.1)), back], [hint, hint, back],
                [hint, back, ("client_id", "nobody")],
                [foreign, back, ("client_id", "demo")], [hint, back, ("state", "1"), ("state", "2")],
            ]
            for parameters in wrong {
                #expect(try await browser.open(url(provider, parameters)) == nil)
                #expect(browser.page?.status == 400)
                #expect(try await isSignedIn(browser, provider))
            }
            #expect(try await browser.open(url(provider, [hint, back])) == after)
        }
    }

    @Test func `a user who is not signed in is redirected at once`() async throws {
        try await withLocalProvider { provider in
            let idToken = try #require(try provider.mintSession().idToken)
            let parameters = [("id_token_hint", idToken), ("post_logout_redirect_uri", after)]
            #expect(try await TestBrowser().open(url(provider, parameters)) == after)
        }
    }
}
