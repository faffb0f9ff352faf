import JOSE
import AppAuthTestProvider
import Testing

/// OpenID Connect Registration §2, Core §10.2 and §16.14: responses that only one client can read.
@Suite struct EncryptionTests {
    private static let recipient = Result { try RecipientKey.generate(.ec(.p256)) }

    private func run(_ edit: (inout RegisteredClient) -> Void, _ test: (LocalProvider) async throws -> Void)
        async throws
    {
        var client = RegisteredClient.demo
        edit(&client)
        try await withLocalProvider(.demo { $0.clients = [client] }, test)
    }

    private func encryption() throws -> ResponseEncryption {
        var key = try Self.recipient.get().publicKey
        key.kid = "enc-1"
        return ResponseEncryption(key: key, .ecdhESA256KW)
    }

    private func content(_ token: String?, cty: String?) throws -> String {
        let jwe = try JWE(compact: #require(token))
        #expect(jwe.header.kid == "enc-1" && jwe.header.cty == cty)
        // Registration §2: the default algorithm.
        #expect(jwe.header.alg == .ecdhESA256KW && jwe.header.enc == .a128CBCHS256)
        return String(decoding: try jwe.decrypted(by: Self.recipient.get()), as: UTF8.self)
    }

    @Test func `an ID token is signed, and then encrypted for a client that asked for it`() async throws {
        let encryption = try encryption()
        try await run({ $0.idTokenEncryption = encryption }) { provider in
            let token = try content(provider.mintSession().idToken, cty: "JWT")
            #expect(try await verifiedClaims(token, provider)["aud"]?.string == "demo")
        }
        try await run({ _ in }) { provider in
            _ = try await verifiedClaims(provider.mintSession().idToken, provider)
        }
    }

    @Test(arguments: [nil, SignatureAlgorithm.es256])
    func `userinfo is encrypted, signed or not, for a client that asked for it`(
        algorithm: SignatureAlgorithm?
    ) async throws {
        let encryption = try encryption()
        try await run({ ($0.userInfoEncryption, $0.userInfoAlgorithm) = (encryption, algorithm) }) { provider in
            let response = try await Flow(provider: provider).bearer(.userInfo, provider.mintSession().accessToken)
            #expect(response.header("Content-Type") == "application/jwt")
            let content = try content(response.text, cty: algorithm == nil ? nil : "JWT")
            let claims =
                algorithm == nil
                ? try JSON(parsing: Array(content.utf8)) : try await verifiedClaims(content, provider)
            #expect(claims["sub"]?.string == "248289761001")
        }
    }

    @Test func `the metadata names the supported algorithms`() async throws {
        try await withLocalProvider { provider in
            let document = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            for kind in ["id_token", "userinfo"] {
                #expect(
                    document["\(kind)_encryption_alg_values_supported"]?.strings?.contains("ECDH-ES+A256KW") == true)
                #expect(document["\(kind)_encryption_alg_values_supported"]?.strings?.contains("RSA1_5") == false)
                #expect(document["\(kind)_encryption_enc_values_supported"]?.strings?.contains("A256GCM") == true)
            }
        }
    }
}
