import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 6749 §2.3, as it arrives at a token endpoint.
struct ClientAuthenticationTests {
    private static let strange = "id: ü%&+=/😀"

    private let configuration: LocalProvider.Configuration = {
        var configuration = LocalProvider.Configuration.demo
        var client = RegisteredClient.demoConfidential
        (client.id, client.secret) = (strange, "p:ä ss%20+&=\"\\😀")
        configuration.clients.append(client)
        return configuration
    }()

    // oidcc-client-test-client-secret-basic, rp-token_endpoint-client_secret_basic
    @Test(arguments: ["demo-confidential", strange])
    func `client_secret_basic encodes id and secret as forms first (RFC 6749 §2.3.1)`(id: String) async throws {
        try await World.run(configuration) { world in
            let secret = try #require(configuration.clients.first { $0.id == id }?.secret)
            let request = try await refresh(world, id, .clientSecretBasic(Secret(secret)))
            #expect(request.status == 200)
            let field = try #require(request.headers[.authorization])
            let pair = try #require(Data(base64Encoded: String(field.dropFirst("Basic ".count))))
            let expected = FormParameters.encode(id) + ":" + FormParameters.encode(secret)
            #expect(String(decoding: pair, as: UTF8.self) == expected)
            #expect(request.form.names == ["grant_type", "refresh_token"])
        }
    }

    // rp-token_endpoint-client_secret_post
    @Test(arguments: ["demo-confidential", strange])
    func `client_secret_post puts both into the form and nothing into the header`(id: String) async throws {
        try await World.run(configuration) { world in
            let secret = try #require(configuration.clients.first { $0.id == id }?.secret)
            let request = try await refresh(world, id, .clientSecretPost(Secret(secret)))
            #expect(request.status == 200)
            #expect(request.headers[.authorization] == nil)
            #expect(request.form.names == ["grant_type", "refresh_token", "client_id", "client_secret"])
            #expect(request.form["client_id"] == id)
            #expect(request.form["client_secret"] == secret)
        }
    }

    // RFC 8705 §2: the certificate on the connection says the rest.
    @Test(arguments: [ClientAuthentication.none, .tlsClientAuth, .selfSignedTLSClientAuth])
    func `a public client names itself and no more, and so does one with a certificate`(
        authentication: ClientAuthentication
    ) async throws {
        try await World.run { world in
            let request = try await refresh(world, "demo", authentication)
            #expect(request.status == 200)
            #expect(request.headers[.authorization] == nil)
            #expect(request.form.names == ["grant_type", "refresh_token", "client_id"])
            #expect(request.form["client_id"] == "demo")
        }
    }

    @Test func `a wrong secret is invalid_client`() async throws {
        try await World.run { world in
            let request = try await refresh(world, "demo-confidential", .clientSecretBasic(Secret("wrong")))
            #expect(request.status == 401)
        }
    }

    @Test(
        arguments: [
            (nil, "client_secret_basic"), ([], "client_secret_basic"),
            (["client_secret_post", "client_secret_basic"], "client_secret_basic"),
            (["client_secret_post"], "client_secret_post"), (["none", "client_secret_post"], "client_secret_post"),
            (["private_key_jwt"], "client_secret_basic"),
        ] as [([String]?, String)])
    func `the method is the one that the provider knows, Basic first`(methods: [String]?, expected: String) throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [:],
            more: methods.map { ["token_endpoint_auth_methods_supported": .array($0.map { .string($0) })] } ?? [:])
        #expect(ClientAuthentication.secret(Secret("s"), for: provider).method == expected)
    }

    @Test(arguments: [
        ClientAuthentication.none, .clientSecretBasic(Secret("s3cret-value")),
        .clientSecretPost(Secret("s3cret-value")), .clientSecretJWT(Secret("s3cret-value")),
        .clientSecretJWT(Secret("s3cret-value"), audience: .other("https://op.example/token")),
        .privateKeyJWT(keyNamed: "/etc/app/key.pem"), .assertion(named: "/var/run/token"),
        .privateKeyJWT(keyNamed: "/etc/app/key.pem", audience: .other("https://op.example/token")),
        .privateKeyJWT(keyNamed: "/etc/app/key.pem", audience: .endpoint),
        .privateKeyJWT(keyNamed: "/etc/app/key.pem", audience: .tokenEndpoint),
    ])
    func `it survives being stored, and prints nothing`(authentication: ClientAuthentication) throws {
        let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
        let client = Client(id: "app", authentication: authentication, provider: provider)
        let record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil)
        let copy = try AuthStateRecord(decoding: record.encoded(), from: "test")
        #expect(copy.client.authentication == authentication)
        #expect(!"\(authentication) \(String(reflecting: authentication))".contains("s3cret"))
    }

    @Test(arguments: [
        #"{"method":"private_key_jwt"}"#, #"{"method":"client_secret_basic"}"#, #"{"method":"client_secret_jwt"}"#,
        #"{"method":"private_key_jwt","key":"a","secret":"b"}"#, #"{"method":"none","secret":"b"}"#,
        #"{"method":"tls_client_auth","secret":"b"}"#, #"{"method":"unheard_of"}"#, "{}",
        #"{"method":"client_assertion"}"#, #"{"method":"client_assertion","key":"a","secret":"b"}"#,
        #"{"method":"private_key_jwt","key":"a","audience":false}"#,
    ])
    func `a stored method that is not known, or lacks what it needs, is refused`(stored: String) throws {
        let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
        let record = try AuthStateRecord(
            client: Client(id: "app", provider: provider), accessToken: nil, refreshToken: nil)
        let text = String(decoding: try record.encoded(), as: UTF8.self)
        let damaged = text.replacing(#"{"method":"none"}"#, with: stored)
        #expect(damaged != text)
        #expect(throws: AuthError.self) { try AuthStateRecord(decoding: Array(damaged.utf8), from: "test") }
    }

    private func refresh(
        _ world: World, _ id: String, _ authentication: ClientAuthentication
    ) async throws -> LoggedRequest {
        let token = try #require(try world.provider.mintSession(client: id).refreshToken)
        let client = try await world.client(id, authentication)
        _ = await authError {
            try await ClientEndpoint(client: client, environment: world.environment)
                .send(.refresh(Secret(token)), stage: .refresh)
        }
        return try #require(world.provider.log(.token).last)
    }
}
