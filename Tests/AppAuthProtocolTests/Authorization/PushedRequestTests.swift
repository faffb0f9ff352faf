import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9126, at a real server.
@Suite(.timeLimit(.minutes(1)))
struct PushedRequestTests {
    @Test func `a pushed request gives the browser only a reference, and signs in`() async throws {
        try await World.run { world in
            let state = try await AuthState.exchange(
                world.authorize(world.client(), options: pushed), store: MemoryTokenStore(),
                environment: world.environment)
            #expect(await state.record.idToken?.subject == "248289761001")
            let sent = try #require(world.provider.log(.authorization).first)
            #expect(sent.query.names.sorted() == ["client_id", "request_uri"])
            let form = try #require(world.provider.log(.pushedAuthorization).first?.form)
            #expect(form["code_challenge_method"] == "S256")
            #expect(form["client_id"] == "demo")
        }
    }

    @Test func `if the provider requires pushed requests, the app need not ask for them`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.requiresPushedRequests = true
        try await World.run(configuration) { world in
            _ = try await world.signIn()
            #expect(world.provider.count(.pushedAuthorization) == 1)
        }
        try await World.run { world in
            _ = try await world.signIn()
            #expect(world.provider.count(.pushedAuthorization) == 0)
        }
    }

    @Test func `a client with a secret authenticates when it pushes, and is named once`() async throws {
        try await World.run { world in
            let secret = ClientAuthentication.clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two"))
            let client = try await world.client("demo-confidential", secret)
            _ = try await world.authorize(client, options: pushed)
            let sent = try #require(world.provider.log(.pushedAuthorization).first)
            #expect(sent.headers[.authorization]?.hasPrefix("Basic ") == true)
            // RFC 9126 §2.1: the id is a parameter of the request too.
            #expect(sent.form.names.filter { $0 == "client_id" } == ["client_id"])
            let wrong = try await world.client("demo-confidential", .clientSecretPost(Secret("wrong")))
            let error = await authError { try await world.authorize(wrong, options: pushed) }
            #expect(error?.code == .invalidClient)
        }
    }

    @Test func `the server's error is reported before the browser opens`() async throws {
        try await World.run { world in
            var options = pushed
            options.prompt = ["none", "login"]
            let error = await authError { try await world.authorize(world.client(), options: options) }
            #expect(error?.code == "invalid_request")
            #expect(error?.stage == .authorization)
            #expect(world.provider.count(.authorization) == 0)
        }
    }

    @Test(arguments: [
        Fault.editDocument { $0["request_uri"] = nil }, .editDocument { $0["request_uri"] = "" },
        .editDocument { $0["request_uri"] = .string("urn:" + String(repeating: "x", count: 2045)) },
        .editDocument { $0["request_uri"] = 1 }, .editDocument { $0["request_uri"] = "urn:a b" },
        .editDocument { $0["expires_in"] = nil }, .editDocument { $0["expires_in"] = "soon" },
        .editDocument { $0["expires_in"] = 0 }, .editDocument { $0["expires_in"] = -1 },
        .status(.accepted, json: ["request_uri": "urn:x", "expires_in": 60]), .status(.created), .htmlPage,
        .redirect(to: "https://evil.example/"),
    ])
    func `a response that is not right is refused`(fault: Fault) async throws {
        try await World.run { world in
            let client = try await world.client()
            world.provider.fault(fault, at: .pushedAuthorization)
            let request = try AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1/cb", options: pushed)
            let error = await authError { try await request.prepared(in: world.environment) }
            #expect(error?.code == .invalidResponse)
            #expect(world.provider.count(.pushedAuthorization) == 1)
        }
    }

    @Test func `an error that repeats the request shows no secret`() async throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [
                .authorization: "https://op.example/authorize", .pushedAuthorizationRequest: "https://op.example/par",
            ])
        let client = Client(id: "c", authentication: .clientSecretPost(Secret("a client secret")), provider: provider)
        var options = AuthorizationRequest.Options()
        options.idTokenHint = Secret("e30.e30.AA")
        let request = try AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1/cb", options: options)
        let error = await authError { try await request.pushed(in: Environment(transport: Echo())) }
        #expect(error?.server?.errorDescription == "[redacted] [redacted] [redacted] [redacted]")
    }

    /// A server that repeats secrets in its error.
    private struct Echo: HTTPTransport {
        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            let form = try #require(FormParameters(decoding: String(decoding: exchange.body ?? [], as: UTF8.self)))
            let texts = ["state", "nonce", "id_token_hint", "client_secret"].flatMap(form.values)
            let json: JSON = ["error": "invalid_request", "error_description": .string(texts.joined(separator: " "))]
            return TransportResponse(HTTPResponse(status: .badRequest), body: Array(json.serialized().utf8))
        }
    }

    @Test func `a provider without such a location is no provider for it`() async throws {
        try await World.run { world in
            var document = JSON.object(try await world.metadata().document)
            guard case .object(var members) = document else { return }
            members["pushed_authorization_request_endpoint"] = nil
            document = .object(members)
            let client = Client(id: "demo", provider: try ProviderMetadata(document: document))
            let error = await authError { try await world.authorize(client, options: pushed) }
            #expect(error?.code == .invalidMetadata)
            #expect(error?.message.contains("pushed_authorization_request_endpoint") == true)
        }
    }

    private var pushed: AuthorizationRequest.Options {
        var options = AuthorizationRequest.Options()
        options.isPushed = true
        return options
    }
}
