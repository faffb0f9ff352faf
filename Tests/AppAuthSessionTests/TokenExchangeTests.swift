import AppAuthConcurrency
import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 8693.
struct TokenExchangeTests {
    private func client(_ world: World) async throws -> Client {
        try await world.client("demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
    }

    private func request(_ world: World, _ token: String? = nil) throws -> TokenExchangeRequest {
        let value = try token ?? world.provider.mintSession().accessToken
        return TokenExchangeRequest(of: SecurityToken(Secret(value), kind: .accessToken))
    }

    private func send(_ request: TokenExchangeRequest, _ world: World) async throws -> ExchangedToken {
        try await request.send(as: try await client(world), in: world.environment)
    }

    @Test func `an access token is exchanged for one with less power, for another service`() async throws {
        try await World.run { world in
            var request = try request(world)
            request.audience = ["demo-service"]
            request.resources = [world.provider.url(.api)]
            request.scope = [.profile]
            let token = try await send(request, world)
            #expect(token.kind == .accessToken && token.tokenType == "Bearer" && token.scope == [.profile])
            #expect(token.lifetime == .seconds(3600) && token.refreshToken == nil)
            #expect(token.accessToken?.value == token.value && token.accessToken?.expiresAt == world.clock.now + 3600)
            let service = try await world.client(
                "demo-service", .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")))
            let introspection = try IntrospectionEndpoint(client: service, environment: world.environment)
            let response = try await introspection.introspect(token.value)
            #expect(response.subject == User.alice.subject && response.clientID == "demo-confidential")
            #expect(
                Set(response.audience) == ["demo-service", world.provider.url(.api)] && response.scope == [.profile])
        }
    }

    @Test func `the request has the parameters of the RFC, and a parameter may repeat`() async throws {
        try await World.run { world in
            var request = try request(world, "the-token")
            request.actor = SecurityToken(Secret("the-actor"), kind: .jwt)
            request.requestedKind = .jwt
            request.audience = ["demo", "demo-service"]
            _ = await authError { try await send(request, world) }
            let sent = try #require(world.provider.log(.token).first).form
            #expect(
                sent.entries.map { "\($0.name)=\($0.value)" } == [
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "subject_token=the-token",
                    "subject_token_type=urn:ietf:params:oauth:token-type:access_token", "actor_token=the-actor",
                    "actor_token_type=urn:ietf:params:oauth:token-type:jwt",
                    "requested_token_type=urn:ietf:params:oauth:token-type:jwt", "audience=demo",
                    "audience=demo-service",
                ])
        }
    }

    private func bound(_ world: World) async throws -> AuthState {
        let client = Client(
            id: "demo-confidential", authentication: .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")),
            provider: try await world.metadata(), dpop: .es256)
        return try await world.signIn(client)
    }

