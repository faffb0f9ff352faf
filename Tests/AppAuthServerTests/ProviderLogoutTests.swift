import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// The provider ends a session, and the app hears of it: by a logout token (OpenID Connect Back-Channel Logout), or by the
/// browser (Front-Channel Logout).
struct ProviderLogoutTests {
    /// An app with a server part, which records every request.
    private func run(
        _ test: (World, LocalProvider, Client) async throws -> Void
    ) async throws {
        try await withLocalProvider { app in
            var configuration = LocalProvider.Configuration.demo
            configuration.clients[0].backchannelLogoutURI = app.issuer + "/backchannel-logout"
            configuration.clients[0].frontchannelLogoutURI = app.issuer + "/frontchannel-logout"
            try await World.run(configuration) { world in try await test(world, app, world.client()) }
        }
    }

    /// A session, and the requests of the provider to the browser and the app when it ends there.
    private func endedSession(
        _ world: World, _ app: LocalProvider, _ store: TestStore
    ) async throws -> (state: AuthState, form: String, page: String) {
        let browser = world.browser
        let listener = try LoopbackRedirectListener()
        defer { listener.close() }
        let request = try AuthorizationRequest(client: try await world.client(), redirectURI: listener.redirectURI)
        async let lastPage = browser.visit(request.url)
        let response = try await listener.redirect { query -> Result<AuthorizationResponse, any Error>? in
            do { return try request.response(fromQuery: query).map(Result.success) } catch { return .failure(error) }
        }
        await listener.finish(with: .signedIn(appName: "Test"))
        _ = try await lastPage
        let state = try await AuthState.exchange(response.get(), store: store, environment: world.environment)
        let end = try EndSessionRequest(
            record: await state.record, postLogoutRedirectURI: "http://127.0.0.1:9/callback")
        let page = try await browser.visit(end.url.reveal())
        try await app.requests(1, at: .none)
        let posted = try #require(app.log(.none).first)
        #expect(posted.method == .post && posted.path == "/backchannel-logout")
        return (state, String(decoding: posted.body, as: UTF8.self), page)
    }

    @Test func `a logout token ends the session that it names, and no other`() async throws {
        try await run { world, app, client in
            let store = TestStore()
            let (state, form, _) = try await endedSession(world, app, store)
            let other = try await world.signIn()
            let token = try await LogoutTokenVerifier(client: client, environment: world.environment)
                .verify(fromForm: form)
            let idToken = try #require(await state.record.idToken)
            #expect(token.sessionID == idToken.sessionID && token.subject == idToken.subject)
            #expect(try await other.end(by: token) == false)
            #expect(await other.record.end == nil)
            var changes = state.changes.makeAsyncIterator()
            #expect(try await state.end(by: token))
            guard case .ended(let end) = await changes.next() else {
                Issue.record("expected the end")
                return
            }
            #expect(end.reason == "the provider has ended it")
            #expect(await store.record == nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(try await state.end(by: token) == false)
        }
    }

    @Test func `another process's session is over too`() async throws {
        try await run { world, app, client in
            let store = TestStore()
            let (state, form, _) = try await endedSession(world, app, store)
            let listening = try #require(try await AuthState(restoring: store, environment: world.environment))
            let token = try await LogoutTokenVerifier(client: client, environment: world.environment)
                .verify(fromForm: form)
            #expect(try await listening.end(by: token))
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
        }
    }

    @Test func `a front-channel request ends the session too`() async throws {
        try await run { world, app, client in
            let (state, _, page) = try await endedSession(world, app, TestStore())
            let frame = try #require(page.firstMatch(of: /<iframe src="([^"]+)" hidden>/)?.1)
            let url = frame.replacing("&amp;", with: "&")
            #expect(url.hasPrefix(app.issuer + "/frontchannel-logout?"))
            let query = String(url.drop { $0 != "?" }.dropFirst())
            let logout = try FrontChannelLogout(fromQuery: query, client: client)
            #expect(try await state.end(by: logout))
            #expect(try await state.end(by: logout) == false)
        }
    }

