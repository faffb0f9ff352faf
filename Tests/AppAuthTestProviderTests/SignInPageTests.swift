import Foundation
import JOSE
import AppAuthTestProvider
import Testing

@Suite struct SignInPageTests {
    @Test func `the page shows the demo password and the login hint, and escapes the rest`() async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            #expect(
                try await browser.open(Flow(provider: provider).authorizationURL(["login_hint": #"al"<i>ce"#])) == nil)
            let page = try #require(browser.page)
            #expect(page.status == 200)
            #expect(page.text.contains("<code>alice</code> · <code>looking-glass</code>"))
            #expect(page.text.contains(#"value="al&quot;&lt;i&gt;ce""#))
            #expect(!page.text.contains("<script"))
            #expect(page.header("Cache-Control") == "no-store")
            #expect(page.header("X-Frame-Options") == "DENY")
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("form-action 'self' http://127.0.0.1:49152"))
            // The request, with its state and challenge, is not in the address.
            #expect(!browser.pageURL.contains("?"))
        }
    }

    @Test func `the demo user's name and password are filled in, and another user's are not`() async throws {
        let bob = LocalProvider.User(name: "bob", password: "builder")
        for (users, hint, name, isFilledIn) in [
            ([.alice], nil, "alice", true), ([.alice, bob], nil, "alice", true), ([.alice], "bob", "bob", false),
            ([bob], nil, "", false),
        ] as [([LocalProvider.User], String?, String, Bool)] {
            try await withLocalProvider(.demo { $0.users = users }) { provider in
                let browser = TestBrowser()
                _ = try await browser.open(Flow(provider: provider).authorizationURL(["login_hint": hint]))
                let page = try #require(browser.page?.text)
                #expect(page.contains(#"name="username" type="text" value="\#(name)""#))
                #expect(page.contains(#"value="looking-glass""#) == isFilledIn)
                _ = try await browser.signIn(name.isEmpty ? "x" : name, "wrong")
                #expect(browser.page?.text.contains(#"value="looking-glass""#) == false)
            }
        }
    }

