import AppAuthProtocol
import AppAuthSession
import AppAuthLegacy
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// OpenID Connect Core by the code flow; most of it again with an ID token beside the code, and by a form.
@Suite(.timeLimit(.minutes(1)))
struct BasicTests {
    private static let core: [Plan] = [.basic, .hybrid, .formPost]

    @Test("oidcc-client-test", arguments: core)
    func plain(plan: Plan) async throws { try await plan.accepts { _ in } }

    @Test("oidcc-client-test-invalid-iss", arguments: core)
    func invalidIssuer(plan: Plan) async throws {
        try await plan.refuses("found 'https://other.example'") { $0.claims["iss"] = "https://other.example" }
    }

    @Test("oidcc-client-test-missing-sub", arguments: core)
    func missingSubject(plan: Plan) async throws {
        try await plan.refuses("expected 'sub'") { $0.claims["sub"] = nil }
    }

    @Test("oidcc-client-test-invalid-aud", arguments: core)
    func invalidAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to contain 'conformance', found 'other'") { $0.claims["aud"] = "other" }
    }

    @Test("oidcc-client-test-missing-iat", arguments: core)
    func missingIssueTime(plan: Plan) async throws {
        try await plan.refuses("expected 'iat', found none") { $0.claims["iat"] = nil }
    }

    @Test("oidcc-client-test-kid-absent-single-jwks", arguments: core)
    func oneKeyWithoutName(plan: Plan) async throws {
        try await plan.accepts { party in
            party.provider.fault(.namelessKeys(of: "RSA", alg: "RS256"), at: .keys, times: nil)
            party.fault(idToken: { $0.header["kid"] = nil })
            if plan.isHybrid { party.provider.fault(.editIDToken { $0.header["kid"] = nil }, at: .token) }
        }
    }

    /// The relying party may refuse, or try each key. It refuses.
    @Test("oidcc-client-test-kid-absent-multiple-jwks", arguments: core)
    func severalKeysWithoutName(plan: Plan) async throws {
        let calls: [Endpoint] = plan.isHybrid ? [] : [.token]
        try await plan.refuses(.invalidIDToken, "expected a 'kid', since 2 keys fit RS256, found none", after: calls) {
            try $0.provider.announceSigningKeys()
            $0.provider.fault(.namelessKeys(of: "RSA", alg: "RS256"), at: .keys, times: nil)
            $0.fault(idToken: { $0.header["kid"] = nil })
        }
    }

    @Test("oidcc-client-test-idtoken-sig-rs256", arguments: core)
    func signedByRS256(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            let token = try #require(await state.record.idToken?.rawValue)
            #expect(try JWS(compact: token.reveal()).header.alg == "RS256")
            try await party.use(state)
        }
    }

    /// The relying party may take an unsigned token that came over TLS, or refuse it. It refuses, though the provider names
    /// `none` among its algorithms.
    @Test("oidcc-client-test-idtoken-sig-none", arguments: [Plan.basic, .formPost, .config, .dynamic])
    func unsigned(plan: Plan) async throws {
        try await plan.refuses(.invalidIDToken, "found 'none'", after: [.token]) { party in
            party.provider.fault(
                .editDocument { $0["id_token_signing_alg_values_supported"] = ["RS256", "none"] },
                at: .openIDConfiguration)
            party.fault(idToken: { ($0.header["kid"], $0.signature) = (nil, .none) })
        }
    }

    @Test("oidcc-client-test-invalid-sig-rs256", arguments: core)
    func invalidRS256(plan: Plan) async throws {
        try await plan.refuses("expected a signature by the provider’s key, found another") {
            $0.signature = .damaged(.rs256)
        }
    }

    @Test("oidcc-client-test-userinfo-bearer-header", arguments: core)
    func tokenInHeader(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            let token = try await state.freshAccessToken().value.reveal()
            try await party.use(state)
            let request = try #require(party.provider.log(.userInfo).first)
            #expect(request.headers[.authorization] == "Bearer " + token)
            #expect(request.query.names.isEmpty && request.form.names.isEmpty)
        }
    }

    @Test("oidcc-client-test-userinfo-bearer-body", arguments: core)
    func tokenInBody(plan: Plan) async throws {
        try await plan.run({ $0.takesTokensInForms = true }) { party in
            let state = try await party.signIn()
            let token = try await state.freshAccessToken().value.reveal()
            #expect(try await state.userInfoByForm().subject == User.alice.subject)
            let request = try #require(party.provider.log(.userInfo).first)
            #expect(request.method == .post && request.form["access_token"] == token)
            #expect(request.headers[.authorization] == nil && request.query.names.isEmpty)
        }
    }

    @Test("oidcc-client-test-userinfo-invalid-sub", arguments: core)
    func userInfoOfAnother(plan: Plan) async throws {
        try await plan.refuses(
            .invalidResponse, "expected the 'sub' of the ID token, found another", after: [.token, .userInfo]
        ) { $0.provider.fault(.editDocument { $0["sub"] = "another" }, at: .userInfo) }
    }

    @Test("oidcc-client-test-nonce-invalid", arguments: core)
    func invalidNonce(plan: Plan) async throws {
        try await plan.refuses("expected the 'nonce' that was sent, found another") { $0.claims["nonce"] = "another" }
    }

    @Test("oidcc-client-test-scope-userinfo-claims", arguments: core)
    func claimsByScope(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn(scope: [.openID, .profile, .email, .address, .phone])
            let asked = try #require(party.provider.log(.authorization).first?.query["scope"])
            #expect(asked == "openid profile email address phone")
            let claims = try await state.userInfo()
            #expect(claims.email == "alice@example.com" && claims.name == "Alice Liddell")
            #expect(claims["address"]?["locality"] == "Oxford" && claims["phone_number"] != nil)
        }
    }

    @Test("oidcc-client-test-client-secret-basic", arguments: core)
    func secretInHeader(plan: Plan) async throws {
        try await plan.run { party in
            try await party.use(party.signIn())
            let request = try #require(party.provider.log(.token).first)
            #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
            #expect(request.form["client_secret"] == nil && request.form["client_assertion"] == nil)
        }
    }
}

extension Fault {
    /// The keys of one kind, without a name and a use.
    static func namelessKeys(of type: String, alg: String) -> Fault {
        .editDocument { document in
            let keys = document["keys"]?.array ?? []
            document["keys"] = .array(
                keys.filter { $0["kty"]?.string == type && $0["alg"]?.string == alg }.map { key in
                    var key = key.object ?? [:]
                    (key["kid"], key["alg"]) = (nil, nil)
                    return .object(key)
                })
        }
    }
}