    // RFC 9449 §5.
    @Test func `a bound session proves its key, and the new token works only with that key`()
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.dpopNonce = .required()
        for index in configuration.clients.indices { configuration.clients[index].requiresDPoP = true }
        try await World.run(configuration) { world in
            let state = try await bound(world)
            world.provider.forgetDPoPNonces()
            let token = try await state.freshAccessToken()
            let exchanged = try await state.exchange(request(world, token.value.reveal()))
            #expect(exchanged.tokenType == "DPoP" && exchanged.kind == .accessToken)
            let access = try #require(exchanged.accessToken)
            let url = try SecureURL(world.provider.url(.api))
            let ask = TransportRequest(HTTPRequest(method: .get, url: url))
            #expect(try await state.send(ask, with: access).status == .ok)
            let other = try await bound(world)
            #expect(try await other.send(ask, with: access).status == .unauthorized)
            var bare = ask
            bare.head.headerFields[.authorization] = access.authorization
            #expect(try await world.environment.send(bare, stage: .resource).status == .unauthorized)
            // A statement is no access token, and bound to nothing.
            var statement = try request(world, token.value.reveal())
            statement.requestedKind = .jwt
            let jwt = try await state.exchange(statement)
            #expect(jwt.kind == .jwt && jwt.tokenType == nil)
        }
    }

    @Test func `an unexpectedly bound or unbound token is rejected`() async throws {
        try await World.run { world in
            let state = try await bound(world)
            world.provider.fault(.editDocument { $0["token_type"] = "Bearer" }, at: .token)
            let unbound = await authError { try await state.exchange(request(world)) }
            #expect(unbound?.code == .invalidResponse && unbound?.message.contains("DPoP, found 'Bearer'") == true)
            world.provider.fault(.editDocument { $0["token_type"] = "DPoP" }, at: .token)
            let unasked = await authError { try await send(request(world), world) }
            #expect(unasked?.code == .invalidResponse && unasked?.message.contains("Bearer, found 'DPoP'") == true)
            world.provider.fault(.editDocument { $0["token_type"] = "dPOP" }, at: .token)
            #expect(try await state.exchange(request(world)).accessToken?.type == .dpop)
        }
    }

    @Test func `without the session's key a client whose tokens are bound sends nothing`() async throws {
        try await World.run { world in
            let client = try await bound(world).record.client
            let before = world.provider.count(.token)
            let error = await authError { try await request(world).send(as: client, in: world.environment) }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
            #expect(world.provider.count(.token) == before)
        }
    }

    @Test func `a session that has ended exchanges nothing, one that is not bound has bearer tokens`() async throws {
        try await World.run { world in
            let state = try await world.signIn(client(world))
            #expect(try await state.exchange(request(world)).tokenType == "Bearer")
            world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            let before = world.provider.count(.token)
            #expect(await authError { try await state.exchange(request(world)) }?.code == .signInRequired)
            #expect(world.provider.count(.token) == before)
        }
    }

    @Test func `a token of another type is not presented as an access token`() async throws {
        try await World.run { world in
            var request = try request(world)
            request.requestedKind = .jwt
            request.actor = SecurityToken(
                Secret(try world.provider.mintSession(client: "demo-confidential").accessToken), kind: .accessToken)
            let token = try await send(request, world)
            #expect(token.kind == .jwt && token.tokenType == nil && token.accessToken == nil)
            let claims = try JSON(parsing: JWS(compact: token.value.reveal()).payload)
            #expect(claims["sub"]?.string == User.alice.subject && claims["act"]?["sub"]?.string == User.alice.subject)
        }
    }

    @Test func `an exchanged ID token identifies the user and grants no access`() async throws {
        try await World.run { world in
            let idToken = try #require(try world.provider.mintSession(client: "demo-confidential").idToken)
            var request = TokenExchangeRequest(of: SecurityToken(Secret(idToken), kind: .idToken))
            request.scope = ["api"]
            #expect(await authError { try await send(request, world) }?.code == "invalid_scope")
            request.scope = [.profile]
            #expect(try await send(request, world).scope == [.profile])
        }
    }

    @Test(
        arguments: [
            ("access_token", nil), ("access_token", ""), ("access_token", 7), ("issued_token_type", nil),
            ("issued_token_type", []), ("token_type", nil), ("token_type", 1),
            ("expires_in", "soon"), ("scope", 1), ("refresh_token", "a\nb"),
        ] as [(String, JSON?)])
    func `a response that is wrong in one respect is refused`(name: String, value: JSON?) async throws {
        try await World.run { world in
            let request = try request(world)
            world.provider.fault(.editDocument { $0[name] = value }, at: .token)
            let error = await authError { try await send(request, world) }
            #expect(error?.code == .invalidResponse && error?.outcome == .perhapsProcessed)
            #expect(error?.message.contains("'\(name)'") == true)
        }
    }

    @Test func `a token of an unknown type is not presented`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["token_type"] = "mac" }, at: .token)
            let token = try await send(request(world), world)
            #expect(token.tokenType == "mac" && token.accessToken == nil)
        }
    }

    @Test func `a refusal is the server's own error, without the tokens`() async throws {
        try await World.run { world in
            var request = try request(world)
            request.audience = ["https://nobody.example"]
            #expect(await authError { try await send(request, world) }?.code == "invalid_target")
            let token = request.subject.value.reveal()
            world.provider.fault(
                .status(
                    .badRequest,
                    json: [
                        "error": "invalid_request", "error_description": .string("\(token) for https://nobody.example"),
                    ]),
                at: .token)
            let error = try #require(await authError { try await send(request, world) })
            #expect(error.code == "invalid_request" && !"\(error)".contains(token))
            // Values that are not secret are shown.
            #expect(error.message.contains("for https://nobody.example"))
            request.scope = ["a b"]
            #expect(await authError { try await send(request, world) }?.outcome == .notSent)
        }
    }

    @Test func `neither token is printed`() throws {
        let request = TokenExchangeRequest(of: SecurityToken(Secret("subject-token"), kind: .accessToken))
        var text = "\(request) \(String(reflecting: request))"
        dump(request, to: &text)
        #expect(!text.contains("subject-token"))
    }
}

