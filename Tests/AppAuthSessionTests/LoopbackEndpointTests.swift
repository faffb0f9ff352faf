import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A remote provider may not name an endpoint on this computer: the library would send requests to local services.
struct LoopbackEndpointTests {
    /// Two providers: one that is reached as https://op.example, and one that represents a local service.
    private func run(_ test: (OtherHostTransport, World, LocalProvider) async throws -> Void) async throws {
        try await World.run { local in
            try await World.run { world in
                try await test(OtherHostTransport(provider: world.provider), world, local.provider)
                #expect(local.provider.log.isEmpty)
            }
        }
    }

    /// Reaches a local provider as https://op.example, which is its issuer then; everything else as it is.
    private struct OtherHostTransport: HTTPTransport {
        static let issuer = "https://op.example"
        let provider: LocalProvider
        private let curl = CurlTransport()

        var environment: Environment { Environment(transport: self) }
        var discovery: Discovery { Discovery(environment: environment) }

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            guard exchange.head.authority == "op.example" else { return try await curl.send(exchange) }
            var exchange = exchange
            (exchange.head.scheme, exchange.head.authority) = ("http", "127.0.0.1:\(provider.port)")
            var response = try await curl.send(exchange)
            let text = String(decoding: response.body, as: UTF8.self)
            response.body = Array(text.replacing(provider.issuer, with: Self.issuer).utf8)
            return response
        }
    }

    private static let endpoints = [
        "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "revocation_endpoint",
        "introspection_endpoint", "registration_endpoint", "end_session_endpoint", "device_authorization_endpoint",
        "pushed_authorization_request_endpoint", "backchannel_authentication_endpoint",
    ]

    @Test(arguments: endpoints, [true, false])
    func `a remote provider may not name an endpoint on this computer`(name: String, isAlias: Bool) async throws {
        try await run { elsewhere, world, local in
            let url = local.url(.token)
            let fault = Fault.editDocument { document in
                if isAlias {
                    document["mtls_endpoint_aliases"] = [name: .string(url)]
                } else {
                    document[name] = .string(url)
                }
            }
            world.provider.fault(fault, at: .openIDConfiguration, times: 2)
            let error = await authError {
                let provider = try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer))
                let client = Client(id: "a", authentication: isAlias ? .tlsClientAuth : .none, provider: provider)
                #expect(client[.init(rawValue: name)]?.string != url)
                return try client.require(.init(rawValue: name))
            }
            #expect(error?.code == .invalidMetadata && error?.stage == .discovery)
            #expect(error?.message.contains("'\(isAlias ? "mtls_endpoint_aliases." : "")\(name)'") == true)
            #expect(error?.message.contains(url) == true)
            // A provider on this machine may.
            #expect(await authError { try await world.metadata() } == nil)
            #expect(
                await authError { try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer)) }
                    == nil)
        }
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:8080/a", false), ("http://127.9.9.9/a", false), ("http://localhost/a", false),
            ("http://[::1]/a", false), ("https://127.0.0.1/a", false), ("https://127.0.0.1./a", false),
            ("https://127.1/a", false), ("https://0x7f.0.0.1/a", false), ("https://2130706433/a", false),
            ("https://017700000001/a", false), ("https://0.0.0.0/a", false), ("https://0/a", false),
            ("https://LOCALHOST./a", false), ("https://a.localhost/a", false), ("https://ip6-localhost/a", false),
            ("https://[::]/a", false), ("https://[0:0:0:0:0:0:0:1]/a", false),
            ("https://[::ffff:127.0.0.1]/a", false), ("https://[::ffff:7f00:1]/a", false),
            ("https://[::127.0.0.1]/a", false), ("https://128.0.0.1/a", true), ("https://10.0.0.1/a", true),
            ("https://localhost.example/a", true), ("https://127.0.0.1.example/a", true),
            ("https://notlocalhost/a", true), ("https://[2001:db8::7f00:1]/a", true),
            ("https://[::ffff:10.0.0.1]/a", true), ("https://[::1:ffff:7f00:1]/a", true), ("https://127.e/a", true),
        ])
    func `every notation that resolvers accept for this computer is recognised`(url: String, isTaken: Bool) async throws
    {
        try await run { elsewhere, world, _ in
            world.provider.fault(.editDocument { $0["token_endpoint"] = .string(url) }, at: .openIDConfiguration)
            let error = await authError {
                try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer)).require(.token)
            }
            #expect((error == nil) == isTaken, "\(String(describing: error))")
        }
    }

    @Test func `the second document may not name an endpoint on this machine either (RFC 8414)`() async throws {
        try await run { elsewhere, world, local in
            let url = local.url(.revocation)
            world.provider.fault(
                .editDocument { $0["revocation_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            world.provider.fault(.editDocument { $0["revocation_endpoint"] = .string(url) }, at: .oauthMetadata)
            let metadata = try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer))
            #expect(try await elsewhere.discovery.complete(metadata, with: .revocation) == metadata)
            #expect(try await elsewhere.discovery.complete(metadata, with: .revocation)[.revocation] != nil)
        }
    }

    @Test func `an unknown endpoint on this computer is ignored`() async throws {
        try await run { elsewhere, world, local in
            let url = local.url(.api)
            world.provider.fault(.editDocument { $0["our_endpoint"] = .string(url) }, at: .openIDConfiguration)
            let metadata = try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer))
            let endpoint = ProviderMetadata.Endpoint(rawValue: "our_endpoint")
            #expect(metadata[endpoint] == nil)
            #expect(refusal { try metadata.require(endpoint) }?.message.contains("'our_endpoint': \(url)") == true)
        }
    }

    @Test func `metadata that the app supplies may name endpoints on this computer`() async throws {
        let url = "http://127.0.0.1:8080/token"
        let metadata = try ProviderMetadata(
            issuer: Issuer(OtherHostTransport.issuer), endpoints: [.token: url],
            more: ["mtls_endpoint_aliases": ["revocation_endpoint": .string(url)]])
        #expect(metadata[.token]?.string == url && metadata.mutualTLSAlias(of: .revocation)?.string == url)
    }

    @Test(arguments: [ProviderMetadata.Endpoint.token, .revocation])
    func `a stored session sends nothing to a loopback endpoint that discovery once allowed`(
        endpoint: ProviderMetadata.Endpoint
    ) async throws {
        func state(_ world: World, isDiscovered: Bool) async throws -> AuthState {
            let url = world.provider.url(endpoint == .token ? .token : .revocation)
            let provider = try ProviderMetadata(
                issuer: Issuer(OtherHostTransport.issuer), endpoints: [endpoint: url])
            let record = try AuthStateRecord(
                client: Client(id: "demo", provider: provider), accessToken: nil, refreshToken: Secret("of-no-use"))
            var document = try #require(try JSON(parsing: record.encoded()).object)
            var client = try #require(document["client"]?.object)
            if isDiscovered { client["isDiscovered"] = true }
            document["client"] = .object(client)
            let bytes = Array(JSON.object(document).serialized().utf8)
            return try await AuthState(
                record: try AuthStateRecord(decoding: bytes, from: "a test"), store: MemoryTokenStore(),
                environment: world.environment)
        }
        func use(_ state: AuthState) async -> AuthError? {
            if endpoint == .token { return await authError { try await state.freshAccessToken() } }
            _ = await state.revokeTokens()
            return nil
        }
        try await World.run { world in
            let error = await use(try await state(world, isDiscovered: true))
            #expect(world.provider.log.isEmpty)
            #expect(endpoint != .token || error?.message.contains("'token_endpoint': \(world.provider.issuer)") == true)
            _ = await use(try await state(world, isDiscovered: false))
            #expect(world.provider.log.count == 1)
        }
    }

    @Test func `a registration may not name a management endpoint on this computer`() async throws {
        try await run { elsewhere, world, local in
            let url = local.url(.clientConfiguration)
            let provider = try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer))
            let request = try ClientRegistrationRequest(provider: provider, metadata: World.clientMetadata)
            let registration = try await request.send(in: elsewhere.environment)
            #expect(registration.configurationEndpoint?.host == "op.example")
            let fault = Fault.editDocument { $0["registration_client_uri"] = .string(url) }
            world.provider.fault(fault, at: .clientRegistration)
            // The client has been made, and is kept without it.
            #expect(try await request.send(in: elsewhere.environment).configurationEndpoint == nil)
            world.provider.fault(fault, at: .clientConfiguration)
            let read = try await registration.read(in: elsewhere.environment)
            #expect(read.configurationEndpoint == registration.configurationEndpoint)

            // One that is stored since before that was checked.
            let record = try AuthStateRecord(
                client: registration.client(at: provider), accessToken: nil, refreshToken: nil)
            let stored = String(decoding: try record.encoded(), as: UTF8.self)
                .replacing(try #require(registration.configurationEndpoint?.string), with: url)
            let state = try await AuthState(
                record: try AuthStateRecord(decoding: Array(stored.utf8), from: "a test"), store: MemoryTokenStore(),
                environment: elsewhere.environment)
            let refused = await authError { try await state.registration() }
            #expect(refused?.message.contains("'registration_client_uri': \(url)") == true)
        }
    }

    @Test(arguments: ["verification_uri", "verification_uri_complete"])
    func `a device response may not name a page on this computer`(name: String) async throws {
        try await run { elsewhere, world, local in
            let url = local.url(.deviceVerification)
            let provider = try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer))
            let request = try DeviceAuthorizationRequest(client: Client(id: "demo", provider: provider))
            #expect(await authError { try await request.send(in: elsewhere.environment) } == nil)
            world.provider.fault(.editDocument { $0[name] = .string(url) }, at: .deviceAuthorization)
            do {
                let authorization = try await request.send(in: elsewhere.environment)
                // The user can do without it.
                #expect(name == "verification_uri_complete" && authorization.verificationURIComplete == nil)
            } catch let error as AuthError {
                #expect(name == "verification_uri" && error.message.contains("'\(name)': \(url)"), "\(error)")
            }
        }
    }

    @Test func `a claim source may not name an endpoint on this computer`() async throws {
        try await run { elsewhere, _, local in
            let url = local.url(.foreignClaims)
            let claims = Claims([
                "_claim_names": ["score": "bank"],
                "_claim_sources": ["bank": ["endpoint": .string(url), "access_token": "for-the-bank"]],
            ])
            let client = Client(
                id: "demo", provider: try await elsewhere.discovery.metadata(for: Issuer(OtherHostTransport.issuer)))
            let source = try #require(try claims.sources.first)
            let error = await authError {
                try await ClaimSourceReader(client: client, environment: elsewhere.environment).claims(of: source)
            }
            #expect(error?.message.contains("'endpoint': \(url)") == true)
        }
    }
}
