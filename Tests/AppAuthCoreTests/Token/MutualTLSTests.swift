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
