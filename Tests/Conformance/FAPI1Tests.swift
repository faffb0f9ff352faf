import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Financial-grade API 1.0 Advanced: by TLS, with signed requests, a key in place of a secret, tokens bound to the client's
/// certificate, and a response that is signed: by an ID token beside the code, or as a whole (JARM).
@Suite(.timeLimit(.minutes(1)))
struct FAPI1Tests {
    private static let both: [Plan] = [.fapi1, .fapi1JARM]

    @Test("fapi1-advanced-final-client-test", arguments: both)
    func plain(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            try await party.use(state)
            #expect(party.provider.log(.authorization).first?.query["request"] != nil)
            let request = try #require(party.provider.log(.token).first)
            #expect(request.form["client_assertion"] != nil && request.host.hasPrefix("localhost:"))
            try await party.expectBoundToken(state)
            // Without a certificate there is no token.
            let bare = party.with { $0.transport = party.certificates?.transport(showing: nil) ?? $0.transport }
            #expect(await authError { try await bare.signIn() }?.code == "invalid_request")
        }
    }

    @Test("fapi1-advanced-final-client-test-discovery-issuer-mismatch", arguments: both)
    func otherIssuerOfMetadata(plan: Plan) async throws { try await plan.refusesOtherIssuer() }

    @Test("fapi1-advanced-final-client-test-happy-path-no-mtls-endpoint-aliases", arguments: both)
    func noPlacesForCertificates(plan: Plan) async throws {
        try await plan.withoutEndpointAliases.run { party in
            let state = try await party.signIn()
            try await party.use(state)
            #expect(party.provider.log(.token).first?.host.hasPrefix("127.0.0.1:") == true)
            try await party.expectBoundToken(state)
        }
    }

    @Test("fapi1-advanced-final-client-test-invalid-shash", arguments: [Plan.fapi1])
    func invalidStateHash(plan: Plan) async throws {
        try await plan.refuses("expected 's_hash' to be '") { $0.claims["s_hash"] = "another" }
    }

    @Test("fapi1-advanced-final-client-test-invalid-missing-shash", arguments: [Plan.fapi1])
    func missingStateHash(plan: Plan) async throws {
        try await plan.refuses("expected 's_hash', found none") { $0.claims["s_hash"] = nil }
    }

    @Test("fapi1-advanced-final-client-test-invalid-chash", arguments: [Plan.fapi1])
    func invalidCodeHash(plan: Plan) async throws {
        try await plan.refuses("expected 'c_hash' to be '") { $0.claims["c_hash"] = "another" }
    }

    @Test("fapi1-advanced-final-client-test-invalid-nonce", arguments: both)
    func invalidNonce(plan: Plan) async throws {
        try await plan.refuses("expected the 'nonce' that was sent, found another") { $0.claims["nonce"] = "another" }
    }

    @Test("fapi1-advanced-final-client-test-invalid-missing-nonce", arguments: both)
    func missingNonce(plan: Plan) async throws {
        try await plan.refuses("expected the 'nonce' that was sent, found none") { $0.claims["nonce"] = nil }
    }

    @Test("fapi1-advanced-final-client-test-invalid-iss", arguments: both)
    func invalidIssuer(plan: Plan) async throws {
        try await plan.refuses("found 'https://other.example'") { $0.claims["iss"] = "https://other.example" }
    }

    @Test("fapi1-advanced-final-client-test-invalid-missing-iss", arguments: both)
    func missingIssuer(plan: Plan) async throws {
        try await plan.refuses("expected 'iss' to be") { $0.claims["iss"] = nil }
    }

    @Test("fapi1-advanced-final-client-test-invalid-aud", arguments: both)
    func invalidAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to contain 'conformance', found 'other'") { $0.claims["aud"] = "other" }
    }

    @Test("fapi1-advanced-final-client-test-invalid-missing-aud", arguments: both)
    func missingAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to be a string or an array of strings") { $0.claims["aud"] = nil }
    }

    @Test("fapi1-advanced-final-client-test-invalid-secondary-aud", arguments: both)
    func secondaryAudience(plan: Plan) async throws {
        try await plan.refuses("expected no audience beside 'conformance', found 'other'") {
            $0.claims["aud"] = ["conformance", "other"]
        }
    }

    @Test("fapi1-advanced-final-client-test-valid-aud-as-array", arguments: both)
    func audienceAsArray(plan: Plan) async throws {
        try await plan.accepts(idToken: { $0.claims["aud"] = ["conformance"] })
    }

    @Test("fapi1-advanced-final-client-test-invalid-signature", arguments: both)
    func invalidSignature(plan: Plan) async throws {
        try await plan.refuses("expected a signature by the provider’s key, found another") {
            $0.signature = .damaged(.ps256)
        }
    }

    @Test("fapi1-advanced-final-client-test-invalid-null-alg", arguments: both)
    func unsigned(plan: Plan) async throws {
        try await plan.refuses("expected an algorithm of 'PS256', found 'none'") { $0.signature = .none }
    }

    @Test("fapi1-advanced-final-client-test-invalid-alternate-alg", arguments: both)
    func otherAlgorithm(plan: Plan) async throws {
        try await plan.refuses("expected an algorithm of 'PS256', found 'RS256'") { $0.signature = .key(.rs256) }
    }

    @Test("fapi1-advanced-final-client-test-invalid-expired-exp", arguments: both)
    func expired(plan: Plan) async throws {
        try await plan.refuses("expired", as: .clockSkew) { $0.claims["exp"] = .seconds(fromNow: -330) }
    }

    @Test("fapi1-advanced-final-client-test-invalid-missing-exp", arguments: both)
    func missingExpiration(plan: Plan) async throws {
        try await plan.refuses("expected 'exp', found none") { $0.claims["exp"] = nil }
    }

    @Test("fapi1-advanced-final-client-test-iat-is-week-in-past", arguments: [Plan.fapi1])
    func weekOld(plan: Plan) async throws {
        try await plan.refuses(" s ago by ", as: .clockSkew) {
            $0.claims["iat"] = .seconds(fromNow: -604_800)
        }
    }

    @Test("fapi1-advanced-final-client-test-encrypted-idtoken", arguments: [Plan.fapi1])
    func encrypted(plan: Plan) async throws {
        let key = try RecipientKey.generate(.rsa())
        try await plan.run({ $0.clients[0].idTokenEncryption = .init(key: key.publicKey, .rsaOAEP) }) { party in
            let state = try await party.decrypting(by: key).signIn()
            #expect(await state.record.idToken?.subject == User.alice.subject)
            try await party.use(state)
        }
    }

    /// RFC 8725 §3.2: a client that can ask often enough whether it decrypts learns its contents.
    @Test("fapi1-advanced-final-client-test-encrypted-idtoken-usingrsa15", arguments: [Plan.fapi1])
    func encryptedByRSA15(plan: Plan) async throws {
        let key = try RecipientKey.generate(.rsa())
        try await plan.run({ $0.clients[0].idTokenEncryption = .init(key: key.publicKey, .rsaOAEP) }) { party in
            let party = try party.decrypting(by: key)
            party.provider.fault(.encryptionByRSA15, at: .interaction, times: nil)
            let error = await authError { try await party.use(party.signIn()) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("found 'RSA1_5'") == true)
            #expect(party.calls == [])
        }
    }

    /// The granted scope is then the requested one (RFC 6749 §5.1).
    @Test("fapi1-advanced-final-client-test-no-scope-in-token-endpoint-response", arguments: both)
    func noScope(plan: Plan) async throws {
        try await plan.run { party in
            party.provider.fault(.editDocument { $0["scope"] = nil }, at: .token)
            let state = try await party.signIn()
            #expect(await state.record.scope == [.openID, .profile, .email, .offlineAccess])
            try await party.use(state)
        }
    }

    /// No access token comes through the browser here, so `at_hash` may be missing (Core §3.1.3.6, §3.3.2.11). In the hybrid
    /// flow too, only the ID token from the token endpoint has one. One that is there is checked (§3.1.3.8).
    @Test("fapi1-advanced-final-client-test-missing-athash", arguments: both)
    func noTokenHash(plan: Plan) async throws {
        try await plan.run { party in
            party.provider.fault(.editIDToken { $0.claims["at_hash"] = nil }, at: .token)
            let state = try await party.signIn()
            let idToken = try #require(await state.record.idToken)
            #expect(idToken.claims["at_hash"] == nil)
            try await party.use(state)
            // The provider sends one otherwise.
            #expect(try await party.signIn().record.idToken?.claims["at_hash"] != nil)
        }
        try await plan.refuses(.invalidIDToken, "expected 'at_hash' to be '", after: [.token]) {
            $0.provider.fault(.editIDToken { $0.claims["at_hash"] = "another" }, at: .token)
        }
    }

    @Test("fapi1-advanced-final-client-test-unencrypted-request-object-with-par", arguments: both)
    func pushedRequestObject(plan: Plan) async throws {
        try await plan.run({ $0.requiresPushedRequests = true }) { party in
            try await party.use(party.signIn())
            let request = try #require(party.provider.log(.pushedAuthorization).first?.form["request"])
            #expect(try JWS(compact: request).header.alg == "ES256")
        }
    }

    @Test("fapi1-advanced-final-client-refresh-token-test", arguments: both)
    func refresh(plan: Plan) async throws {
        try await plan.run { party in try await party.refreshesTwice(party.signIn()) }
    }
}

