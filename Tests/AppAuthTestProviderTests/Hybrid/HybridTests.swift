import JOSE
import AppAuthTestProvider
import Testing

/// The response type `code id_token` (OpenID Connect Core §3.3), by form.
@Suite struct HybridTests {
    private let hybrid: KeyValuePairs<String, String?> = [
        "response_type": "code id_token", "response_mode": "form_post",
    ]

    /// Goes through login and consent.
    private func authorize(_ flow: Flow, _ changes: KeyValuePairs<String, String?>) async throws -> [String: String] {
        let browser = TestBrowser()
        #expect(try await browser.open(flow.authorizationURL(changes)) == nil)
        #expect(try await browser.signIn() == nil)
        #expect(try await browser.submit("allow") == nil)
        return try Flow.form(of: browser.page)
    }

    /// Core §3.3.2.11: the left half of the hash, by the algorithm of the signature.
    private func hash(_ text: String, _ algorithm: SignatureAlgorithm) throws -> String {
        let hash = try #require(algorithm.digest).hash(text)
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es384, .ps512, .edDSA])
    func `an ID token vouches for the code and the state`(algorithm: SignatureAlgorithm) async throws {
        var client = RegisteredClient.demo
        client.idTokenAlgorithm = algorithm
        try await withLocalProvider(.demo { $0.clients = [client] }) { provider in
            let flow = Flow(provider: provider)
            let fields = try await authorize(flow, hybrid)
            #expect(Set(fields.keys) == ["code", "id_token", "state", "iss"])
            let code = try #require(fields["code"])
            let claims = try await verifiedClaims(fields["id_token"], provider)
            #expect(try claims["c_hash"]?.string == hash(code, algorithm))
            #expect(try claims["s_hash"]?.string == hash("st&te=ü", algorithm))
            #expect(claims["nonce"]?.string == "n-0S6_WzA2Mj")
            #expect(claims["sub"]?.string == "248289761001")
            // No access token comes with it, and nothing about the user.
            #expect(claims["at_hash"] == nil)
            #expect(claims["email"] == nil)
            let tokens = try #require(try await flow.exchange(code).json)
            let later = try await verifiedClaims(tokens["id_token"]?.string, provider)
            for name in ["iss", "sub", "aud", "nonce", "auth_time"] { #expect(later[name] == claims[name]) }
            #expect(later["at_hash"] != nil)
            #expect(later["c_hash"] == nil)
        }
    }

    @Test func `without a state there is no s_hash, and the order of the types does not count`() async throws {
        try await withLocalProvider(.demo { $0.requiresState = false }) { provider in
            let changes: KeyValuePairs<String, String?> = [
                "response_type": "id_token code", "response_mode": "form_post", "state": nil,
            ]
            let fields = try await authorize(Flow(provider: provider), changes)
            let claims = try await verifiedClaims(fields["id_token"], provider)
            #expect(claims["c_hash"] != nil)
            #expect(claims["s_hash"] == nil)
        }
    }

    @Test func `both can come in a signed response`() async throws {
        try await withLocalProvider { provider in
            let changes: KeyValuePairs<String, String?> = [
                "response_type": "code id_token", "response_mode": "form_post.jwt",
            ]
            let fields = try await authorize(Flow(provider: provider), changes)
            let response = try await verifiedClaims(fields["response"], provider)
            let claims = try await verifiedClaims(response["id_token"]?.string, provider)
            let code = try #require(response["code"]?.string)
            #expect(try claims["c_hash"]?.string == hash(code, .rs256))
        }
    }

    @Test(
        arguments: [
            ("nonce", nil, "invalid_request"), ("scope", "email", "invalid_scope"),
            ("response_mode", nil, "invalid_request"), ("response_mode", "query", "invalid_request"),
            ("response_mode", "query.jwt", "invalid_request"), ("response_mode", "jwt", "invalid_request"),
            ("response_type", "code token", "unsupported_response_type"),
            ("response_type", "id_token", "unsupported_response_type"),
        ] as [(String, String?, String)])
    func `it needs a nonce, openid and a form`(name: String, value: String?, error: String) async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            var parameters = flow.parameters(hybrid).filter { $0.name != name }
            if let value { parameters.append((name, value)) }
            parameters.append(("prompt", "none"))
            parameters.removeAll { $0.name == "prompt" && $0.value == "consent" }
            // Pushed, so that the error comes the same way in every mode.
            let response = try await Wire.post(provider.url(.pushedAuthorization), parameters)
            #expect(response.status == 400)
            #expect(response.json?["error"]?.string == error)
            let right = try await flow.push(hybrid)
            #expect(right.status == 201)
        }
    }

    @Test func `a fault at the pages changes this ID token, and one at the token endpoint the other`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            provider.fault(
                .editIDToken {
                    $0.claims["c_hash"] = nil
                    $0.claims["s_hash"] = "AA"
                }, at: .interaction, times: nil)
            let fields = try await authorize(flow, hybrid)
            let claims = try await verifiedClaims(fields["id_token"], provider)
            #expect(claims["c_hash"] == nil)
            #expect(claims["s_hash"]?.string == "AA")
            let code = try #require(fields["code"])
            let tokens = try #require(try await flow.exchange(code).json)
            let later = try await verifiedClaims(tokens["id_token"]?.string, provider)
            #expect(later["s_hash"] == nil)
            #expect(later["at_hash"] != nil)
        }
    }

    @Test func `the metadata names the response types and modes`() async throws {
        try await withLocalProvider { provider in
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            #expect(metadata["response_types_supported"]?.strings == ["code", "code id_token"])
        }
    }
}
