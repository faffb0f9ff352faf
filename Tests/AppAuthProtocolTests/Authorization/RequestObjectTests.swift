import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9101 §4, §10; OpenID Connect Core §6.1.
struct RequestObjectTests {
    private let key: ClientKey
    private let signer: SigningKey
    private let now = Timestamp(wall: Date(timeIntervalSince1970: 1_750_000_000))

    init() throws {
        signer = try SigningKey.generate(.es256)
        key = try ClientKey(pem: signer.pem, keyID: "k-1")
    }

    @Test func `a signed request holds every parameter, and the browser carries no more than it has to`() async throws {
        var options = AuthorizationRequest.Options()
        (options.maxAge, options.signingKeyName) = (60, "mine")
        options.resources = ["https://a.example", "https://b.example"]
        options.claims = ["id_token": ["acr": .null]]
        options.authorizationDetails = [AuthorizationDetail("b", actions: ["read"])]
        let request = try request(options)
        let signed = try await request.signed(in: environment)
        let carried = try Self.parameters(of: signed.url)
        #expect(carried.items.map(\.name) == ["response_type", "client_id", "scope", "request"])
        let token = try #require(carried.values("request").first)
        #expect(try JWS(compact: token).isSigned(by: VerificationKey(signer.publicKey), algorithm: .es256))
        let header = try jwtPart(0, token)
        #expect(header["typ"]?.string == "oauth-authz-req+jwt")
        #expect(header["kid"]?.string == "k-1")
        let claims = try jwtPart(1, token)
        #expect(claims["iss"]?.string == "c")
        #expect(claims["aud"]?.string == "https://op.example")
        #expect(claims["iat"]?.int == 1_750_000_000)
        #expect(claims["nbf"]?.int == 1_750_000_000)
        #expect(claims["exp"]?.int == 1_750_000_300)
        #expect(claims["jti"]?.string?.isEmpty == false)
        #expect(claims["state"]?.string == request.state.reveal())
        #expect(claims["nonce"]?.string == request.nonce?.reveal())
        #expect(claims["code_challenge"]?.string == request.pkce.codeChallenge)
        #expect(claims["redirect_uri"]?.string == "http://127.0.0.1/cb")
        #expect(claims["max_age"]?.int == 60)
        #expect(claims["resource"]?.strings == ["https://a.example", "https://b.example"])
        #expect(claims["claims"] == ["id_token": ["acr": .null]])
        #expect(claims["authorization_details"] == [["type": "b", "actions": ["read"]]])
        // The response is checked against the same request.
        #expect(signed.state == request.state)
    }