/// RFC 7523 §2.1.
struct JWTBearerTests {
    private static let issuer = "https://idp.example"

    private func assertion(
        _ world: World, _ key: SigningKey, _ changes: KeyValuePairs<String, JSON?> = [:]
    ) throws -> Secret {
        let now = Int(world.clock.now.timeIntervalSince1970)
        var claims: JSON.Object = [
            "iss": .string(Self.issuer), "sub": .string(User.alice.subject), "aud": .string(world.provider.issuer),
            "iat": .number(.init(now)), "exp": .number(.init(now + 60)), "jti": "a-1",
        ]
        for (name, value) in changes { claims[name] = value }
        return Secret(try JWS.sign(.object(claims), with: key))
    }

    private func session(_ world: World, _ assertion: Secret) async throws -> AuthState {
        let client = try await world.client(
            "demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
        return try await AuthState.present(
            .jwtBearer(assertion: assertion, scope: [.openID, "api"]), as: client, store: TestStore(),
            environment: world.environment)
    }

    private func run(_ test: (World, SigningKey) async throws -> Void) async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = LocalProvider.Configuration.demo
        configuration.assertionIssuers = [TrustedIssuer(Self.issuer, keys: [key.publicKey])]
        try await World.run(configuration) { try await test($0, key) }
    }

    @Test func `a trusted issuer's statement begins a session, and is not stored`() async throws {
        try await run { world, key in
            let assertion = try assertion(world, key)
            let state = try await session(world, assertion)
            let record = await state.record
            #expect(record.idToken?.subject == User.alice.subject && !record.renewsItself)
            #expect(!String(decoding: try record.encoded(), as: UTF8.self).contains(assertion.reveal()))
            // It is valid once.
            #expect(await authError { try await session(world, assertion) }?.code == .invalidGrant)
        }
    }

    @Test(
        arguments: [
            ("iss", "https://other.example"), ("sub", "nobody"), ("aud", "https://other.example"), ("aud", nil),
            ("exp", 1), ("exp", nil), ("nbf", 2_000_000_000),
        ] as [(String, JSON?)])
    func `a statement that is wrong in one respect begins none`(name: String, value: JSON?) async throws {
        try await run { world, key in
            let assertion = try assertion(world, key, [name: value])
            #expect(await authError { try await session(world, assertion) }?.code == .invalidGrant)
        }
    }

    @Test func `a statement that another has signed begins none`() async throws {
        try await run { world, _ in
            let assertion = try assertion(world, SigningKey.generate(.es256))
            #expect(await authError { try await session(world, assertion) }?.code == .invalidGrant)
        }
    }

