import AppAuthServer
import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 7662, and RFC 9701 for signed responses.
struct IntrospectionTests {
    private func service(_ world: World) async throws -> Client {
        try await world.client("demo-service", .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")))
    }

    private func introspect(
        _ world: World, _ token: String, isSigned: Bool = false
    ) async throws -> Introspection {
        let client = try await service(world)
        return try await IntrospectionEndpoint(client: client, isSigned: isSigned, environment: world.environment)
            .introspect(Secret(token))
    }

    @Test(arguments: [false, true]) func `a living token is described`(isSigned: Bool) async throws {
        try await World.run { world in
            let session = try world.provider.mintSession()
            let response = try await introspect(world, session.accessToken, isSigned: isSigned)
            #expect(response.isActive && response.scope.contains(.openID))
            #expect(
                response.clientID == "demo" && response.subject == User.alice.subject && response.username == "alice")
            #expect(response.issuer == world.provider.issuer && response.tokenType == "Bearer")
            #expect(response.issuedAt == world.clock.now && response.expiration == world.clock.now + 3600)
            #expect(response.audience.isEmpty && response.confirmation == nil && response.members["active"] == true)
            let sent = try #require(world.provider.log(.introspection).first)
            #expect(sent.headers[.authorization]?.hasPrefix("Basic ") == true)
            #expect(
                sent.headers[.accept] == (isSigned ? "application/token-introspection+jwt" : "application/json"))
        }
    }

    @Test func `the provider's keys are fetched once, for however many signed responses`() async throws {
        try await World.run { world in
            let token = Secret(try world.provider.mintSession().accessToken)
            let introspection = try IntrospectionEndpoint(
                client: await service(world), isSigned: true, environment: world.environment)
            for _ in 0..<3 { #expect(try await introspection.introspect(token).isActive) }
            #expect(world.provider.count(.keys) == 1 && world.provider.count(.introspection) == 3)
        }
    }

    @Test(arguments: [false, true]) func `of any other token nothing is known`(isSigned: Bool) async throws {
        try await World.run { world in
            let response = try await introspect(world, "never-was", isSigned: isSigned)
            #expect(!response.isActive && response.clientID == nil && response.scope.isEmpty)
        }
    }

    @Test func `all members are there, also those of extensions`() async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { document in
                    document["aud"] = "https://api.example/"
                    document["cnf"] = ["jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"]
                    (document["nbf"], document["jti"], document["shoe_size"]) = (1, "t-1", 42)
                }, at: .introspection)
            let response = try await introspect(world, world.provider.mintSession().accessToken)
            #expect(response.audience == ["https://api.example/"] && response.tokenID == "t-1")
            #expect(response.notBefore == Date(timeIntervalSince1970: 1) && response.members["shoe_size"] == 42)
            #expect(response.confirmation?["jkt"]?.string == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        }
    }

    @Test(
        arguments: [
            ("active", nil), ("active", "true"), ("scope", 1), ("exp", "tomorrow"), ("iat", -5), ("sub", 7),
            ("aud", 1), ("aud", [1]), ("cnf", "x"), ("client_id", []),
        ] as [(String, JSON?)])
    func `a member of the wrong kind is refused`(name: String, value: JSON?) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0[name] = value }, at: .introspection)
            let error = await authError { try await introspect(world, world.provider.mintSession().accessToken) }
            #expect(error?.code == .invalidResponse && error?.stage == .introspection)
            #expect(error?.message.contains("'\(name)'") == true)
        }
    }

    /// Where the absence of a value might permit something, an empty string is a value, or an error.
    private static let spellings: [(String, JSON, (@Sendable (Introspection) -> Bool)?)] = [
        ("scope", .null, { $0.scope.isEmpty }), ("scope", "", { $0.scope.isEmpty }),
        ("username", .null, { $0.username == nil }), ("username", "", { $0.username == nil }),
        ("username", "Ann \u{FFFD}", { $0.username == "Ann \u{FFFD}" }), ("cnf", .null, { $0.confirmation == nil }),
        ("exp", .null, { $0.expiration == nil }), ("aud", .null, { $0.audience.isEmpty }),
        ("aud", "", { $0.audience == [""] }), ("iss", "", { $0.issuer == "" }), ("sub", "", { $0.subject == "" }),
        ("client_id", "", { $0.clientID == "" }), ("exp", "", nil), ("nbf", "", nil), ("cnf", "", nil),
        ("active", .null, nil), ("active", "", nil), ("sub", "a\u{FFFD}", nil), ("aud", ["a\u{FFFD}"], nil),
        ("iss", "a\u{FFFD}", nil),
    ]

    @Test(arguments: spellings)
    func `a member is absent as null, and as an empty string where that means nothing`(
        name: String, value: JSON, check: (@Sendable (Introspection) -> Bool)?
    ) async throws {
        try await World.run { world in
            let token = try world.provider.mintSession().accessToken
            world.provider.fault(.editDocument { $0[name] = value }, at: .introspection)
            guard let check else {
                let error = await authError { try await introspect(world, token) }
                #expect(error?.code == .invalidResponse && error?.message.contains("'\(name)'") == true)
                return
            }
            #expect(check(try await introspect(world, token)))
        }
    }

    @Test func `a client that may not ask hears so, without the token`() async throws {
        try await World.run { world in
            let client = try await world.client()
            let token = try world.provider.mintSession().accessToken
            let error = try #require(
                await authError {
                    try await IntrospectionEndpoint(client: client, environment: world.environment)
                        .introspect(Secret(token))
                })
            #expect(error.code == .invalidClient && error.httpStatus == 401)
            let body: JSON = ["error": "invalid_request", "error_description": .string(token)]
            world.provider.fault(.status(.badRequest, json: body), at: .introspection)
            let echo = try #require(await authError { try await introspect(world, token) })
            #expect(!"\(echo)".contains(token))
        }
    }

    @Test func `a provider without the endpoint is named`() throws {
        let client = Client(id: "a", provider: try ProviderMetadata(issuer: "https://op.example", endpoints: [:]))
        let environment = Environment(transport: NoNetwork())
        let error = refusal { try IntrospectionEndpoint(client: client, environment: environment) }
        #expect(error?.code == .invalidMetadata && error?.message.contains("introspection_endpoint") == true)
    }

    /// RFC 9701 §5.
    private static let flaws = [
        DraftFlaw("another typ", "expected 'typ'") { $0.header["typ"] = "JWT" },
        DraftFlaw("no typ", "expected 'typ'") { $0.header["typ"] = nil },
        DraftFlaw("another iss", "found 'https://other.example'") { $0.claims["iss"] = "https://other.example" },
        DraftFlaw("no iss", "expected 'iss'") { $0.claims["iss"] = nil },
        DraftFlaw("another aud", "found 'demo'") { $0.claims["aud"] = "demo" },
        DraftFlaw("no aud", "expected 'aud'") { $0.claims["aud"] = nil },
        DraftFlaw("an old iat", "was received just now") { $0.claims["iat"] = 1_000_000 },
        DraftFlaw("an early iat", "issued 300 s ahead of") { $0.claims["iat"] = 1_750_000_300 },
        DraftFlaw("no iat", "expected 'iat'") { $0.claims["iat"] = nil },
        DraftFlaw("no response", "expected a JSON object") { $0.claims["token_introspection"] = nil },
        DraftFlaw("an inner kind", "'active'") { $0.claims["token_introspection"] = ["active": 1] },
        DraftFlaw("no signature", "expected an algorithm") { $0.signature = .none },
        DraftFlaw("a damaged signature", "signature") { $0.signature = .damaged(.rs256) },
        DraftFlaw("another key", "signature") { $0.signature = .unpublishedKey(.rs256) },
    ]

    @Test(arguments: flaws) func `a signed response that is wrong in one respect is refused`(flaw: DraftFlaw)
        async throws
    {
        try await World.run { world in
            let token = try world.provider.mintSession().accessToken
            world.provider.fault(.editIDToken(flaw.edit), at: .introspection)
            let error = await authError { try await introspect(world, token, isSigned: true) }
            #expect(error?.code == .invalidResponse && error?.message.contains(flaw.message) == true, "\(error)")
            #expect(try await introspect(world, token, isSigned: true).isActive)
        }
    }

    /// It is the provider's statement, so that its issuer is the provider, also where that of an ID token is a tenant.
    @Test(arguments: [("", true), ("/31537af4-6d77-4bb9-a681-d2394888ea26", false)])
    func `the issuer of a signed response is the provider, not a tenant`(suffix: String, isTaken: Bool) async throws {
        try await World.run { world in
            let issuer = world.provider.issuer
            world.provider.fault(
                .editIDToken { draft in
                    draft.claims["iss"] = .string(issuer + suffix)
                    draft.claims["tid"] = "31537af4-6d77-4bb9-a681-d2394888ea26"
                }, at: .introspection)
            var client = try await service(world)
            client.idTokenRules.issuer = .template(issuer + "/{tenantid}")
            let endpoint = try IntrospectionEndpoint(client: client, isSigned: true, environment: world.environment)
            let token = Secret(try world.provider.mintSession().accessToken)
            let error = await authError { try await endpoint.introspect(token) }
            #expect((error == nil) == isTaken, "\(error as Any)")
            #expect(isTaken || error?.message.contains("'iss'") == true)
        }
    }

    @Test(arguments: [-3600, 86_399] as [Double])
    func `a machine's clock that is wrong by a day or less refuses no signed response`(skew: Double) async throws {
        try await World.run(providerAhead: skew) { world in
            let token = try world.provider.mintSession().accessToken
            #expect(try await introspect(world, token, isSigned: true).isActive)
        }
    }

    @Test func `plain JSON is no signed response`() async throws {
        try await World.run { world in
            world.provider.fault(.respond(.json(["active": true])), at: .introspection)
            let error = await authError { try await introspect(world, "x", isSigned: true) }
            #expect(error?.code == .invalidResponse && error?.message.contains("application/json") == true)
        }
    }

    @Test func `an algorithm that the provider does not name for it is refused`() async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { $0["introspection_signing_alg_values_supported"] = ["ES256"] },
                at: .openIDConfiguration,
                times: nil)
            let error = await authError { try await introspect(world, "x", isSigned: true) }
            #expect(error?.message.contains("expected an algorithm of 'ES256', found 'RS256'") == true)
        }
    }
}

/// A transport that must not be asked.
struct NoNetwork: HTTPTransport {
    func send(_ exchange: TransportRequest) async throws -> TransportResponse { throw CancellationError() }
}