    @Test func `it is valid by the server's clock`() async throws {
        var options = AuthorizationRequest.Options()
        options.signingKeyName = "mine"
        let environment = environment
        let discovery = HTTPRequest(method: .get, scheme: "https", authority: "op.example", path: "/")
        let head = HTTPResponse(status: .ok, headerFields: [.date: (now.wall - 3600).httpDate])
        environment.serverClocks.note(TransportResponse(head, body: []), to: discovery, at: now)
        let signed = try await request(options).signed(in: environment)
        let claims = try jwtPart(1, try #require(Self.parameters(of: signed.url).values("request").first))
        #expect(claims["iat"]?.int == 1_750_000_000 - 3600 && claims["nbf"] == claims["iat"])
        #expect(claims["exp"]?.int == 1_750_000_300 - 3600)
    }

    @Test func `it is signed where the provider requires it, by the key that the client authenticates by`() async throws
    {
        let required = try request(.init(), requires: true, .privateKeyJWT(keyNamed: "mine"))
        #expect(try await Self.parameters(of: required.prepared(in: environment).url).values("request").count == 1)
        let free = try request(.init(), .privateKeyJWT(keyNamed: "mine"))
        #expect(try await free.prepared(in: environment).url == free.url)
        var options = AuthorizationRequest.Options()
        options.signingKeyName = "mine"
        let wanted = try await request(options).prepared(in: environment)
        #expect(try Self.parameters(of: wanted.url).values("request").count == 1)
        let keyless = try request(.init(), requires: true)
        #expect(await authError { try await keyless.prepared(in: environment) }?.code == .invalidConfiguration)
    }

    @Test func `no parameter of the app's changes what the library says of it, and no two are the same`() async throws {
        var options = AuthorizationRequest.Options()
        options.signingKeyName = "mine"
        options.additionalParameters = ["iss", "aud", "iat", "nbf", "exp", "jti", "x"].map { .init($0, "1") }
        var claims: [JSON] = []
        for _ in 0..<2 {
            let url = try await request(options).signed(in: environment).url
            claims.append(try jwtPart(1, #require(Self.parameters(of: url).values("request").first)))
        }
        #expect(claims[0]["iss"]?.string == "c")
        #expect(claims[0]["aud"]?.string == "https://op.example")
        #expect(claims[0]["iat"]?.int == 1_750_000_000)
        #expect(claims[0]["nbf"]?.int == 1_750_000_000)
        #expect(claims[0]["exp"]?.int == 1_750_000_300)
        #expect(claims[0]["x"]?.string == "1")
        #expect(claims[0]["jti"] != "1" && claims[0]["jti"] != claims[1]["jti"])
    }

    @Test func `a key of a kind that the provider does not know is refused`() async throws {
        var options = AuthorizationRequest.Options()
        options.signingKeyName = "mine"
        let error = await authError { try await request(options, algorithms: ["RS256"]).signed(in: environment) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("RS256") == true)
        #expect(try await request(options, algorithms: ["ES256"]).signed(in: environment).url.contains("request="))
    }

    @Test(arguments: [false, true])
    func `a server that requires signed requests takes ours, pushed or not`(isPushed: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        (configuration.requiresSignedRequestObjects, configuration.requiresPushedRequests) = (true, isPushed)
        configuration.clients[0].keys = [signer.publicKey]
        configuration.clients[0].authentication = [.privateKeyJWT]
        try await World.run(configuration) { world in
            var environment = world.environment
            environment.clientKey = { [signer] _ in try ClientKey(pem: signer.pem) }
            var options = AuthorizationRequest.Options()
            (options.signingKeyName, options.maxAge) = ("mine", 600)
            let response = try await world.authorize(
                world.client("demo", .privateKeyJWT(keyNamed: "mine")), options: options, in: environment)
            let state = try await AuthState.exchange(response, store: MemoryTokenStore(), environment: environment)
            #expect(await state.record.idToken?.subject == "248289761001")
            let names = try #require(world.provider.log(.authorization).first).query.names.sorted()
            let signed = ["client_id", "request", "response_type", "scope"]
            #expect(names == (isPushed ? ["client_id", "request_uri"] : signed))
            if isPushed {
                let form = try #require(world.provider.log(.pushedAuthorization).first).form
                #expect(
                    form.names.sorted() == ["client_assertion", "client_assertion_type", "client_id", "request"])
            }
        }
    }

    private func request(
        _ options: AuthorizationRequest.Options, requires: Bool? = nil, algorithms: [String]? = nil,
        _ authentication: ClientAuthentication = .none
    ) throws -> AuthorizationRequest {
        var more = JSON.Object()
        more["require_signed_request_object"] = requires.map(JSON.bool)
        more["request_object_signing_alg_values_supported"] = algorithms.map { .array($0.map(JSON.string)) }
        let provider = try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [.authorization: "https://op.example/a", .token: "https://op.example/t"], more: more)
        return try AuthorizationRequest(
            client: Client(id: "c", authentication: authentication, provider: provider),
            redirectURI: "http://127.0.0.1/cb", options: options)
    }

    private var environment: Environment {
        var environment = Environment(transport: NoTransport(), now: { [now] in now })
        environment.clientKey = { [key] name in
            #expect(name == "mine")
            return key
        }
        return environment
    }

    private struct NoTransport: HTTPTransport {
        func send(_ exchange: TransportRequest) async throws -> TransportResponse { throw CancellationError() }
    }

    private static func parameters(of url: String) throws -> FormParameters {
        try #require(FormParameters(decoding: url.split(separator: "?")[1]))
    }
}