    @Test func `a session from a named assertion stores the name, and renews itself with the next assertion`()
        async throws
    {
        try await run { world, key in
            let demands = LockedValue<[AssertionDemand]>([])
            let trouble = LockedValue<AuthError?>(nil)
            var environment = world.environment
            environment.grantAssertion = { demand in
                if let error = trouble.withLock({ $0 }) { throw error }
                let count = demands.withLock { demands in
                    demands.append(demand)
                    return demands.count
                }
                return try assertion(world, key, ["jti": .string("a-\(count)")])
            }
            let client = try await world.client(
                "demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
            let url = world.provider.url(.api)
            let grant = try TokenGrant.jwtBearer(assertionNamed: "mine", scope: ["api"], resources: [url])
            let store = TestStore()
            let state = try await AuthState.present(grant, as: client, store: store, environment: environment)
            let first = try await state.freshAccessToken()
            let record = await state.record
            #expect(record.renewsItself && record.resources == [url])
            #expect(!String(decoding: try record.encoded(), as: UTF8.self).contains("eyJ"))
            // Another process has only what is stored.
            let restored = try #require(try await AuthState(restoring: store, environment: environment))
            #expect(try await restored.freshAccessToken(forceRefresh: true).value != first.value)
            let asked = demands.withLock { $0 }
            #expect(asked.count == 2 && asked.allSatisfy { $0.name == "mine" && $0.resources == [url] })
            #expect(asked.allSatisfy { $0.client.provider.issuer == client.provider.issuer && $0.scope == ["api"] })

            // The end of the session that it comes from is not the end of this one.
            trouble.withLock { $0 = AuthError(.noRefreshToken, .refresh, "over there") }
            let ended = await authError { try await restored.freshAccessToken(forceRefresh: true) }
            #expect(ended?.code == .signInRequired && ended?.outcome == .notSent && ended?.needsSignIn == true)
            #expect(await restored.record.needsSignIn)
            trouble.withLock { $0 = AuthError("odd", .token, "no network", isTemporary: true) }
            let unavailable = await authError { try await restored.freshAccessToken(forceRefresh: true) }
            #expect(unavailable?.code == .unavailable && unavailable?.needsSignIn == false)
            trouble.withLock { $0 = nil }
            #expect(try await restored.freshAccessToken(forceRefresh: true).value != first.value)
            #expect(world.provider.count(.token) == 3)
        }
    }

    /// RFC 7523 §3 item 4.
    @Test(arguments: [-1, 5])
    func `an assertion is sent only before it expires`(seconds: Int) async throws {
        try await run { world, key in
            let end = Int(world.clock.now.timeIntervalSince1970) + seconds
            let assertion = try assertion(world, key, ["exp": .number(.init(end))])
            let error = await authError { try await session(world, assertion) }
            #expect(error?.code == (seconds < 0 ? .invalidGrant : nil) && error?.message.contains("ey") != true)
            #expect(world.provider.count(.token) == (seconds < 0 ? 0 : 1))
        }
    }
}

/// draft-ietf-oauth-identity-assertion-authz-grant.
struct IdentityAssertionTests {
    @Test(arguments: [true, false])
    func `a provider says who the user is, or something else`(isSupported: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clientOfIdentityAssertions = "notes"
        try await World.run(configuration) { world in
            let client = try await world.client(
                "demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
            let state = try await world.signIn(client)
            let server = try ProviderMetadata(issuer: Issuer("https://as.example"), endpoints: [:])
            let demand = AssertionDemand(
                name: "", client: Client(id: "notes", provider: server), scope: [],
                resources: ["https://mcp.example/mcp"])
            if !isSupported {
                world.provider.fault(.editDocument { $0["issued_token_type"] = "urn:other" }, at: .token)
                let error = await authError { try await state.identityAssertion(for: demand) }
                #expect(error?.code == .invalidResponse && error?.message.contains("'urn:other'") == true)
                return
            }
            let jws = try JWS(compact: try await state.identityAssertion(for: demand).reveal())
            #expect(jws.header.typ == "oauth-id-jag+jwt")
            let claims = try jws.claims
            #expect(claims["aud"] == "https://as.example" && claims["resource"] == "https://mcp.example/mcp")
            #expect(claims["sub"]?.string == User.alice.subject && claims["client_id"] == "notes")
        }
    }

    enum Later: CaseIterable, Sendable { case sameUser, otherUser, otherIssuer }

    /// OpenID Connect Core §5.7: the issuer and the subject together identify the user.
    @Test(arguments: Later.allCases)
    func `a provider is asked only about the user whom the grant names`(later: Later) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clientOfIdentityAssertions = "notes"
        let bob = LocalProvider.User(name: "bob", password: "builder")
        configuration.users.append(bob)
        try await World.run(configuration) { world in
            try await World.run(configuration) { other in
                func signIn(at world: World, as user: LocalProvider.User) async throws -> AuthState {
                    let client = try await world.client(
                        "demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
                    return try await AuthState.exchange(
                        world.authorize(client, as: user), store: MemoryTokenStore(), environment: world.environment)
                }
                let first = try await signIn(at: world, as: .alice)
                let grant = try await TokenGrant.jwtBearer(
                    assertionNamed: "identity provider", about: AssertionDemand.User(first.freshIDToken()))
                let now = later == .otherIssuer ? other : world
                let state = try await signIn(at: now, as: later == .otherUser ? bob : .alice)
                let server = try ProviderMetadata(issuer: Issuer("https://as.example"), endpoints: [:])
                let demand = AssertionDemand(
                    about: grant.assertionUser, client: Client(id: "notes", provider: server),
                    resources: ["https://mcp.example/mcp"])
                let error = await authError { try await state.identityAssertion(for: demand) }
                #expect(error?.code == (later == .sameUser ? nil : .signInRequired))
                #expect(error?.outcome == (later == .sameUser ? nil : .notSent))
                let exchanges = now.provider.log(.token).count {
                    $0.form["grant_type"] == GrantType.tokenExchange.rawValue
                }
                #expect(exchanges == (later == .sameUser ? 1 : 0))
            }
        }
    }
}