    @Test(arguments: [
        ("sid=s", "'iss'"), ("iss=https://op.example", "'sid'"), ("iss=https://op.example&sid=", "'sid'"),
        ("iss=https://other.example&sid=s", "'iss'"), ("iss=https://op.example&sid=s&sid=s", "'sid'"),
        ("iss=%zz", "UTF-8"),
    ])
    func `a request that is wrong in one respect ends nothing`(query: String, message: String) throws {
        let client = Client(id: "a", provider: try ProviderMetadata(issuer: "https://op.example", endpoints: [:]))
        let error = refusal { try FrontChannelLogout(fromQuery: query, client: client) }
        #expect(error?.code == .invalidLogoutToken && error?.message.contains(message) == true)
        let right = try FrontChannelLogout(fromQuery: "iss=https%3A%2F%2Fop.example&sid=s&more=1", client: client)
        #expect(right.sessionID == "s" && right.issuer == "https://op.example")
    }

    private static let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"

    @Test(arguments: [
        ("https://op.example/\(tenant)", true), ("https://op.example/9188040d-6c67-4c5b-b112-36a304b66dad", false),
        ("https://op.example/common", false), ("https://op.example", false), ("https://evil.example/\(tenant)", false),
    ])
    func `with a template, a front-channel request names an accepted tenant`(issuer: String, isAccepted: Bool) throws {
        var client = Client(id: "a", provider: try ProviderMetadata(issuer: "https://op.example", endpoints: [:]))
        client.idTokenRules.issuer = .template("https://op.example/{tenantid}", tenants: [Self.tenant])
        let error = refusal { try FrontChannelLogout(fromQuery: "iss=\(issuer)&sid=s", client: client) }
        #expect((error == nil) == isAccepted && error?.message.contains("'iss'") ?? true)
    }

    /// Which ID tokens a logout token names: `iss`, `sub` and `sid` of both.
    @Test(
        arguments: [
            ("24400320", "s1", "24400320", "s1", true), ("24400320", nil, "24400320", "s1", true),
            (nil, "s1", "24400320", "s1", true), ("24400320", "s1", "24400320", "s2", false),
            ("other", "s1", "24400320", "s1", false), ("other", nil, "24400320", "s1", false),
            (nil, "s1", "24400320", nil, false), ("24400320", "s1", "24400320", nil, true),
        ] as [(String?, String?, String, String?, Bool)])
    func `sub and sid say which sessions`(
        subject: String?, sessionID: String?, tokenSubject: String, tokenSession: String?, isNamed: Bool
    ) async throws {
        try await World.run { world in
            let now = JSON.number(.init(Int(world.clock.now.timeIntervalSince1970)))
            world.provider.fault(
                .editIDToken {
                    ($0.claims["sub"], $0.claims["sid"]) = (.string(tokenSubject), tokenSession.map(JSON.string))
                }, at: .token)
            let state = try await world.signIn()
            let idToken = try #require(await state.record.idToken)
            // Signed by the provider as it signs an ID token, and made a logout token of.
            world.provider.fault(
                .editIDToken { draft in
                    draft.header["typ"] = "logout+jwt"
                    (draft.claims["nonce"], draft.claims["iat"], draft.claims["jti"]) = (nil, now, "j")
                    (draft.claims["sub"], draft.claims["sid"]) = (subject.map(JSON.string), sessionID.map(JSON.string))
                    draft.claims["events"] = ["http://schemas.openid.net/event/backchannel-logout": [:]]
                }, at: .token)
            let refresh = await state.record.refreshToken?.reveal() ?? ""
            let form = FormParameters.encode(refresh)
            var request = HTTPRequest(method: .post, url: try SecureURL(world.provider.url(.token)))
            request.headerFields[.contentType] = "application/x-www-form-urlencoded"
            let body = "grant_type=refresh_token&client_id=demo&refresh_token=\(form)"
            let response = try await world.transport.send(TransportRequest(request, body: Array(body.utf8)))
            let token = try #require(try JSON(parsing: response.body)["id_token"]?.string)
            let logout = try await LogoutTokenVerifier(client: world.client(), environment: world.environment)
                .verify(Secret(token))
            #expect(logout.names(idToken) == isNamed)
        }
    }
}
