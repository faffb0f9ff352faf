import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// FAPI 2.0 Security Profile, and the same with Message Signing: pushed requests, a key in place of a secret, tokens bound
/// to a key by DPoP. The additions of Message Signing are in ``MessageSigningTests``.
@Suite(.timeLimit(.minutes(1)))
struct FAPI2Tests {
    private static let all: [Plan] = [.fapi2, .messageSigning, .messageSigningJARM]
    /// Where the response's parameters stand open in the redirect.
    private static let open: [Plan] = [.fapi2, .messageSigning]

    @Test("fapi2-security-profile-final-client-test-happy-path", arguments: all)
    func plain(plan: Plan) async throws {
        try await plan.run { party in
            try await party.use(party.signIn())
            // The provider wants a nonce: the first request of all was made again with one.
            #expect(party.provider.log.contains { $0.headers[.dpop] != nil && $0.status == 400 })
            #expect(party.provider.log(.api).last?.headers[.authorization]?.hasPrefix("DPoP ") == true)
            #expect(party.provider.log(.authorization).first?.query.names.sorted() == ["client_id", "request_uri"])
        }
    }

    @Test("fapi2-security-profile-final-client-test-happy-path-no-dpop-nonce", arguments: all)
    func noNonce(plan: Plan) async throws {
        try await plan.run({ $0.dpopNonce = .off }) { party in
            try await party.use(party.signIn())
            #expect(party.provider.log.map(\.status).allSatisfy { $0.map { $0 < 400 } ?? false })
        }
    }

    @Test("fapi2-security-profile-final-client-test-discovery-issuer-mismatch", arguments: all)
    func otherIssuerOfMetadata(plan: Plan) async throws { try await plan.refusesOtherIssuer() }

    @Test("fapi2-security-profile-final-client-test-invalid-iss", arguments: all)
    func invalidIssuer(plan: Plan) async throws {
        try await plan.refuses("found 'https://other.example'") { $0.claims["iss"] = "https://other.example" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-iss", arguments: all)
    func missingIssuer(plan: Plan) async throws {
        try await plan.refuses("expected 'iss' to be") { $0.claims["iss"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-aud", arguments: all)
    func invalidAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to contain 'conformance', found 'other'") { $0.claims["aud"] = "other" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-aud", arguments: all)
    func missingAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to be a string or an array of strings") { $0.claims["aud"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-secondary-aud", arguments: all)
    func secondaryAudience(plan: Plan) async throws {
        try await plan.refuses("expected no audience beside 'conformance', found 'other'") {
            $0.claims["aud"] = ["conformance", "other"]
        }
    }

    @Test("fapi2-security-profile-final-client-test-valid-aud-as-array", arguments: all)
    func audienceAsArray(plan: Plan) async throws {
        try await plan.accepts(idToken: { $0.claims["aud"] = ["conformance"] })
    }

    @Test("fapi2-security-profile-final-client-test-invalid-null-alg", arguments: all)
    func unsigned(plan: Plan) async throws {
        try await plan.refuses("expected an algorithm of 'PS256', found 'none'") { $0.signature = .none }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-alternate-alg", arguments: all)
    func otherAlgorithm(plan: Plan) async throws {
        try await plan.refuses("expected an algorithm of 'PS256', found 'RS256'") { $0.signature = .key(.rs256) }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-expired-exp", arguments: all)
    func expired(plan: Plan) async throws {
        try await plan.refuses("expired", as: .clockSkew) { $0.claims["exp"] = .seconds(fromNow: -330) }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-exp", arguments: all)
    func missingExpiration(plan: Plan) async throws {
        try await plan.refuses("expected 'exp', found none") { $0.claims["exp"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-nonce", arguments: all)
    func invalidNonce(plan: Plan) async throws {
        try await plan.refuses("expected the 'nonce' that was sent, found another") { $0.claims["nonce"] = "another" }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-missing-nonce", arguments: all)
    func missingNonce(plan: Plan) async throws {
        try await plan.refuses("expected the 'nonce' that was sent, found none") { $0.claims["nonce"] = nil }
    }

    @Test("fapi2-security-profile-final-client-test-invalid-authorization-response-iss", arguments: open)
    func otherIssuerOfResponse(plan: Plan) async throws {
        try await plan.refuses(.invalidRedirect, "found 'https://other.example'", after: []) {
            $0.fault(parameter: "iss", "https://other.example")
        }
    }

    @Test("fapi2-security-profile-final-client-test-remove-authorization-response-iss", arguments: open)
    func noIssuerOfResponse(plan: Plan) async throws {
        try await plan.refuses(
            .invalidRedirect, "expected 'iss', which the provider’s metadata announces, found none", after: []
        ) {
            $0.fault(parameter: "iss", nil)
        }
    }

    @Test(
        "fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-state-fails",
        arguments: all)
    func otherState(plan: Plan) async throws { try await ignoresResponse(plan, state: "another") }

    @Test(
        "fapi2-security-profile-final-client-test-ensure-authorization-response-with-invalid-missing-state-fails",
        arguments: all)
    func noState(plan: Plan) async throws { try await ignoresResponse(plan, state: nil) }

    @Test(
        "fapi2-security-profile-final-client-test-token-endpoint-response-without-expires_in", arguments: all)
    func noLifetime(plan: Plan) async throws {
        try await plan.accepts { $0.provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token, times: nil) }
    }

    @Test("fapi2-security-profile-final-client-test-token-type-case-insensitivity", arguments: all)
    func tokenTypeInAnyCase(plan: Plan) async throws {
        try await plan.accepts {
            $0.provider.fault(.editDocument { $0["token_type"] = "dPOp" }, at: .token, times: nil)
        }
    }

    @Test("fapi2-security-profile-final-client-test-rs-dpop-auth-scheme-case-insensitivity", arguments: all)
    func schemeInAnyCase(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            party.provider.forgetDPoPNonces()
            party.provider.fault(
                .editReply { reply in
                    let challenge = reply.headers[.wwwAuthenticate] ?? ""
                    reply.headers[.wwwAuthenticate] = challenge.replacing("DPoP ", with: "dPoP ")
                }, at: .api)
            try await party.use(state)
            #expect(party.provider.log(.api).map(\.status) == [401, 200])
        }
    }

    @Test("fapi2-security-profile-final-client-refresh-token-test", arguments: all)
    func refresh(plan: Plan) async throws {
        try await plan.run { party in try await party.refreshesTwice(party.signIn()) }
    }

    /// A response with another state is ignored: the library goes on waiting for its own.
    private func ignoresResponse(_ plan: Plan, state: String?) async throws {
        try await plan.run { party in
            if plan.responseMode?.isSigned == true {
                party.fault(signedResponse: { $0.claims["state"] = state.map(JSON.string) })
            } else {
                party.fault(parameter: "state", state)
            }
            await #expect(throws: RelyingParty.NoResponse.self) { try await party.use(party.signIn()) }
            #expect(party.calls == [])
        }
    }
}