extension RelyingParty {
    /// The same, with the key that its ID tokens are encrypted to.
    fileprivate func decrypting(by key: RecipientKey) throws -> RelyingParty {
        let own = try DecryptionKey(pem: key.pem)
        return with { $0.decryptionKey = { _ in own } }
    }
}

extension Fault {
    /// The encrypted token in a page says of itself that it is encrypted by RSA1_5.
    fileprivate static let encryptionByRSA15 = Fault.editReply { reply in
        let page = String(decoding: reply.body, as: UTF8.self)
        guard let header = page.firstMatch(of: /"(eyJ[\w-]+)\.[\w-]+\.[\w-]+\.[\w-]+\.[\w-]+"/)?.1,
            var members = Base64URL.decode(String(header)).flatMap({ try? JSON(parsing: $0) })?.object
        else { return }
        members["alg"] = "RSA1_5"
        let other = Base64URL.encode(Array(JSON.object(members).serialized().utf8))
        reply.body = Array(page.replacing(header, with: other).utf8)
    }
}

extension JSON {
    static func seconds(fromNow seconds: Int) -> JSON {
        .number(.init(Int(Timestamp.current.wall.timeIntervalSince1970) + seconds))
    }
}

extension RelyingParty {
    /// The resource refuses a token twice. The library refreshes by itself, once for each call.
    func refreshesTwice(_ state: AuthState) async throws {
        // RFC 6750 §3.1, RFC 9449 §7.1.
        let challenge =
            plan.dpop == nil ? #"Bearer error="invalid_token""# : #"DPoP error="invalid_token", algs="ES256""#
        for _ in 0..<2 {
            let token = try await state.freshAccessToken().value
            provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            try await use(state)
            #expect(try await state.freshAccessToken().value != token)
        }
        let grants = provider.log(.token).filter { $0.status == 200 }.compactMap { $0.form["grant_type"] }
        #expect(grants.dropFirst() == ["refresh_token", "refresh_token"])
        #expect(provider.log(.api).map(\.status) == [401, 200, 401, 200])
        if plan.bindsTokensToCertificate { try await expectBoundToken(state) }
    }
}
