import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The provider's logout messages to the clients of a session that is over.
@Suite struct ProviderLogoutTests {
    /// A provider whose demo client listens at another server.
    private func run(_ test: (LocalProvider, LocalProvider) async throws -> Void) async throws {
        try await withLocalProvider { app in
            try await withLocalProvider(
                .demo {
                    $0.clients[0].backchannelLogoutURI = app.issuer + "/back?tenant=1"
                    $0.clients[0].frontchannelLogoutURI = app.issuer + "/front?tenant=1"
                }
            ) { provider in try await test(provider, app) }
        }
    }

    private func end(_ provider: LocalProvider, in browser: TestBrowser) async throws -> String? {
        _ = try await browser.open(
            provider.url(.endSession).appendingQuery([
                ("client_id", "demo"), ("post_logout_redirect_uri", Flow.redirectURI), ("state", "s"),
            ]))
        return try await browser.submit("sign-out")
    }

    @Test func `a logout token goes to the client, and frames are on the page`() async throws {
        try await run { provider, app in
            let (browser, flow) = (TestBrowser(), Flow(provider: provider))
            let code = try #require(try await flow.authorize(in: browser)["code"])
            let idToken = try await verifiedClaims(flow.exchange(code).json?["id_token"]?.string, provider)
            let sid = try #require(idToken["sid"]?.string)
            #expect(try await end(provider, in: browser) == nil)
            try await app.requests(1, at: .none)
            let posted = try #require(app.log(.none).first)
            #expect(posted.method == .post && posted.path == "/back" && posted.query["tenant"] == "1")
            let token = try #require(posted.form["logout_token"])
            #expect(try JWS(compact: token).header.typ == "logout+jwt")
            let claims = try await verifiedClaims(token, provider)
            #expect(claims["sid"]?.string == sid && claims["sub"] == idToken["sub"] && claims["aud"] == "demo")
            #expect(claims["events"] == ["http://schemas.openid.net/event/backchannel-logout": [:]])
            #expect(claims["jti"]?.string?.isEmpty == false && claims["nonce"] == nil)
            let page = try #require(browser.page)
            #expect(page.text.contains("\(app.issuer)/front?tenant=1&amp;iss=") && page.text.contains("sid=\(sid)"))
            #expect(page.header("Content-Security-Policy")?.contains("frame-src \(app.issuer)") == true)
            #expect(page.text.contains("\(Flow.redirectURI)?state=s"))
        }
    }

    @Test func `clients of other sessions hear nothing`() async throws {
        try await run { provider, app in
            let (first, second) = (TestBrowser(), TestBrowser())
            let flow = Flow(provider: provider)
            let code = try #require(try await flow.authorize(in: first)["code"])
            _ = try await flow.exchange(code)
            // Signs in, and lets no client in.
            _ = try await second.open(flow.authorizationURL())
            _ = try await second.signIn()
            #expect(try await end(provider, in: second)?.hasPrefix(Flow.redirectURI) == true)
            _ = try await end(provider, in: first)
            try await app.requests(1, at: .none)
            #expect(app.count(.none) == 1)
        }
    }

    @Test func `both locations can be registered, and the metadata says that they are used`() async throws {
        try await withLocalProvider { provider in
            let registration = try await Applicant(provider: provider).registered([
                "backchannel_logout_uri": "http://127.0.0.1:9/back",
                "frontchannel_logout_uri": "https://app.example/front",
            ])
            #expect(registration["backchannel_logout_uri"] == "http://127.0.0.1:9/back")
            #expect(registration["frontchannel_logout_uri"] == "https://app.example/front")
            let code = try await Applicant(provider: provider).refusal(["backchannel_logout_uri": "http://app.example/"]
            )
            #expect(code == "invalid_client_metadata")
            let metadata = try await Wire.send("GET", provider.url(.openIDConfiguration)).json
            #expect(metadata?["backchannel_logout_session_supported"] == true)
            #expect(metadata?["frontchannel_logout_supported"] == true)
        }
    }
}
