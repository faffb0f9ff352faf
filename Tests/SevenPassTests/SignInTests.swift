import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import SevenPass
import Testing

/// Sign-in, lifetimes and logout.
@Suite(.timeLimit(.minutes(1))) struct SignInTests {
    @Test func `a user signs in with PKCE, consent and custom parameters`() async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.configuration
            configuration.parameters = [.init("utm_campaign", "a23_45"), .init("fbapp_pres", "0")]
            let state = try await fixture.signIn(configuration)
            let claims = try #require(await state.record.idToken?.claims)
            #expect(claims.subject == "7p-248289761001" && claims.email == "alice@example.com")
            #expect(claims["given_name"] == "Alice" && claims["family_name"] == "Liddell")
            #expect(await state.record.hasRefreshToken)
            let query = try #require(fixture.double.log(.authorization).first?.query)
            let expected = [
                "response_type": "code", "scope": "openid profile email offline_access", "prompt": "consent",
                "code_challenge_method": "S256", "utm_campaign": "a23_45", "fbapp_pres": "0",
            ]
            for (name, value) in expected { #expect(query[name] == value, "\(name)") }
            #expect(query["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
            // RFC 7636 §4.6: the challenge is the digest of the verifier.
            let verifier = try #require(fixture.double.log(.token).first?.form["code_verifier"])
            let challenge = Base64URL.encode(Digest.sha256.hash(Array(verifier.utf8)))
            #expect(query["code_challenge"] == challenge && verifier.utf8.count >= 43)
        }
    }

    @Test func `everything but the issuer comes from the issuer's discovery document`() async throws {
        try await withSevenPass { fixture in
            let state = try await fixture.signIn()
            let first = try #require(fixture.double.log.first)
            #expect(first.endpoint == .openIDConfiguration && first.path == "/.well-known/openid-configuration")
            let document = try await Discovery(environment: fixture.environment).metadata(for: fixture.issuer)
            #expect(document.issuer == fixture.issuer)
            let known = await state.record.client.provider
            for endpoint in ["authorization", "token", "revocation", "end_session", "userinfo"] {
                let url = try #require(document.document["\(endpoint)_endpoint"]?.string)
                #expect(
                    url.hasPrefix(fixture.double.issuer + "/") && known.document["\(endpoint)_endpoint"]?.string == url)
            }
        }
    }

    /// The code of the article SevenPassStepByStep.
    @Test func `a sign-in step by step: discovery, request, browser, response and exchange`() async throws {
        try await withSevenPass { fixture in
            let (environment, store) = (fixture.environment, MemoryTokenStore())
            let metadata = try await Discovery(environment: environment).metadata(for: fixture.issuer)
            let client = Client(id: fixture.configuration.clientID, provider: metadata)
            let state = try await fixture.withAlice { browser in
                let listener = try LoopbackRedirectListener()
                defer { listener.close() }
                var options = AuthorizationRequest.Options()
                options.prompt = [.consent]
                let request = try await AuthorizationRequest(
                    client: client, redirectURI: listener.redirectURI,
                    scope: [.openID, .profile, .email, .offlineAccess], options: options
                ).prepared(in: environment)
                let url = listener.oneTimeURL(redirectingTo: request.url)
                // An argument list shows nothing of the request.
                #expect(url.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/open\/[\w-]{22}/) != nil, "\(url)")
                try await browser.open(url)
                let response = try await listener.response(to: request)
                #expect(fixture.double.count(.token) == 0)
                let state = try await AuthState.exchange(response, store: store, environment: environment)
                await listener.finish(with: .signedIn(appName: "Tests"))
                return state
            }
            let form = try #require(fixture.double.log(.token).first?.form)
            #expect(form["grant_type"] == "authorization_code" && form["code"] != nil && form["code_verifier"] != nil)
            #expect(form["redirect_uri"] == fixture.double.log(.authorization).first?.query["redirect_uri"])
            #expect(await state.claims?.subject == "7p-248289761001")
            let stored = try #require(await store.load())
            #expect(stored.hasRefreshToken && stored.idToken != nil)
            #expect(try await state.freshAccessToken().value == stored.accessToken?.value)
        }
    }

    @Test func `without offline_access there is no consent to ask for, and no refresh token`() async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.configuration
            configuration.scope = [.openID]
            let state = try await fixture.signIn(configuration)
            #expect(await !state.record.hasRefreshToken)
            #expect(fixture.double.log(.authorization).first?.query["prompt"] == nil)
        }
    }

    @Test func `without prompt=consent, the session's own error names that, and not the scope that was requested`()
        async throws
    {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let state = try await fixture.signIn(store: store) { $0.options.prompt = [.login] }
            let record = try AuthStateRecord(decoding: #require(await store.load()).encoded(), from: "a test")
            // In this process, and in the next one.
            for state in [state, try await AuthState(record: record, store: store, environment: fixture.environment)] {
                let error = await #expect(throws: AuthError.self) {
                    try await state.freshAccessToken(forceRefresh: true)
                }
                #expect(error?.code == .noRefreshToken && error?.message.contains("prompt=consent") == true)
                #expect(error?.message.contains("offline_access") == false, "\(error?.message ?? "")")
            }
        }
    }

    @Test func `no token is in what a session or a token prints`() async throws {
        try await withSevenPass { fixture in
            let state = try await fixture.signIn()
            let (record, token) = (await state.record, try await state.freshAccessToken())
            let secrets = [
                token.value, try #require(record.refreshToken), try #require(record.idToken).rawValue,
            ].map { $0.reveal() }
            for value: Any in [token, record, state, record.additionalParameters, await state.claims as Any] {
                var text = String(describing: value) + String(reflecting: value)
                dump(value, to: &text)
                for secret in secrets { #expect(!text.contains(secret), "\(type(of: value))") }
            }
        }
    }

    @Test func `an older registration sends its secret in the token request`() async throws {
        try await withSevenPass { fixture in
            let state = try await fixture.signIn(fixture.olderConfiguration)
            _ = try await state.freshAccessToken(forceRefresh: true)
            for request in fixture.double.log(.token) {
                #expect(
                    request.headers[.authorization]?.hasPrefix("Basic ") == true && request.form["client_id"] == nil)
            }
            _ = try await fixture.signIn(fixture.olderConfiguration) { signIn in
                signIn.authentication = signIn.clientSecret.map(ClientAuthentication.clientSecretPost)
            }
            let posted = try #require(fixture.double.log(.token).last?.form)
            #expect(posted["client_id"] == "seven-pass-legacy" && posted["client_secret"] == "legacy-secret")
            var wrong = fixture.olderConfiguration
            wrong.clientSecret = Secret("another-secret")
            await #expect(throws: AuthError.self) { try await fixture.signIn(wrong) }
        }
    }

    @Test func `a newer registration is a public client`() async throws {
        try await withSevenPass { fixture in
            _ = try await fixture.signIn()
            let request = try #require(fixture.double.log(.token).first)
            #expect(request.headers[.authorization] == nil && request.form["client_secret"] == nil)
            #expect(request.form["client_id"] == "seven-pass-app")
        }
    }

    @Test func `an access token is valid for two hours, and then refreshed`() async throws {
        try await withSevenPass { fixture in
            let state = try await fixture.signIn()
            let first = try await state.freshAccessToken()
            #expect(first.lifetime == .seconds(7200))
            fixture.double.advance(7100)
            #expect(try await state.freshAccessToken() == first)
            fixture.double.advance(100)
            #expect(try await state.freshAccessToken() != first)
        }
    }

    @Test func `a refresh token is valid for 90 days from its last use`() async throws {
        try await withSevenPass { fixture in
            let state = try await fixture.signIn()
            for _ in 0..<3 {
                fixture.double.advance(89 * 86_400)
                _ = try await state.freshAccessToken()
            }
            fixture.double.advance(91 * 86_400)
            let error = await #expect(throws: AuthError.self) { try await state.freshAccessToken() }
            #expect(error?.code == .signInRequired)
        }
    }

    @Test(arguments: [false, true])
    func `a sign-out of an older registration authenticates as its sign-in did`(isInForm: Bool) async throws {
        try await withSevenPass { fixture in
            let report = try await fixture.withAlice { browser in
                var signIn = SignIn(fixture.olderConfiguration, appName: "Tests", environment: fixture.environment)
                signIn.browser = browser
                if isInForm {
                    signIn.authentication = signIn.clientSecret.map(ClientAuthentication.clientSecretPost)
                }
                let state = try await signIn.run(store: MemoryTokenStore())
                var signOut = SignOut(appName: "Tests")
                signOut.browser = browser
                return try await signOut.run(state)
            }
            #expect(report.revocations.allSatisfy { $0.error == nil })
            let revocations = fixture.double.log(.revocation)
            #expect(revocations.map(\.status) == [200, 200])
            for revocation in revocations {
                // RFC 7009 §2.1: HTTP Basic has the client's ID.
                #expect(revocation.form["client_id"] == (isInForm ? "seven-pass-legacy" : nil))
                #expect(revocation.form["client_secret"] == (isInForm ? "legacy-secret" : nil))
                #expect((revocation.headers[.authorization] == nil) == isInForm)
            }
        }
    }

    @Test(arguments: [false, true])
    func `logout revokes both tokens, ends the session in the browser, and leaves nothing`(isOlder: Bool) async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let report = try await fixture.withAlice { browser in
                let configuration = isOlder ? fixture.olderConfiguration : fixture.configuration
                var signIn = SignIn(configuration, appName: "Tests", environment: fixture.environment)
                signIn.browser = browser
                let state = try await signIn.run(store: store)
                var signOut = SignOut(appName: "Tests")
                signOut.browser = browser
                return try await signOut.run(state)
            }
            #expect(report.sessionEnded && report.revocations.allSatisfy { $0.error == nil })
            let order = fixture.double.log.map(\.endpoint).filter { [.revocation, .endSession].contains($0) }
            #expect(order.prefix(3) == [.revocation, .revocation, .endSession])
            let revocations = fixture.double.log(.revocation)
            #expect(revocations.map { $0.form["token_type_hint"] } == ["refresh_token", "access_token"])
            #expect(revocations.allSatisfy { $0.form["token"] != nil })
            // RFC 7009 §2.1: a client with a secret authenticates with it.
            #expect(revocations.allSatisfy { $0.form["client_id"] == (isOlder ? nil : "seven-pass-app") })
            #expect(revocations.allSatisfy { ($0.headers[.authorization] != nil) == isOlder })
            let end = try #require(fixture.double.log(.endSession).first)
            let parameters = end.form["id_token_hint"] == nil ? end.query : end.form
            #expect(parameters["id_token_hint"] != nil)
            #expect(parameters["post_logout_redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
            #expect(try await store.load() == nil)
        }
    }

    @Test func `QA is known, and production has to be named`() throws {
        let qa = SevenPassConfiguration.qa(clientID: "app")
        #expect(qa.issuer == "https://op.qa.7pass.ctf.prosiebensat1.com")
        #expect(SevenPassConfiguration.formerQAIssuer == "https://sso.qa.7pass.ctf.prosiebensat1.com")
        #expect(qa.apiBase == "https://sso.qa.7pass.ctf.prosiebensat1.com/api/accounts/")
        #expect(qa.scope.map(\.rawValue) == ["openid", "profile", "email", "offline_access"])
        #expect(qa.facebook?.appID == "734789116545825")
        #expect(
            qa.facebook?.externalCallback == "https://interaction.qa.7pass.ctf.prosiebensat1.com/externals/callback")
        let production = SevenPassConfiguration.production(issuer: "https://op.example", clientID: "app")
        #expect(production.issuer == "https://op.example" && production.apiBase == nil)
    }
}
