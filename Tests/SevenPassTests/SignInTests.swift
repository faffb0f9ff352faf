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
            #expect(fixture.double.log(.token).first?.form["code_verifier"] != nil)
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
            #expect(await store.load() == nil)
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