    @Test func `a wrong password is reported, and the right one continues`() async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            _ = try await browser.open(Flow(provider: provider).authorizationURL())
            for (name, password) in [("alice", "wrong"), ("bob", "looking-glass"), ("bob", ""), ("", "")] {
                #expect(try await browser.signIn(name, password) == nil)
                #expect(browser.page?.status == 422)
                #expect(browser.page?.text.contains("do not belong together") == true)
                #expect(browser.page?.text.contains(#"value="\#(name)""#) == true)
            }
            #expect(try await browser.signIn() == nil)
            #expect(browser.page?.text.contains("see your email address") == true)
        }
    }

    @Test func `no is access_denied, on either page, and the sign-in is over`() async throws {
        try await withLocalProvider { provider in
            for signsInFirst in [false, true] {
                let browser = TestBrowser()
                _ = try await browser.open(Flow(provider: provider).authorizationURL())
                if signsInFirst { _ = try await browser.signIn() }
                let response = try Flow.response(in: try await browser.submit("deny"))
                #expect(response["error"] == "access_denied")
                #expect(response["state"] == "st&te=ü")
                #expect(response["iss"] == provider.issuer)
                #expect(try await browser.open(browser.pageURL) == nil)
                #expect(browser.page?.status == 404)
            }
        }
    }

    @Test func `a form without its token or from another browser is refused`() async throws {
        try await withLocalProvider { provider in
            let (browser, other) = (TestBrowser(), TestBrowser())
            _ = try await browser.open(Flow(provider: provider).authorizationURL())
            let url = browser.pageURL
            let form = [("username", "alice"), ("password", "looking-glass"), ("action", "sign-in")]
            _ = try await browser.submit(to: url, form)
            #expect(browser.page?.status == 403)
            _ = try await browser.submit(to: url, form + [("csrf", "AAAA")])
            #expect(browser.page?.status == 403)
            _ = try await other.open(url)
            #expect(other.page?.status == 403)
            _ = try await other.open(Flow(provider: provider).authorizationURL())
            _ = try await other.open(url)
            #expect(other.page?.status == 403)
            _ = try await browser.open(url)
            #expect(try await browser.signIn() == nil)
            #expect(browser.page?.status == 200)
        }
    }

    /// Session fixation: an attacker who planted a cookie must not be signed in with it afterwards.
    @Test func `signing in changes the cookie`() async throws {
        try await withLocalProvider { provider in
            let (browser, thief) = (TestBrowser(), TestBrowser())
            let flow = Flow(provider: provider)
            _ = try await browser.open(flow.authorizationURL())
            thief.steal(from: browser)
            _ = try await browser.signIn()
            _ = try await thief.open(browser.pageURL)
            #expect(thief.page?.status == 403)
            let response = try Flow.response(in: try await thief.open(flow.authorizationURL(["prompt": "none"])))
            #expect(response["error"] == "login_required")
        }
    }

    @Test func `the cookie is out of reach for scripts and other sites`() async throws {
        try await withLocalProvider { provider in
            let response = try await Wire.send("GET", Flow(provider: provider).authorizationURL())
            let cookie = try #require(response.header("Set-Cookie"))
            #expect(cookie.hasPrefix("local_provider_\(provider.port)="))
            #expect(cookie.contains("; HttpOnly"))
            #expect(cookie.contains("; SameSite=Lax"))
        }
    }

    @Test func `a signed-in user who has agreed is not asked again`() async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            _ = try await flow.authorize(["scope": "openid email", "prompt": nil], in: browser)
            let silent = flow.authorizationURL(["scope": "openid email", "prompt": "none"])
            #expect(try Flow.response(in: try await browser.open(silent))["code"] != nil)
            let more = flow.authorizationURL(["scope": "openid email phone", "prompt": "none"])
            #expect(try Flow.response(in: try await browser.open(more))["error"] == "consent_required")
            #expect(try await browser.open(flow.authorizationURL(["scope": "openid", "prompt": "consent"])) == nil)
            #expect(browser.page?.text.contains(#"value="allow""#) == true)
        }
    }

    @Test func `without required consent only prompt=consent asks`() async throws {
        try await withLocalProvider(.demo { $0.requiresConsent = false }) { provider in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            _ = try await browser.open(flow.authorizationURL(["prompt": nil]))
            #expect(try Flow.response(in: try await browser.signIn())["code"] != nil)
            #expect(try await browser.open(flow.authorizationURL()) == nil)
            #expect(browser.page?.text.contains(#"value="allow""#) == true)
        }
    }

    @Test func `prompt=login and max_age ask for the password again`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            _ = try await flow.authorize(["prompt": nil], in: browser)
            func asks(_ changes: KeyValuePairs<String, String?>) async throws -> Bool {
                try await browser.open(flow.authorizationURL(changes)) == nil
                    && browser.page?.text.contains("type=\"password\"") == true
            }
            #expect(try await asks(["prompt": nil, "max_age": "0"]))
            clock.advance(100)
            #expect(try await !asks(["prompt": nil]))
            #expect(try await !asks(["prompt": nil, "max_age": "100"]))
            #expect(try await asks(["prompt": nil, "max_age": "99"]))
            #expect(try await asks(["prompt": "login"]))
            // Signing in again satisfies the request and renews auth_time.
            let code = try #require(try Flow.response(in: try await browser.signIn())["code"])
            let claims = try await verifiedClaims(try await flow.exchange(code).json?["id_token"]?.string, provider)
            #expect(claims["auth_time"]?.int == Int(clock.now.timeIntervalSince1970))
        }
    }

    @Test func `select_account lets another user in`() async throws {
        let bob = User(name: "bob", password: "builder")
        try await withLocalProvider(.demo { $0.users.append(bob) }) { provider in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            _ = try await flow.authorize(["prompt": nil], in: browser)
            let url = flow.authorizationURL(["prompt": "select_account", "scope": "openid"])
            #expect(try await browser.open(url) == nil)
            #expect(browser.page?.text.contains("Continue as alice") == true)
            #expect(try Flow.response(in: try await browser.submit("continue"))["code"] != nil)
            #expect(try await browser.open(url) == nil)
            #expect(try await browser.submit("switch") == nil)
            #expect(try await browser.signIn("bob", "builder") == nil)
            let code = try #require(try Flow.response(in: try await browser.submit("allow"))["code"])
            let claims = try await verifiedClaims(try await flow.exchange(code).json?["id_token"]?.string, provider)
            #expect(claims["sub"]?.string == bob.subject)
        }
    }

    /// OpenID Connect Core §3.1.2.1, id_token_hint.
    @Test func `with an ID token hint only that user will do`() async throws {
        let bob = User(name: "bob", password: "builder")
        try await withLocalProvider(.demo { $0.users.append(bob) }) { provider in
            let flow = Flow(provider: provider)
            let alice = try provider.mintSession(user: "alice").idToken
            for (name, password, expected) in [("alice", "looking-glass", nil), ("bob", "builder", "login_required")] {
                let browser = TestBrowser()
                _ = try await browser.open(flow.authorizationURL(["id_token_hint": alice]))
                var location = try await browser.signIn(name, password)
                if location == nil { location = try await browser.submit("allow") }
                #expect(try Flow.response(in: location)["error"] == expected)
            }
            let foreign = try provider.mintSession(client: "demo-confidential").idToken
            #expect(try await flow.refusal(["id_token_hint": foreign])["error"] == "invalid_request")
        }
    }

    @Test(
        arguments: [("de", "Anmelden"), ("fr de-AT", "Anmelden"), ("fr", "Sign in"), (nil, "Sign in")]
            as [(String?, String)])
    func `the page speaks the user's language`(locales: String?, title: String) async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            _ = try await browser.open(Flow(provider: provider).authorizationURL(["ui_locales": locales]))
            #expect(browser.page?.text.contains("<h1>\(title)</h1>") == true)
        }
    }

    @Test func `a sign-in does not wait for ever, and the browser's session ends`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            _ = try await flow.authorize(["prompt": nil], in: browser)
            _ = try await browser.open(flow.authorizationURL())
            clock.advance(599)
            _ = try await browser.open(browser.pageURL)
            #expect(browser.page?.status == 200)
            clock.advance(1)
            _ = try await browser.open(browser.pageURL)
            #expect(browser.page?.status == 404)
            clock.advance(8 * 3600)
            #expect(
                try Flow.response(in: try await browser.open(flow.authorizationURL(["prompt": "none"])))["error"]
                    == "login_required")
        }
    }

    @Test func `a login form without a button signs in all the same`() async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            _ = try await browser.open(Flow(provider: provider).authorizationURL())
            let token = try #require(browser.page?.text.firstMatch(of: /name="csrf" value="([^"]+)"/)?.1)
            let form = [("csrf", String(token)), ("username", "alice"), ("password", "looking-glass")]
            _ = try await browser.submit(to: browser.pageURL, form)
            #expect(browser.page?.text.contains(#"value="allow""#) == true)
        }
    }
}
