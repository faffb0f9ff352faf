import AppAuthConcurrency
import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// RFC 8705 §2, §5: the endpoints and the requests of a client with a certificate.
struct MutualTLSTests {
    // oidcc-client-test-mtls-endpoint-aliases
    @Test func `a client with a certificate goes to the locations for that, where there are any`() throws {
        for authentication in [ClientAuthentication.tlsClientAuth, .selfSignedTLSClientAuth] {
            let client = try client(authentication)
            #expect(try client.require(.token).string == "https://mtls.op.example/token")
            #expect(try client.require(.userInfo).string == "https://op.example/userinfo")
            #expect(client[.revocation]?.string == "https://mtls.op.example/revoke")
            #expect(client[.userInfo]?.string == "https://op.example/userinfo")
            #expect(client[.registration] == nil)
        }
        let bound = try client(.clientSecretBasic(Secret("s")), bindsTokensToCertificate: true)
        #expect(try bound.require(.token).string == "https://mtls.op.example/token")
        #expect(try client(.none).require(.token).string == "https://op.example/token")
    }

    @Test func `every request of such a client goes to the location for it`() async throws {
        let endpoints: [ProviderMetadata.Endpoint] = [
            .token, .userInfo, .revocation, .introspection, .deviceAuthorization, .pushedAuthorizationRequest,
            .backchannelAuthentication,
        ]
        var aliases = JSON.Object()
        for endpoint in endpoints {
            aliases[endpoint.rawValue] = .string("https://mtls.op.example/" + endpoint.rawValue)
        }
        let usual =
            endpoints.map { ($0, "https://op.example/" + $0.rawValue) } + [(.authorization, "https://op.example")]
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: Dictionary(uniqueKeysWithValues: usual),
            more: ["mtls_endpoint_aliases": .object(aliases)])
        let client = Client(id: "c", authentication: .tlsClientAuth, provider: provider)
        let host = Host()
        let environment = Environment(transport: host)
        let token = AccessToken(value: Secret("a"), received: .current, lifetime: nil)
        let state = try await AuthState(
            record: try AuthStateRecord(client: client, accessToken: token, refreshToken: Secret("r")),
            store: MemoryTokenStore(), environment: environment)
        _ = await authError { try await state.userInfo() }
        _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
        _ = await state.revokeTokens()
        _ = await authError {
            try await IntrospectionEndpoint(client: client, environment: environment).introspect(Secret("a"))
        }
        _ = await authError { try await DeviceAuthorizationRequest(client: client).send(in: environment) }
        _ = await authError {
            try await AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1/cb").pushed(in: environment)
        }
        _ = await authError {
            try await BackchannelAuthenticationRequest(client: client, hint: .login("a")).send(in: environment)
        }
        _ = await authError {
            try await TokenExchangeRequest(of: SecurityToken(Secret("a"), kind: .accessToken))
                .send(as: client, in: environment)
        }
        let names = [
            "userinfo_endpoint", "token_endpoint", "revocation_endpoint", "revocation_endpoint",
            "introspection_endpoint", "device_authorization_endpoint", "pushed_authorization_request_endpoint",
            "backchannel_authentication_endpoint", "token_endpoint",
        ]
        #expect(host.asked.withLock { $0 } == names.map { "https://mtls.op.example/" + $0 })
        // §2: the certificate identifies the client only together with the id.
        #expect(host.clients.withLock { $0 } == Array(repeating: "c", count: names.count - 1))
    }

    /// Refuses everything, and keeps where it was asked.
    private struct Host: HTTPTransport {
        let asked = LockedValue<[String]>([])
        let clients = LockedValue<[String]>([])

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            let request = exchange.head
            asked.withLock { $0.append("\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")") }
            let form = FormParameters(decoding: String(decoding: exchange.body ?? [], as: UTF8.self))
            clients.withLock { $0 += form?.values("client_id") ?? [] }
            return TransportResponse(HTTPResponse(status: .badRequest), body: [])
        }
    }

    @Test func `a provider says whether it binds tokens to certificates (§3.3)`() throws {
        func binds(_ value: JSON?) throws -> Bool {
            var more = JSON.Object()
            more["tls_client_certificate_bound_access_tokens"] = value
            return try ProviderMetadata(issuer: "https://op.example", endpoints: [:], more: more)
                .bindsAccessTokensToCertificates
        }
        #expect(try binds(true))
        #expect(try !binds(false))
        #expect(try !binds(nil))
    }

    @Test func `the browser goes where all go`() throws {
        let request = try AuthorizationRequest(client: client(.tlsClientAuth), redirectURI: "http://127.0.0.1/cb")
        #expect(request.url.hasPrefix("https://op.example/auth?"))
    }

    @Test func `a location that is not safe is refused when it is needed`() throws {
        let provider = try provider(aliases: ["token_endpoint": "http://mtls.op.example/token"])
        #expect(try Client(id: "a", provider: provider).require(.token).string == "https://op.example/token")
        let error = refusal { try Client(id: "a", authentication: .tlsClientAuth, provider: provider).require(.token) }
        #expect(error?.code == .invalidMetadata)
        #expect(error?.message.contains("token_endpoint") == true)
    }

    @Test func `how the client authenticates is stored`() async throws {
        for authentication in [ClientAuthentication.tlsClientAuth, .selfSignedTLSClientAuth] {
            let client = try client(authentication, bindsTokensToCertificate: true)
            let record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: Secret("r"))
            #expect(try AuthStateRecord(decoding: record.encoded(), from: "here").client == client)
        }
    }

    // §3.3
    @Test func `a provider says whether it binds tokens to certificates`() throws {
        for (value, binds) in [(true, true), (false, false), (nil, false), ("true", false)] as [(JSON?, Bool)] {
            var more = JSON.Object()
            more["tls_client_certificate_bound_access_tokens"] = value
            let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:], more: more)
            #expect(provider.bindsAccessTokensToCertificates == binds)
        }
    }

    /// The certificate of RFC 8705 appendix A.
    private static let certificate =
        "MIIBBjCBrAIBAjAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDARtdGxzMB4XDTE4MTAxODEyMzcwOVoXDTIyMDUwMjEyMzcwOVowDzENMAsGA1UE"
        + "AwwEbXRsczBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNcnyxwqV6hY8QnhxxzFQ03C7HKW9OylMbnQZjjJ_Au08_coZwxS7LfA4vOLS9Wu"
        + "neIXhbGGWvsDSb0tH6IxLm8wCgYIKoZIzj0EAwIDSQAwRgIhAP0RC1E-vwJD_D1AGHGzuri-hlV_PpQEKTWUVeORWz83AiEA5x2eXZOVbUlJ"
        + "SGQgjwD5vaUaKlLR50Q2DmFfQj1L-SY"

    // §3.1, appendix A
    @Test func `a token that is bound to a certificate is recognised by it`() throws {
        var certificate = try #require(Base64URL.decode(Self.certificate))
        let confirmation: JSON.Object = ["x5t#S256": "A4DtL2JmUMhAsvJj5tKyn64SqzmuXbMrJa0n761y5v0"]
        let bound = try #require(try CertificateThumbprint(confirmation: confirmation))
        #expect(bound == CertificateThumbprint(certificate: certificate))
        certificate[100] ^= 1
        #expect(bound != CertificateThumbprint(certificate: certificate))
        #expect(try CertificateThumbprint(confirmation: ["jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"]) == nil)
        #expect(try CertificateThumbprint(confirmation: nil) == nil)
    }

    @Test(arguments: ["", "A4Dt", 1, .null, "A4DtL2JmUMhAsvJj5tKyn64SqzmuXbMrJa0n761y5v0=", ["a"]] as [JSON])
    func `a thumbprint that is none is refused, and not passed over`(value: JSON) throws {
        let error = refusal { try CertificateThumbprint(confirmation: ["x5t#S256": value]) }
        #expect(error?.code == .invalidResponse && error?.message.contains("32 bytes in base64url, found") == true)
    }

    private func client(
        _ authentication: ClientAuthentication, bindsTokensToCertificate: Bool = false
    ) throws -> Client {
        Client(
            id: "c", authentication: authentication,
            provider: try provider(
                aliases: [
                    "token_endpoint": "https://mtls.op.example/token",
                    "revocation_endpoint": "https://mtls.op.example/revoke",
                    "authorization_endpoint": "https://mtls.op.example/auth",
                ]),
            bindsTokensToCertificate: bindsTokensToCertificate)
    }

    private func provider(aliases: JSON) throws -> ProviderMetadata {
        try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [
                .authorization: "https://op.example/auth", .token: "https://op.example/token",
                .userInfo: "https://op.example/userinfo", .revocation: "https://op.example/revoke",
            ], more: ["mtls_endpoint_aliases": aliases])
    }
}
