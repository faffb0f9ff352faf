import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Dynamic registration (RFC 7591).
struct RegistrationTests {
    @Test func `a registered client signs in`() async throws {
        try await World.run { world in
            let registration = try await world.register()
            #expect(registration.clientSecret == nil && registration.clientSecretExpiresAt == nil)
            #expect(registration.clientIDIssuedAt == world.clock.now)
            #expect(registration.metadata.clientName == "My App")
            #expect(registration.metadata.redirectURIs == ["http://127.0.0.1/callback"])
            let client = try registration.client(at: try await world.metadata())
            #expect(client.id == registration.clientID && client.authentication == .none)
            let state = try await world.signIn(client)
            #expect(await state.record.idToken?.audience == [registration.clientID])
            #expect(await state.record.client.registration == registration)
            let sent = try #require(world.provider.log(.clientRegistration).first)
            #expect(sent.headers[.contentType] == "application/json" && sent.headers[.authorization] == nil)
        }
    }

    @Test func `a secret comes with its expiry, and the provider's version of the metadata counts`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.secretLifetime = 3600
        try await World.run(configuration) { world in
            world.provider.fault(
                .editDocument { $0["token_endpoint_auth_method"] = "client_secret_post" }, at: .clientRegistration)
            let registration = try await world.registerWithSecret()
            #expect(registration.clientSecretExpiresAt == world.clock.now + 3600)
            let client = try registration.client(at: try await world.metadata())
            #expect(client.authentication == .clientSecretPost(try #require(registration.clientSecret)))
        }
    }

    // RFC 7592 §2.1, §2.2: each response may bring another token, so a repeated request would lose it.
    @Test func `a request with a registration access token may not be repeated`() async throws {
        try await World.run { world in
            let registration = try await world.register()
            let recorder = Recorder(base: world.transport)
            var environment = world.environment
            environment.transport = recorder
            let read = try await registration.read(in: environment)
            let updated = try await read.update(in: environment) { $0.clientName = "Renamed" }
            try await updated.delete(in: environment)
            #expect(recorder.requests.map(\.head.method) == [.get, .put, .delete])
            #expect(recorder.requests.allSatisfy { !$0.mayBeRepeated })
            var head = HTTPRequest(method: .get, scheme: "https", authority: "op.example", path: "/")
            #expect(TransportRequest(head).mayBeRepeated)
            head.method = .post
            #expect(!TransportRequest(head).mayBeRepeated)
        }
    }

    private final class Recorder: HTTPTransport {
        private let base: any HTTPTransport
        private let sent = LockedValue<[TransportRequest]>([])
        var requests: [TransportRequest] { sent.withLock { $0 } }

        init(base: any HTTPTransport) { self.base = base }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            sent.withLock { $0.append(request) }
            return try await base.send(request)
        }
    }

    @Test func `a secret that does not end has no date`() async throws {
        try await World.run { world in
            let registration = try await world.registerWithSecret()
            #expect(registration.clientSecret != nil && registration.clientSecretExpiresAt == nil)
        }
    }

    @Test(arguments: [nil, 3600])
    func `a registration that an app has stored is the same when it is read again`(lifetime: Int?) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.secretLifetime = lifetime
        try await World.run(configuration) { world in
            let registration = try await world.registerWithSecret()
            #expect(registration.accessToken != nil && registration.configurationEndpoint != nil)
            let bytes = Array(registration.document.serialized().utf8)
            #expect(try ClientRegistration(document: JSON(parsing: bytes)) == registration)
        }
    }

    @Test(arguments: [["client_secret": "s"], ["client_id": true], [] as JSON])
    func `a stored document without a client ID is no registration`(document: JSON) {
        #expect(refusal { try ClientRegistration(document: document) }?.code == .invalidConfiguration)
    }

    @Test func `a client with a key is registered with its public half`() async throws {
        try await World.run { world in
            let key = try ClientKey(pem: SigningKey.generate(.es256).pem)
            var metadata = World.clientMetadata
            metadata.tokenEndpointAuthMethod = "private_key_jwt"
            metadata.jwks = [key.publicJWK]
            let registration = try await world.register(metadata)
            let provider = try await world.metadata()
            #expect(refusal { try registration.client(at: provider) }?.code == .invalidConfiguration)
            let client = try registration.client(at: provider, keyNamed: "mine")
            #expect(client.authentication == .privateKeyJWT(keyNamed: "mine"))
            var environment = world.environment
            environment.clientKey = { _ in key }
            let response = try await world.authorize(client)
            let state = try await AuthState.exchange(response, store: TestStore(), environment: environment)
            #expect(await state.record.hasRefreshToken)
        }
    }

    @Test func `initial access token and software statement are sent, and are in no error`() async throws {
        var configuration = LocalProvider.Configuration.demo
        let key = try SigningKey.generate(.es256)
        configuration.registration?.initialAccessToken = "let-me-in-please"
        configuration.registration?.requiresSoftwareStatement = true
        configuration.registration?.statementIssuers = [TrustedIssuer("https://vendor.example", keys: [key.publicKey])]
        try await World.run(configuration) { world in
            let claims: JSON = ["iss": "https://vendor.example", "client_name": "The Vendor's App"]
            let statement = Secret(try JWS.sign(claims, with: key))
            func register(_ statement: Secret?, _ token: String) async throws -> ClientRegistration {
                try await ClientRegistrationRequest(
                    provider: world.metadata(), metadata: World.clientMetadata, softwareStatement: statement,
                    initialAccessToken: Secret(token)
                ).send(in: world.environment)
            }
            let registration = try await register(statement, "let-me-in-please")
            #expect(registration.metadata.clientName == "The Vendor's App")
            #expect(
                await authError { try await register(nil, "let-me-in-please") }?.code == .unapprovedSoftwareStatement)
            let body: JSON = [
                "error": "invalid_software_statement",
                "error_description": .string("\(statement.reveal()) let-me-in-please"),
            ]
            world.provider.fault(.status(.badRequest, json: body), at: .clientRegistration)
            let error = try #require(await authError { try await register(statement, "let-me-in-please") })
            #expect(error.code == .invalidSoftwareStatement && error.stage == .registration)
            #expect(!"\(error)".contains("let-me-in") && !"\(error)".contains(statement.reveal()))
            #expect(await authError { try await register(statement, "let-me-out-please") }?.httpStatus == 401)
        }
    }

    @Test(arguments: ["invalid_redirect_uri", "invalid_client_metadata", "unapproved_software_statement"])
    func `a refusal is the server's own error`(code: String) async throws {
        try await World.run { world in
            world.provider.fault(.status(.badRequest, json: ["error": .string(code)]), at: .clientRegistration)
            #expect(await authError { try await world.register() }?.code.rawValue == code)
        }
    }

    /// RFC 7591 §3.2.1: without it there is no client.
    @Test(
        arguments: [
            (nil, "expected 'client_id', found none"), (true, "expected 'client_id' to be a string"),
            ("", "expected 'client_id', found none"), ("a\nb", "'client_id' to be 1 to"),
        ] as [(JSON?, String)])
    func `a response without a usable client id is refused`(value: JSON?, message: String) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["client_id"] = value }, at: .clientRegistration)
            let error = try #require(await authError { try await world.registerWithSecret() })
            #expect(error.code == .invalidResponse && error.outcome == .perhapsProcessed)
            #expect(error.message.contains(message), "\(error)")
        }
    }

    /// Each malformed in one respect (RFC 7591 §3.2.1, RFC 7592 §3): the provider has made the client by now.
    @Test(
        arguments: [
            ("client_secret_expires_at", "soon"), ("client_secret_expires_at", -1), ("client_id_issued_at", "now"),
            ("client_id_issued_at", ["x"]), ("registration_access_token", nil), ("registration_access_token", 7),
            ("registration_client_uri", nil), ("registration_client_uri", "http://op.example/clients/1"),
            ("redirect_uris", "http://127.0.0.1/"),
        ] as [(String, JSON?)])
    func `a member that is malformed does not lose the client`(name: String, value: JSON?) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0[name] = value }, at: .clientRegistration)
            let registration = try await world.registerWithSecret()
            let state = try await world.signIn(registration.client(at: world.metadata()))
            #expect(await state.record.client.registration == registration)
            let managed = registration.accessToken != nil && registration.configurationEndpoint != nil
            #expect(managed != name.hasPrefix("registration_"))
            let error = await authError { try await registration.read(in: world.environment) }
            #expect(error?.code == (managed ? nil : .invalidConfiguration))
        }
    }

    /// LemonLDAP::NG sends them so.
    @Test func `a time in a string is a time`() async throws {
        try await World.run { world in
            let edit = Fault.editDocument { document in
                (document["client_id_issued_at"], document["client_secret_expires_at"]) = ("1700000000", "1800000000")
            }
            world.provider.fault(edit, at: .clientRegistration)
            let registration = try await world.registerWithSecret()
            #expect(registration.clientIDIssuedAt == Date(timeIntervalSince1970: 1_700_000_000))
            #expect(registration.clientSecretExpiresAt == Date(timeIntervalSince1970: 1_800_000_000))
        }
    }

    @Test(
        arguments: [
            ("client_secret", ["x"], "expected a 'client_secret'"), ("client_secret", "", "expected a 'client_secret'"),
            ("token_endpoint_auth_method", 1, "expected 'token_endpoint_auth_method' to be a string"),
        ] as [(String, JSON, String)])
    func `what the client cannot authenticate without is missed when a client is made`(
        name: String, value: JSON, message: String
    ) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0[name] = value }, at: .clientRegistration)
            let (registration, provider) = (try await world.registerWithSecret(), try await world.metadata())
            let error = refusal { try registration.client(at: provider) }
            #expect(error?.code == .invalidResponse && error?.message.contains(message) == true, "\(error as Any)")
        }
    }

    /// RFC 7591 §3.2.1 requires it; django-oauth-toolkit does without.
    @Test func `a secret without a reported expiry has none`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["client_secret_expires_at"] = nil }, at: .clientRegistration)
            let registration = try await world.registerWithSecret()
            #expect(registration.clientSecret != nil && registration.clientSecretExpiresAt == nil)
        }
    }

    /// OpenID Connect Registration §3.2 has SHOULD for 201.
    @Test func `200 is a registration too`() async throws {
        try await World.run { world in
            world.provider.fault(.editReply { $0.status = .ok }, at: .clientRegistration)
            let registration = try await world.register()
            #expect(!registration.clientID.isEmpty)
        }
    }

    @Test func `another success than 201 and 200 is no registration`() async throws {
        try await World.run { world in
            world.provider.fault(.editReply { $0.status = .accepted }, at: .clientRegistration)
            let error = await authError { try await world.register() }
            #expect(error?.code == .invalidResponse && error?.message.contains("expected status 201") == true)
        }
    }

    @Test(arguments: ["client_secret_basic", "client_secret_post", "client_secret_jwt"])
    func `a client that asked for no method, and got no secret, has none`(method: String) async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { $0["token_endpoint_auth_method"] = .string(method) }, at: .clientRegistration)
            let client = try await world.register().client(at: try await world.metadata())
            #expect(client.authentication == .none)
        }
    }

    @Test(arguments: [
        ("guess", "expected a supported 'token_endpoint_auth_method', found 'guess'"),
        ("private_key_jwt", "expected the name of the client’s key"),
    ])
    func `a registered method that cannot be used makes no client`(method: String, message: String) async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { $0["token_endpoint_auth_method"] = .string(method) }, at: .clientRegistration)
            let registration = try await world.register()
            let provider = try await world.metadata()
            let error = refusal { try registration.client(at: provider) }
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
        }
    }

    @Test(arguments: ["client_id", "client_secret", "registration_access_token", "software_statement"])
    func `a member that is no metadata is not sent`(name: String) async throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.registration: "https://op.example/register"])
        var metadata = World.clientMetadata
        _ = try ClientRegistrationRequest(provider: provider, metadata: metadata)
        metadata[name] = "x"
        let error = refusal { try ClientRegistrationRequest(provider: provider, metadata: metadata) }
        #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
    }

    @Test func `keys are sent by value or by reference, and a provider without the endpoint is named`() throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.registration: "https://op.example/register"])
        var metadata = World.clientMetadata
        metadata["jwks_uri"] = "https://app.example/jwks"
        _ = try ClientRegistrationRequest(provider: provider, metadata: metadata)
        metadata.jwks = []
        #expect(
            refusal { try ClientRegistrationRequest(provider: provider, metadata: metadata) }?.code
                == .invalidConfiguration)
        let without = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
        #expect(
            refusal { try ClientRegistrationRequest(provider: without, metadata: World.clientMetadata) }?.code
                == .invalidMetadata)
    }

    @Test func `metadata has room for any member`() {
        var metadata = World.clientMetadata
        metadata["client_name#de"] = "Meine App"
        metadata.scope = [.openID, "api"]
        #expect(metadata.members["client_name#de"] == "Meine App" && metadata.members["scope"] == "openid api")
        metadata.scope = nil
        #expect(metadata.members["scope"] == nil && metadata.grantTypes == [.authorizationCode, .refreshToken])
    }
}
