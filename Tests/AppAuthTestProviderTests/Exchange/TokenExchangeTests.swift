import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// RFC 8693 at the provider, each case in one respect other than it should be.
@Suite struct TokenExchangeTests {
    private static let prefix = "urn:ietf:params:oauth:token-type:"

    private func exchange(
        _ provider: LocalProvider, _ changes: KeyValuePairs<String, String?> = [:]
    ) async throws -> Wire.Response {
        var form: [(name: String, value: String)] = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", try provider.mintSession().accessToken),
            ("subject_token_type", Self.prefix + "access_token"),
            ("client_id", "demo-confidential"), ("client_secret", "s3cret: 100% äß+/= and thirty-two"),
        ]
        for (name, value) in changes {
            form.removeAll { $0.name == name }
            if let value { form.append((name, value)) }
        }
        return try await Wire.post(provider.url(.token), form)
    }

    @Test func `the response to a valid request is a token with its type`() async throws {
        try await withLocalProvider { provider in
            let response = try #require(try await exchange(provider).json)
            #expect(response["issued_token_type"]?.string == Self.prefix + "access_token")
            #expect(response["token_type"] == "Bearer" && response["scope"] == "profile email")
            #expect(provider.isAlive(response["access_token"]?.string ?? ""))
            #expect(response["refresh_token"] == nil && response["id_token"] == nil)
        }
    }

    @Test(
        arguments: [
            ("subject_token", nil, "invalid_request"), ("subject_token_type", nil, "invalid_request"),
            ("subject_token", "never-was", "invalid_request"),
            ("subject_token_type", prefix + "refresh_token", "invalid_request"),
            ("subject_token_type", prefix + "id_token", "invalid_request"),
            ("subject_token_type", "urn:other", "invalid_request"), ("actor_token", "x", "invalid_request"),
            ("actor_token_type", prefix + "access_token", "invalid_request"), ("audience", "nobody", "invalid_target"),
            ("resource", "https://nowhere.example/", "invalid_target"), ("scope", "api", "invalid_scope"),
            ("requested_token_type", prefix + "saml2", "invalid_request"),
        ] as [(String, String?, String)])
    func `a request that is wrong in one respect is refused`(name: String, value: String?, code: String) async throws {
        try await withLocalProvider { provider in
            let response = try await exchange(provider, [name: value])
            #expect(response.status == 400 && response.json?["error"]?.string == code, "\(response.text)")
        }
    }

    @Test func `only its own client exchanges a refresh token`() async throws {
        try await withLocalProvider { provider in
            for (client, status) in [("demo-confidential", 200), ("demo", 400)] {
                let token = try provider.mintSession(client: client).refreshToken
                let response = try await exchange(
                    provider, ["subject_token": token, "subject_token_type": Self.prefix + "refresh_token"])
                #expect(response.status == status)
            }
        }
    }

    @Test func `an ID token that has ended, and one that another has signed, are exchanged for nothing`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let token = try #require(try provider.mintSession().idToken)
            func status(_ token: String) async throws -> Int? {
                try await exchange(
                    provider, ["subject_token": token, "subject_token_type": Self.prefix + "id_token"]
                ).status
            }
            #expect(try await status(token) == 200)
            let payload = try JSON(parsing: JWS(compact: token).payload)
            #expect(try await status(JWS.sign(payload, with: SigningKey.generate(.es256))) == 400)
            clock.advance(601)
            #expect(try await status(token) == 400)
        }
    }

    @Test func `the issued token names the actor`() async throws {
        try await withLocalProvider { provider in
            let actor = try provider.mintSession(client: "demo-confidential").accessToken
            let response = try await exchange(
                provider,
                [
                    "actor_token": actor, "actor_token_type": Self.prefix + "access_token",
                    "requested_token_type": Self.prefix + "jwt", "audience": "demo-service",
                ])
            #expect(response.json?["token_type"] == "N_A")
            let claims = try await verifiedClaims(response.json?["access_token"]?.string, provider)
            #expect(claims["aud"] == ["demo-service"] && claims["act"] == ["sub": "248289761001"])
            #expect(claims["iss"]?.string == provider.issuer && claims["client_id"] == "demo-confidential")
        }
    }
}
