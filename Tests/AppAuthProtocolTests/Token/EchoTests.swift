import AppAuthConcurrency
import AppAuthServer
import AppAuthProtocol
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Servers that repeat the refused request: no error contains it, nor does the log.
struct EchoTests {
    /// Responds to every request with an error that repeats one of its parameters, or without that the client's credentials.
    private struct Echo: HTTPTransport {
        let name: String
        /// What it repeats instead.
        var other: String?
        let seen = LockedValue<[String]>([])

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            let form = FormParameters(decoding: String(decoding: exchange.body ?? [], as: UTF8.self))
            let header = exchange.head.headerFields[.authorization].map { String($0.dropFirst("Basic ".count)) }
            let value = other ?? form?.values(name).first ?? header ?? ""
            seen.withLock { $0.append(value) }
            let body: JSON = ["error": "invalid_request", "error_description": .string("unknown: \(value).")]
            return TransportResponse(
                .init(status: .badRequest, headerFields: [.contentType: "application/json"]),
                body: Array(body.serialized().utf8))
        }
    }

    private static let secret = Secret("a secret of at least thirty-two bytes")
    private static let methods: [ClientAuthentication] = [
        .clientSecretJWT(secret), .privateKeyJWT(keyNamed: "key"), .clientSecretPost(secret),
        .clientSecretBasic(secret),
    ]

    private func expectHidden(
        _ name: String, _ authentication: ClientAuthentication = .none, dialect: Dialect = Dialect(),
        _ send: (Client, Environment) async throws -> Void
    ) async throws {
        let (echo, log) = (Echo(name: name), LogCapture())
        let key = try ClientKey(pem: SigningKey.generate(.es256).pem)
        var environment = Environment(transport: echo, logger: log.logger)
        environment.clientKey = { _ in key }
        environment.dialect = dialect
        let endpoints = [
            "authorization", "token", "introspection", "pushed_authorization_request", "device_authorization",
            "backchannel_authentication",
        ].map { ("\($0)_endpoint", JSON.string("https://op.example/\($0)")) }
        let provider = try ProviderMetadata(
            document: .object(JSON.Object([("issuer", "https://op.example")] + endpoints)))
        let client = Client(id: "c", authentication: authentication, provider: provider)
        let error = try #require(await authError { try await send(client, environment) })
        let sent = try #require(echo.seen.withLock { $0 }.first)
        #expect(sent.utf8.count > 20)
        #expect(error.server?.errorDescription == "unknown: [redacted].", "\(name) by \(authentication.method)")
        for text in log.lines + ["\(error) \(String(reflecting: error))"] { #expect(!text.contains(sent.prefix(20))) }
    }

    /// Also if it is longer than what a message shows.
    @Test(arguments: ["access_token", "refresh_token", "code"], ["token_type", "expires_in"])
    func `a secret in the place of another value of a success is not shown`(name: String, place: String) throws {
        let secrets = ["access_token": "a", "refresh_token": "r", "code": "c"].mapValues {
            String(repeating: $0 + "-secret.", count: 40)
        }
        var json: JSON.Object = ["token_type": "Bearer"]
        for member in ["access_token", "refresh_token"] { json[member] = secrets[member].map(JSON.string) }
        json[place] = secrets[name].map(JSON.string)
        var response = TransportResponse(
            .init(status: .ok, headerFields: [.contentType: "application/json"]),
            body: Array(JSON.object(json).serialized().utf8))
        response.secrets = [Secret(try #require(secrets["code"]))]
        let error = refusal { try TokenResponse(response, received: .current, stage: .token) }
        let message = try #require(error?.message)
        #expect(message.hasSuffix("found '[redacted]'"), "\(message)")
    }

    @Test func `a secret in the place of the client's method is not shown`() throws {
        let provider = try ProviderMetadata(document: ["issuer": "https://op.example"])
        let registration = try ClientRegistration(
            document: [
                "client_id": "c", "client_secret": "a-secret-of-it", "token_endpoint_auth_method": "a-secret-of-it",
            ])
        let error = refusal { try registration.client(at: provider) }
        #expect(error?.message.hasSuffix("found '[redacted]'") == true, "\(error as Any)")
    }

    @Test func `the revocation of a token does not show the other tokens of the session`() async throws {
        let tokens = ["refresh_token", "access_token"].map {
            RevocableToken(typeHint: $0, value: Secret("the \($0) of the session"))
        }
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.revocation: "https://op.example/revoke"])
        for token in tokens {
            let environment = Environment(transport: Echo(name: "token", other: token.value.reveal()))
            let endpoint = RevocationEndpoint(client: Client(id: "c", provider: provider), environment: environment)
            let errors = await endpoint.revoke(tokens).map(\.error?.server?.errorDescription)
            #expect(errors == ["unknown: [redacted].", "unknown: [redacted]."])
        }
    }

    @Test func `the request is not shown after the response was translated`() async throws {
        var dialect = Dialect()
        dialect.tokenResponse = { TransportResponse($0.head, body: $0.body) }
        try await expectHidden("refresh_token", dialect: dialect) { client, environment in
            _ = try await ClientEndpoint(client: client, environment: environment)
                .send(.refresh(Secret("a refresh token that is long enough")), stage: .refresh)
        }
    }

    @Test(arguments: methods)
    func `client credentials are not shown`(authentication: ClientAuthentication) async throws {
        let name = authentication.method == "client_secret_post" ? "client_secret" : "client_assertion"
        try await expectHidden(name, authentication) { client, environment in
            _ = try await ClientEndpoint(client: client, environment: environment)
                .send(.refresh(Secret("refresh")), stage: .refresh)
        }
        try await expectHidden(name, authentication) { client, environment in
            _ = try await IntrospectionEndpoint(client: client, environment: environment).introspect(Secret("token"))
        }
        try await expectHidden(name, authentication) { client, environment in
            _ = try await request(client).pushed(in: environment)
        }
        try await expectHidden(name, authentication) { client, environment in
            _ = try await BackchannelAuthenticationRequest(client: client, hint: .login("jane")).send(in: environment)
        }
    }

    @Test(arguments: ["state", "nonce", "code_challenge", "login_hint"])
    func `the parameters of a pushed request are not shown`(name: String) async throws {
        try await expectHidden(name) { client, environment in
            _ = try await request(client).pushed(in: environment)
        }
    }

    @Test func `a signed request is not shown`() async throws {
        try await expectHidden("request", .privateKeyJWT(keyNamed: "key")) { client, environment in
            _ = try await request(client).signed(in: environment).pushed(in: environment)
        }
    }

    @Test func `a message without a secret is shown`() async throws {
        let echo = Echo(name: "response_type")
        let provider = try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [
                .authorization: "https://op.example/a", .pushedAuthorizationRequest: "https://op.example/p",
            ])
        let request = try request(Client(id: "c", provider: provider)) {
            ($0.responseType, $0.responseMode) = (.codeIDToken, .formPost)
        }
        let error = await authError { try await request.pushed(in: Environment(transport: echo)) }
        #expect(error?.server?.errorDescription == "unknown: code id_token.")
    }

    private func request(
        _ client: Client, _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) throws -> AuthorizationRequest {
        var options = AuthorizationRequest.Options()
        options.loginHint = "jane.doe.of.the.long.name@example.org"
        edit(&options)
        return try AuthorizationRequest(
            client: client, redirectURI: "http://127.0.0.1/cb", scope: [.openID], options: options)
    }
}
