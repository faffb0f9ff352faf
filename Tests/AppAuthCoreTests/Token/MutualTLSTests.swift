import AppAuthCore
import JOSE
import Testing

/// RFC 8705 §2, §5: where a client with a certificate goes, and what it says there.
struct MutualTLSTests {
    // oidcc-client-test-mtls-endpoint-aliases
    @Test func `a client with a certificate goes to the places for that, where there are any`() throws {
        for authentication in [ClientAuthentication.tlsClientAuth, .selfSignedTLSClientAuth] {
            let client = try client(authentication)
            #expect(try client.require(.token).string == "https://mtls.op.example/token")
            #expect(try client.require(.userInfo).string == "https://op.example/userinfo")
            #expect(client[.revocation]?.string == "https://mtls.op.example/revoke")
            #expect(client[.introspection] == nil)
        }
        let bound = try client(.clientSecretBasic(Secret("s")), bindsTokensToCertificate: true)
        #expect(try bound.require(.token).string == "https://mtls.op.example/token")
        #expect(try client(.none).require(.token).string == "https://op.example/token")
    }

    @Test func `the browser goes where all go`() throws {
        let request = try AuthorizationRequest(client: client(.tlsClientAuth), redirectURI: "http://127.0.0.1/cb")
        #expect(request.url.hasPrefix("https://op.example/auth?"))
    }

    @Test func `a place that is not safe is refused with the document`() {
        let error = refusal { try provider(aliases: ["token_endpoint": "http://mtls.op.example/token"]) }
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
