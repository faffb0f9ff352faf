import JOSE
import AppAuthTestProvider
import Testing

/// The page where users enter the code (RFC 8628 §3.3, §5.1, §5.4).
@Suite struct DevicePageTests {
    @Test func `the page needs no script and escapes the code from its address`() async throws {
        try await withLocalProvider { provider in
            let browser = TestBrowser()
            _ = try await browser.open(provider.url(.deviceVerification) + "?user_code=%22%3Ci%3E")
            let page = try #require(browser.page)
            #expect(page.status == 200)
            #expect(page.text.contains(#"value="&quot;&lt;i&gt;""#))
            #expect(!page.text.contains("<script"))
            #expect(page.header("Cache-Control") == "no-store")
            #expect(page.header("X-Frame-Options") == "DENY")
            #expect(page.header("Content-Security-Policy")?.contains("form-action 'self'") == true)
        }
    }

    @Test func `the address alone decides nothing, and consent shows the client, the code and the scopes`() async throws
    {
        try await withLocalProvider { provider in
            let flow = DeviceFlow(provider: provider)
            let response = try await flow.begin("openid email")
            let browser = TestBrowser()
            _ = try await browser.open(response.pageWithCode)
            #expect(browser.page?.text.contains(#"value="\#(response.userCode)""#) == true)
            _ = try await browser.submit("continue", [("user_code", response.userCode)])
            #expect(browser.page?.text.contains("to connect Demo App on another device") == true)
            _ = try await browser.signIn()
            let page = try #require(browser.page).text
            #expect(page.contains("Allow Demo App?"))
            #expect(page.contains("<code>\(response.userCode)</code>"))
            #expect(page.contains("see your email address"))
            #expect(try await flow.error(response.deviceCode) == "authorization_pending")
        }
    }

    // RFC 8628 §6.1
    @Test func `the code may be typed in lower case and without its dash`() async throws {
        try await withLocalProvider { provider in
            let flow = DeviceFlow(provider: provider)
            let code = try await flow.begin().userCode
            let plain = code.lowercased().replacing("-", with: "")
            for (typed, status) in [
                (plain, 200), (" \(code.lowercased()) ", 200), (String(plain.dropLast()), 422), (plain + "b", 422),
                ("", 422), ("aaaa-aaaa", 422),
            ] {
                let browser = TestBrowser()
                _ = try await browser.open(provider.url(.deviceVerification))
                _ = try await browser.submit("continue", [("user_code", typed)])
                #expect(browser.page?.status == status, "\(typed)")
            }
        }
    }

    // RFC 8628 §5.1
    @Test func `ten wrong codes in a minute block further ones, from all browsers`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let code = try await DeviceFlow(provider: provider).begin().userCode
            func enter(_ typed: String) async throws -> Wire.Response? {
                let browser = TestBrowser()
                _ = try await browser.open(provider.url(.deviceVerification))
                _ = try await browser.submit("continue", [("user_code", typed)])
                return browser.page
            }
            for _ in 0..<9 { #expect(try await enter("BBBB-BBBB")?.status == 422) }
            #expect(try await enter(code)?.status == 200)
            #expect(try await enter("BBBB-BBBB")?.status == 422)
            clock.advance(20)
            let refused = try await enter(code)
            #expect(refused?.status == 429)
            #expect(refused?.header("Retry-After") == "40")
            clock.advance(40)
            #expect(try await enter(code)?.status == 200)
        }
    }

    @Test func `a form without its token or from another browser is refused`() async throws {
        try await withLocalProvider { provider in
            let response = try await DeviceFlow(provider: provider).begin()
            let (browser, other) = (TestBrowser(), TestBrowser())
            _ = try await browser.open(response.pageWithCode)
            let token = try #require(browser.page?.text.firstMatch(of: /name="csrf" value="([^"]+)"/)?.1)
            let form = [("user_code", response.userCode), ("action", "deny")]
            _ = try await browser.submit(to: response.page, form)
            #expect(browser.page?.status == 403)
            _ = try await other.open(response.page)
            _ = try await other.submit(to: response.page, form + [("csrf", String(token))])
            #expect(other.page?.status == 403)
            _ = try await browser.submit(to: response.page, form + [("csrf", String(token))])
            #expect(browser.page?.status == 200)
        }
    }

    @Test func `a wrong password is reported, and the page requires a sign-in`() async throws {
        try await withLocalProvider { provider in
            let flow = DeviceFlow(provider: provider)
            let response = try await flow.begin()
            let browser = TestBrowser()
            _ = try await browser.open(response.pageWithCode)
            _ = try await browser.submit("continue", [("user_code", response.userCode)])
            _ = try await browser.submit("allow")
            #expect(browser.page?.text.contains("type=\"password\"") == true)
            _ = try await browser.signIn("alice", "wrong")
            #expect(browser.page?.status == 422)
            #expect(browser.page?.text.contains("do not belong together") == true)
            #expect(try await flow.error(response.deviceCode) == "authorization_pending")
        }
    }

    @Test func `signing in changes the cookie, and a signed-in user is only asked for consent`() async throws {
        try await withLocalProvider { provider in
            let flow = DeviceFlow(provider: provider)
            let (browser, thief) = (TestBrowser(), TestBrowser())
            _ = try await browser.open(provider.url(.deviceVerification))
            thief.steal(from: browser)
            try await flow.decide("allow", flow.begin(), in: browser)
            let second = try await flow.begin()
            _ = try await browser.open(second.page)
            _ = try await browser.submit("continue", [("user_code", second.userCode)])
            #expect(browser.page?.text.contains("Signed in as alice") == true)
            _ = try await thief.open(second.page)
            _ = try await thief.submit("continue", [("user_code", second.userCode)])
            #expect(thief.page?.text.contains("type=\"password\"") == true)
        }
    }

    @Test func `a decision is made once`() async throws {
        try await withLocalProvider { provider in
            let flow = DeviceFlow(provider: provider)
            let response = try await flow.begin()
            let (first, second) = (TestBrowser(), TestBrowser())
            for browser in [first, second] {
                _ = try await browser.open(response.pageWithCode)
                _ = try await browser.submit("continue", [("user_code", response.userCode)])
                _ = try await browser.signIn()
            }
            _ = try await first.submit("deny")
            #expect(first.page?.status == 200)
            _ = try await second.submit("allow")
            #expect(second.page?.status == 422)
            #expect(try await flow.error(response.deviceCode) == "access_denied")
        }
    }

    @Test(arguments: [("de-AT,de;q=0.9,en;q=0.8", "Gerät verbinden"), ("fr", "Connect a device")])
    func `the page speaks the browser's language`(languages: String, title: String) async throws {
        try await withLocalProvider { provider in
            let response = try await Wire.send(
                "GET", provider.url(.deviceVerification), [("Accept-Language", languages)])
            #expect(response.text.contains("<h1>\(title)</h1>"))
        }
    }
}
