import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import SevenPass
import Testing

/// The features of the older SDK: sign-ins without a browser, the credentials client, and a cache of tokens.
@Suite(.timeLimit(.minutes(1))) struct GrantTests {
    @Test func `login and password sign a user in, and are not stored`() async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let grants = SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
            let caller: any OldSignIn = OldCaller(grants: grants)
            let state = try await caller.signIn("alice@example.com", Secret("looking-glass"), store)
            let client = try SevenPassClient(state, fixture.olderConfiguration)
            #expect(try await client.get("me")["email"] == "alice@example.com")
            let form = try #require(fixture.double.log(.token).first?.form)
            #expect(form["grant_type"] == "password" && form["login"] == "alice@example.com")
            #expect(form["username"] == nil)
            let stored = String(decoding: try #require(await store.load()).encoded(), as: UTF8.self)
            #expect(!stored.contains("looking-glass"))
            fixture.double.advance(7200)
            #expect(try await client.get("me")["email"] != nil)
        }
    }

    @Test func `a wrong password is invalid_grant, and stores nothing`() async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let grants = SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
            let error = await #expect(throws: AuthError.self) {
                try await grants.signInWithPassword("alice@example.com", Secret("wrong-password"), store)
            }
            #expect(error?.code == .invalidGrant && error?.message.contains("wrong-password") == false)
            #expect(await store.load(TokenStoreCall()) == nil)
        }
    }

    @Test func `another service's access token signs a user in`() async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let grants = SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
            let token = Secret("facebook-access-token-of-alice")
            let state = try await grants.signIn(with: token, of: "facebook", store: store)
            #expect(try await state.userInfo().email == "alice@example.com")
            #expect(await state.record.hasRefreshToken)
            let form = try #require(fixture.double.log(.token).first?.form)
            #expect(form["grant_type"] == "social" && form["provider_name"] == "facebook")
            #expect(form["access_token"] == token.reveal())
            let stored = String(decoding: try #require(await store.load()).encoded(), as: UTF8.self)
            #expect(!stored.contains(token.reveal()))
            let error = await #expect(throws: AuthError.self) {
                try await grants.signIn(with: Secret("of-nobody"), of: "facebook", store: store)
            }
            #expect(error?.code == .invalidGrant)
        }
    }

    @Test func `a newer registration may not use these grants`() async throws {
        try await withSevenPass { fixture in
            let grants = SevenPassGrants(fixture.configuration, environment: fixture.environment)
            let error = await #expect(throws: AuthError.self) {
                try await grants.signIn(
                    with: Secret("facebook-access-token-of-alice"), of: "facebook", store: MemoryTokenStore())
            }
            #expect(error?.code == "unauthorized_client")
        }
    }

    @Test func `addresses and passwords are checked, and a registered user can sign in`() async throws {
        try await withSevenPass { fixture in
            let credentials = try await SevenPassCredentialsClient(
                fixture.credentialsConfiguration, environment: fixture.environment)
            let (address, password) = ("dinah@example.com", Secret("cheshire-9"))
            try await credentials.checkMail(address)
            try await credentials.checkPassword(password)
            let dinah = try await credentials.registration(
                email: address, password: password, givenName: "Dinah", familyName: "Cat")
            #expect(dinah.email == address && dinah.sub.hasPrefix("7p-"))
            let again = await #expect(throws: SevenPassError.self) { try await credentials.checkMail(address) }
            #expect(again?.status == 200 && again?.code == "email_taken" && again?.flags == ["email_rejected"])
            let state = try await SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
                .signInWithPassword(address, password, MemoryTokenStore())
            let claims = try #require(await state.record.idToken?.claims)
            #expect(claims.subject == dinah.sub && claims["family_name"] == "Cat")
        }
    }

    @Test func `the errors of 7Pass are distinguished, and do not contain the password`() async throws {
        try await withSevenPass { fixture in
            let credentials = try await SevenPassCredentialsClient(
                fixture.credentialsConfiguration, environment: fixture.environment)
            let mail = await #expect(throws: SevenPassError.self) { try await credentials.checkMail("no address") }
            #expect(mail?.code == "email_invalid")
            let weak = await #expect(throws: SevenPassError.self) {
                try await credentials.checkPassword(Secret("short"))
            }
            #expect(weak?.code == "password_weak")
            let both = await #expect(throws: SevenPassError.self) {
                try await credentials.registration(email: "no address", password: Secret("short"))
            }
            #expect(both?.code == "email_invalid" && both?.fields == ["email", "password"])
            fixture.double.fault(
                .status(.unprocessableContent, json: ["error": "password_weak", "value": "looking-glass"]),
                at: .registration)
            let echo = await #expect(throws: SevenPassError.self) {
                try await credentials.registration(email: "d@example.com", password: Secret("looking-glass"))
            }
            #expect(echo?.body.contains("looking-glass") == false && echo?.body.contains("[redacted]") == true)
        }
    }

    @Test(
        arguments: [
            (["error": "email_taken", "flags": ["email_rejected"]], "email_taken", [], ["email_rejected"]),
            (["errors": ["password_weak", "email_taken"], "flags": ["a", "b"]], "password_weak", [], ["a", "b"]),
            (["errors": ["email": "It is taken"], "flags": ["a": true]], "It is taken", ["email"], ["a"]),
            (["errors": "email_taken"], "email_taken", [], []),
        ] as [(JSON, String, [String], [String])])
    func `a failure inside a 200 is an error, with its flags`(
        data: JSON, code: String, fields: [String], flags: [String]
    ) async throws {
        try await withSevenPass { fixture in
            let credentials = try await SevenPassCredentialsClient(
                fixture.credentialsConfiguration, environment: fixture.environment)
            fixture.double.fault(.status(.ok, json: ["data": data]), at: .checkMail)
            let error = await #expect(throws: SevenPassError.self) { try await credentials.checkMail("d@example.com") }
            #expect(error?.status == 200 && error?.code == code)
            #expect(error?.fields == fields && error?.flags == flags)
            // Beside no failure, flags are none.
            fixture.double.fault(
                .status(.ok, json: ["data": ["error": .null, "errors": [], "flags": ["a"]]]), at: .checkMail)
            try await credentials.checkMail("d@example.com")
        }
    }

    @Test func `calls without a user are forms below api-client, with a service id and a proof`() async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.credentialsConfiguration
            try await SevenPassCredentialsClient(configuration, environment: fixture.environment)
                .checkMail("dinah@example.com")
            let request = try #require(fixture.double.log(.checkMail).last)
            #expect(request.path == "/api/client/checkMail" && request.form["email"] == "dinah@example.com")
            let serviceID = try #require(HTTPField.Name("X-Service-Id"))
            #expect(request.headers[serviceID] == "seven-pass-credentials")
            #expect(request.query["appsecret_proof"]?.wholeMatch(of: /[0-9a-f]{64}/) != nil)
            configuration.serviceID = "another-service"
            let refused = await #expect(throws: SevenPassError.self) {
                try await SevenPassCredentialsClient(configuration, environment: fixture.environment)
                    .checkMail("dinah@example.com")
            }
            #expect(refused?.code == "invalid_service")
        }
    }

    @Test(arguments: [false, true])
    func `a call has the proof of its token only if the client has a secret`(hasSecret: Bool) async throws {
        try await withSevenPass { fixture in
            let configuration = hasSecret ? fixture.olderConfiguration : fixture.configuration
            let state = try await fixture.signIn(configuration)
            #expect(try await SevenPassClient(state, configuration).get("me")["email"] == "alice@example.com")
            let call = try #require(fixture.double.log(.me).last)
            #expect((call.query["appsecret_proof"] != nil) == hasSecret)
        }
    }

    @Test func `a call whose token is renewed has the proof of the new token`() async throws {
        try await withSevenPass { fixture in
            let state = try await SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
                .signInWithPassword("alice@example.com", Secret("looking-glass"), MemoryTokenStore())
            let client = try SevenPassClient(state, fixture.olderConfiguration)
            fixture.double.fault(
                .status(
                    .unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#],
                    json: ["error": "invalid_token"]),
                at: .me)
            #expect(try await client.get("me")["email"] == "alice@example.com")
            let proofs = fixture.double.log(.me).map { $0.query["appsecret_proof"] }
            #expect(proofs.count == 2 && proofs[0] != proofs[1])
        }
    }

    @Test func `the credentials client's token of 15 minutes is renewed by itself, without a refresh token`()
        async throws
    {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let credentials = try await SevenPassCredentialsClient(
                fixture.credentialsConfiguration, store: store, environment: fixture.environment)
            let stored = try #require(await store.load())
            #expect(!stored.hasRefreshToken && stored.accessToken?.lifetime == .seconds(900))
            fixture.double.advance(800)
            try await credentials.checkMail("dinah@example.com")
            #expect(fixture.double.count(.token) == 1)
            fixture.double.advance(100)
            try await credentials.checkMail("dinah@example.com")
            #expect(
                fixture.double.log(.token).map { $0.form["grant_type"] } == [
                    "client_credentials", "client_credentials",
                ])
            #expect(fixture.double.log(.checkMail).map(\.status) == [200, 200])
        }
    }

    @Test func `a stored token of the same client is taken up`() async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            for _ in 0..<2 {
                _ = try await SevenPassCredentialsClient(
                    fixture.credentialsConfiguration, store: store, environment: fixture.environment)
            }
            #expect(fixture.double.count(.token) == 1)
            // Nor is the metadata fetched again.
            #expect(fixture.double.count(.openIDConfiguration) == 1)
            // As everywhere, the current secret takes precedence over the stored one. The next token needs it.
            var other = fixture.credentialsConfiguration
            other.clientSecret = Secret("another-secret")
            let client = try await SevenPassCredentialsClient(other, store: store, environment: fixture.environment)
            #expect(fixture.double.count(.token) == 1)
            fixture.double.advance(900)
            let error = await #expect(throws: AuthError.self) { try await client.checkMail("jane@example.com") }
            #expect(error?.code == .invalidClient && fixture.double.count(.token) == 2)
        }
    }

    @Test func `a stored session of a user is not that of the client itself`() async throws {
        try await withSevenPass { fixture in
            let store = MemoryTokenStore()
            let grants = SevenPassGrants(fixture.olderConfiguration, environment: fixture.environment)
            _ = try await grants.signIn(with: Secret("facebook-access-token-of-alice"), of: "facebook", store: store)
            // Another grant of the same client: the double refuses it, and the user's token is not used in its place.
            let error = await #expect(throws: AuthError.self) {
                try await SevenPassCredentialsClient(
                    fixture.olderConfiguration, store: store, environment: fixture.environment)
            }
            #expect(error?.code.rawValue == "unauthorized_client")
        }
    }
}

/// Deprecated code may call deprecated code without a warning, and so may callers of this protocol.
private protocol OldSignIn {
    func signIn(_ login: String, _ password: Secret, _ store: any TokenStore) async throws -> AuthState
}

private struct OldCaller: OldSignIn {
    let grants: SevenPassGrants

    @available(*, deprecated)
    func signIn(_ login: String, _ password: Secret, _ store: any TokenStore) async throws -> AuthState {
        try await grants.signIn(login: login, password: password, store: store)
    }
}
