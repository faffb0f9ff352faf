import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `client_secret_jwt` and `private_key_jwt` (OpenID Connect Core §9, RFC 7523), at a server that checks them.
struct ClientAssertionTests {
    private static let secret = "a secret of more than sixty-four bytes, which is what HS512 asks for"

    private func configuration(_ key: SigningKey? = nil) -> LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients = [
            RegisteredClient(
                id: "signer", secret: key == nil ? Self.secret : nil, keys: key.map { [$0.publicKey] } ?? [],
                grantTypes: ["client_credentials"])
        ]
        return configuration
    }

    private func session(
        _ world: World, _ authentication: ClientAuthentication, key: ClientKey? = nil
    ) async throws -> AuthState {
        var environment = world.environment
        if let key { environment.clientKey = { _ in key } }
        return try await AuthState.present(
            .clientCredentials(), as: world.client("signer", authentication), store: MemoryTokenStore(),
            environment: environment)
    }

    // oidcc-client-test-client-secret-jwt
    @Test func `client_secret_jwt signs with the secret, and does not send it`() async throws {
        try await World.run(configuration()) { world in
            _ = try await session(world, .clientSecretJWT(Secret(Self.secret)))
            let request = try #require(world.provider.log(.token).last)
            #expect(request.status == 200 && request.headers[.authorization] == nil)
            #expect(
                request.form.names == ["grant_type", "client_id", "client_assertion_type", "client_assertion"])
            #expect(!String(decoding: request.body, as: UTF8.self).contains("thirty"))
            let jws = try JWS(compact: try #require(request.form["client_assertion"]))
            #expect(jws.header.alg == "HS256" && jws.header.typ == "JWT")
            let claims = try JSON(parsing: jws.payload)
            #expect(claims["iss"] == "signer" && claims["sub"] == "signer")
            #expect(claims["aud"]?.string == world.provider.issuer)
            let now = Int(world.clock.now.timeIntervalSince1970)
            #expect(claims["iat"]?.int == now && claims["exp"]?.int == now + 60)
        }
    }

    @Test(arguments: [-3600.0, 3600]) func `an assertion is valid by the server's clock`(ahead: Double) async throws {
        try await World.run(configuration(), providerAhead: ahead) { world in
            // The clock is read from the response with the metadata.
            let environment = world.environment
            let provider = try await Discovery(environment: environment).metadata(for: Issuer(world.provider.issuer))
            let client = Client(
                id: "signer", authentication: .clientSecretJWT(Secret(Self.secret)), provider: provider)
            let state = try await AuthState.present(
                .clientCredentials(), as: client, store: MemoryTokenStore(), environment: environment)
            #expect(await state.isAuthorized)
        }
    }

    @Test func `each request has an assertion of its own`() async throws {
        try await World.run(configuration()) { world in
            for _ in 0..<2 { _ = try await session(world, .clientSecretJWT(Secret(Self.secret))) }
            let assertions = world.provider.log(.token).compactMap { $0.form["client_assertion"] }
            #expect(Set(assertions).count == 2)
        }
    }

    @Test func `a wrong secret is invalid_client`() async throws {
        try await World.run(configuration()) { world in
            let error = await authError {
                try await session(world, .clientSecretJWT(Secret("another secret of thirty-two bytes")))
            }
            #expect(error?.code == .invalidClient && error?.stage == .token)
        }
    }

    @Test func `client_secret_jwt signs by an algorithm that the provider knows, or not at all`() async throws {
        for (known, algorithm) in [("HS512", "HS512"), ("ES256", nil)] {
            try await World.run(configuration()) { world in
                world.provider.fault(
                    .editDocument { $0["token_endpoint_auth_signing_alg_values_supported"] = [.string(known)] },
                    at: .openIDConfiguration)
                let error = await authError { try await session(world, .clientSecretJWT(Secret(Self.secret))) }
                let sent = world.provider.log(.token).compactMap { $0.form["client_assertion"] }
                let algorithms = try sent.map { try JWS(compact: $0).header.alg }
                #expect(algorithms == [algorithm].compactMap(\.self))
                #expect((error?.code == .invalidConfiguration) == (algorithm == nil))
            }
        }
    }

    // OpenID Connect Core §16.19, RFC 7518 §3.2
    @Test(arguments: [("HS256", 32), ("HS384", 48), ("HS512", 64)])
    func `a secret that is too short to sign with sends nothing`(algorithm: String, needed: Int) async throws {
        var configuration = configuration()
        let secret = String(repeating: "s", count: needed)
        configuration.clients[0].secret = secret
        try await World.run(configuration) { world in
            world.provider.fault(
                .editDocument { $0["token_endpoint_auth_signing_alg_values_supported"] = [.string(algorithm)] },
                at: .openIDConfiguration, times: nil)
            let short = ClientAuthentication.clientSecretJWT(Secret(String(secret.dropLast())))
            let error = try #require(await authError { try await session(world, short) })
            #expect(error.code == .invalidConfiguration && error.outcome == .notSent)
            let message = "expected a secret of at least \(needed) bytes for \(algorithm), found \(needed - 1)"
            #expect(error.message.contains(message) && world.provider.count(.token) == 0)
            _ = try await session(world, .clientSecretJWT(Secret(secret)))
        }
    }

    // oidcc-client-test-private-key-jwt
    @Test(arguments: SignatureAlgorithm.available)
    func `private_key_jwt signs with every kind of key, as the provider knows it`(
        algorithm: SignatureAlgorithm
    ) async throws {
        let key = try SharedKeys.key(algorithm)
        try await World.run(configuration(key)) { world in
            world.provider.fault(
                .editDocument {
                    $0["token_endpoint_auth_signing_alg_values_supported"] = [.string(algorithm.rawValue)]
                }, at: .openIDConfiguration)
            let state = try await session(world, .privateKeyJWT(keyNamed: "key"), key: ClientKey(pem: key.pem))
            let request = try #require(world.provider.log(.token).last)
            #expect(try JWS(compact: try #require(request.form["client_assertion"])).header.alg == algorithm.rawValue)
            // The key is found again for the next one.
            world.clock.advance(by: 24 * 3600)
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test(arguments: [nil, "k-1"])
    func `an assertion says which key it is signed by, where that has a name`(name: String?) async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = configuration(key)
        configuration.clients[0].keys[0].kid = name
        try await World.run(configuration) { world in
            let own = try ClientKey(pem: key.pem, keyID: name)
            _ = try await session(world, .privateKeyJWT(keyNamed: "key"), key: own)
            let sent = try #require(world.provider.log(.token).last?.form["client_assertion"])
            let header = try JWS(compact: sent).header
            #expect(header.kid == name)
        }
    }

    @Test func `another key is invalid_client`() async throws {
        try await World.run(configuration(try SigningKey.generate(.es256))) { world in
            let other = try ClientKey(pem: SigningKey.generate(.es256).pem)
            let error = await authError { try await session(world, .privateKeyJWT(keyNamed: "key"), key: other) }
            #expect(error?.code == .invalidClient)
        }
    }

    @Test func `a key of a kind that the provider does not know sends nothing`() async throws {
        let key = try SigningKey.generate(.es256)
        try await World.run(configuration(key)) { world in
            world.provider.fault(
                .editDocument { $0["token_endpoint_auth_signing_alg_values_supported"] = ["PS256"] },
                at: .openIDConfiguration)
            let error = await authError {
                try await session(world, .privateKeyJWT(keyNamed: "key"), key: ClientKey(pem: key.pem))
            }
            #expect(error?.code == .invalidConfiguration && error?.message.contains("PS256") == true)
            #expect(world.provider.count(.token) == 0)
        }
    }

    @Test func `without the key nothing is sent, and the error names it`() async throws {
        try await World.run(configuration(try SigningKey.generate(.es256))) { world in
            let error = await authError { try await session(world, .privateKeyJWT(keyNamed: "my key")) }
            #expect(error?.code == .invalidConfiguration && error?.message.contains("'my key'") == true)
            #expect(error?.outcome == .notSent && world.provider.count(.token) == 0)
        }
    }

    @Test func `the audience is the provider, or the one that the app names`() async throws {
        let key = try SigningKey.generate(.es256)
        try await World.run(configuration(key)) { world in
            let clientKey = try ClientKey(pem: key.pem)
            let tokenEndpoint = world.provider.url(.token)
            _ = try await session(
                world, .privateKeyJWT(keyNamed: "key", audience: .other(tokenEndpoint)), key: clientKey)
            let sent = try #require(world.provider.log(.token).last?.form["client_assertion"])
            #expect(try JSON(parsing: JWS(compact: sent).payload)["aud"]?.string == tokenEndpoint)
            let wrong = await authError {
                try await session(
                    world, .privateKeyJWT(keyNamed: "key", audience: .other("https://other.example")),
                    key: clientKey)
            }
            #expect(wrong?.code == .invalidClient)
        }
    }

    @Test func `the audience is the endpoint that it is sent to, where the app says so`() async throws {
        let key = try SigningKey.generate(.es256)
        try await World.run(configuration(key)) { world in
            let authentication = ClientAuthentication.privateKeyJWT(keyNamed: "key", audience: .endpoint)
            let state = try await session(world, authentication, key: ClientKey(pem: key.pem))
            _ = await state.revokeTokens()
            for endpoint in [Endpoint.token, .revocation] {
                let sent = try #require(world.provider.log(endpoint).last?.form["client_assertion"])
                #expect(try JSON(parsing: JWS(compact: sent).payload)["aud"]?.string == world.provider.url(endpoint))
            }
        }
    }

    @Test func `the audience is the token endpoint everywhere, where the app says so`() async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = configuration(key)
        configuration.requiresTokenEndpointAudience = true
        try await World.run(configuration) { world in
            let clientKey = try ClientKey(pem: key.pem)
            let refused = await authError { try await session(world, .privateKeyJWT(keyNamed: "key"), key: clientKey) }
            #expect(refused?.code == .invalidClient)
            let authentication = ClientAuthentication.privateKeyJWT(keyNamed: "key", audience: .tokenEndpoint)
            let state = try await session(world, authentication, key: clientKey)
            #expect(await state.revokeTokens().allSatisfy { $0.error == nil })
            for endpoint in [Endpoint.token, .revocation] {
                let sent = try #require(world.provider.log(endpoint).last?.form["client_assertion"])
                #expect(try JSON(parsing: JWS(compact: sent).payload)["aud"]?.string == world.provider.url(.token))
            }
        }
    }

    @Test(
        arguments: [
            (["client_secret_jwt", "client_secret_post", "client_secret_basic"], "client_secret_basic"),
            (["client_secret_jwt", "client_secret_post"], "client_secret_post"),
            (["client_secret_jwt"], "client_secret_jwt"), (["private_key_jwt"], "client_secret_basic"),
            (nil, "client_secret_basic"),
        ] as [([String]?, String)])
    func `a secret without a key is sent by Basic, unless the provider knows only other methods`(
        methods: [String]?, method: String
    ) throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [:],
            more: methods.map { ["token_endpoint_auth_methods_supported": .array($0.map { .string($0) })] } ?? [:])
        #expect(ClientAuthentication.secret(Secret("s"), for: provider).method == method)
    }

    @Test(
        arguments: [
            (["private_key_jwt", "client_secret_basic"], "client_secret_basic"),
            // As Keycloak lists them, whose clients take Basic and post unless they are set up otherwise.
            (
                ["private_key_jwt", "client_secret_basic", "client_secret_post", "client_secret_jwt"],
                "client_secret_basic"
            ),
            (["client_secret_jwt", "client_secret_basic"], "client_secret_basic"),
            (["client_secret_jwt", "client_secret_post"], "client_secret_post"),
            (["client_secret_jwt"], "client_secret_jwt"), (["client_secret_post"], "client_secret_post"),
            (nil, "client_secret_basic"),
        ] as [([String]?, String)])
    func `with a secret the method is one that most clients are registered for`(methods: [String]?, method: String)
        throws
    {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [:],
            more: methods.map { ["token_endpoint_auth_methods_supported": .array($0.map { .string($0) })] } ?? [:])
        #expect(ClientAuthentication.secret(Secret("s"), for: provider).method == method)
    }
}
