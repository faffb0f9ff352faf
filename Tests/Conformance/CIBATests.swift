import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Financial-grade API: Client-Initiated Backchannel Authentication, in poll mode: alice approves the sign-in on a device of
/// her own, and the tokens are bound to the client's certificate.
@Suite(.timeLimit(.minutes(1)))
struct CIBATests {
    private static let all: [Plan] = [.fapiCIBA]

    @Test("fapi-ciba-id1-client-test", arguments: all)
    func plain(plan: Plan) async throws {
        try await plan.runsTill { till in
            let state = try await till.signIn()
            #expect(await state.record.idToken?.subject == User.alice.subject)
            try await till.party.use(state)
            #expect(till.party.calls == [.backchannelAuthentication, .token, .api])
            for endpoint in [Endpoint.backchannelAuthentication, .token] {
                #expect(till.party.provider.log(endpoint).allSatisfy { $0.host.hasPrefix("localhost:") })
            }
            try await till.party.expectBoundToken(state)
        }
    }

    @Test("fapi-ciba-id1-client-test-happy-path-no-mtls-endpoint-aliases", arguments: all)
    func noPlacesForCertificates(plan: Plan) async throws {
        try await plan.withoutEndpointAliases.runsTill { till in
            let state = try await till.signIn()
            try await till.party.use(state)
            let (calls, log) = ([Endpoint.backchannelAuthentication, .token], till.party.provider.log)
            #expect(log.filter { calls.contains($0.endpoint) }.allSatisfy { $0.host.hasPrefix("127.0.0.1:") })
            try await till.party.expectBoundToken(state)
        }
    }

    @Test("fapi-ciba-id1-client-refresh-token-test", arguments: all)
    func refresh(plan: Plan) async throws {
        try await plan.runsTill { till in try await till.party.refreshesTwice(till.signIn()) }
    }

    @Test("fapi-ciba-id1-client-valid-aud-as-array-test", arguments: all)
    func audienceAsArray(plan: Plan) async throws {
        try await plan.runsTill { till in
            till.party.fault(idToken: { $0.claims["aud"] = ["conformance"] })
            try await till.party.use(till.signIn())
        }
    }

    @Test("fapi-ciba-id1-client-no-scope-in-token-endpoint-response-test", arguments: all)
    func noScope(plan: Plan) async throws {
        try await plan.runsTill { till in
            till.party.provider.fault(
                .editDocument { ($0["scope"], $0["expires_in"]) = (nil, nil) }, at: .token, times: nil)
            let state = try await till.signIn()
            #expect(await state.record.scope == [.openID, .profile, .offlineAccess])
            try await till.party.use(state)
        }
    }

    // MARK: The rhythm

    /// The provider responds with `slow_down` to a client that comes earlier.
    @Test("fapi-ciba-id1-client-respects-interval-test", arguments: all)
    func longInterval(plan: Plan) async throws {
        try await plan.runsTill({ $0.devicePollingInterval = 31 }) { till in
            try await till.party.use(till.signIn())
            #expect(till.pauses == [.seconds(31), .seconds(31)])
        }
    }

    @Test("fapi-ciba-id1-client-slow-down-test", arguments: all)
    func slowDown(plan: Plan) async throws {
        try await plan.runsTill { till in
            let state = try await till.signIn { provider, pause in
                if pause == 2 { provider.fault(.status(.badRequest, json: ["error": "slow_down"]), at: .token) }
                if pause == 3 { try provider.decide(isAllowed: true) }
            }
            #expect(till.pauses == [.seconds(5), .seconds(5), .seconds(10)])
            try await till.party.use(state)
        }
    }

    // MARK: Errors of the endpoints

    @Test("fapi-ciba-id1-client-invalid-missing-authreqid-test", arguments: all)
    func noRequestID(plan: Plan) async throws { try await refusesResponse(plan, without: "auth_req_id") }

    @Test("fapi-ciba-id1-client-invalid-missing-expiresin-test", arguments: all)
    func noLifetime(plan: Plan) async throws { try await refusesResponse(plan, without: "expires_in") }

    @Test("fapi-ciba-id1-client-invalid-unknown-user-id-test", arguments: all)
    func unknownUser(plan: Plan) async throws {
        try await plan.runsTill { till in
            let error = await authError { try await till.signIn(as: "nobody") }
            #expect(error?.code == "unknown_user_id" && error?.httpStatus == 400)
            #expect(till.party.calls == [.backchannelAuthentication])
        }
    }

    /// CIBA Core §11: no further request for the same `auth_req_id`.
    @Test("fapi-ciba-id1-client-invalid-request-test", arguments: all)
    func invalidRequest(plan: Plan) async throws {
        try await endsAtThirdPoll(plan, "invalid_request") {
            $0.fault(.status(.badRequest, json: ["error": "invalid_request"]), at: .token)
        }
    }

    @Test("fapi-ciba-id1-client-invalid-access-denied-test", arguments: all)
    func denied(plan: Plan) async throws {
        try await endsAtThirdPoll(plan, .accessDenied) { try $0.decide(isAllowed: false) }
    }

    @Test("fapi-ciba-id1-client-invalid-expired-token-test", arguments: all)
    func expiredRequest(plan: Plan) async throws {
        try await endsAtThirdPoll(plan, .expiredToken) {
            $0.fault(.status(.badRequest, json: ["error": "expired_token"]), at: .token)
        }
    }

    // MARK: The ID token

    @Test("fapi-ciba-id1-client-invalid-iss-test", arguments: all)
    func invalidIssuer(plan: Plan) async throws {
        try await refuses(plan, "found 'https://other.example'") { $0.claims["iss"] = "https://other.example" }
    }

    @Test("fapi-ciba-id1-client-invalid-missing-iss-test", arguments: all)
    func missingIssuer(plan: Plan) async throws {
        try await refuses(plan, "expected 'iss' to be") { $0.claims["iss"] = nil }
    }

    @Test("fapi-ciba-id1-client-invalid-aud-test", arguments: all)
    func invalidAudience(plan: Plan) async throws {
        try await refuses(plan, "expected 'aud' to contain 'conformance', found 'other'") { $0.claims["aud"] = "other" }
    }

    @Test("fapi-ciba-id1-client-invalid-missing-aud-test", arguments: all)
    func missingAudience(plan: Plan) async throws {
        try await refuses(plan, "expected 'aud' to be a string or an array of strings") { $0.claims["aud"] = nil }
    }

    @Test("fapi-ciba-id1-client-invalid-secondary-aud-test", arguments: all)
    func secondaryAudience(plan: Plan) async throws {
        try await refuses(plan, "expected no audience beside 'conformance', found 'other'") {
            $0.claims["aud"] = ["conformance", "other"]
        }
    }

    @Test("fapi-ciba-id1-client-invalid-signature-test", arguments: all)
    func invalidSignature(plan: Plan) async throws {
        try await refuses(plan, "expected a signature by the provider’s key, found another") {
            $0.signature = .damaged(.ps256)
        }
    }

    @Test("fapi-ciba-id1-client-invalid-null-alg-test", arguments: all)
    func unsigned(plan: Plan) async throws {
        try await refuses(plan, "expected an algorithm of 'PS256', found 'none'") { $0.signature = .none }
    }

    @Test("fapi-ciba-id1-client-invalid-alternate-alg-test", arguments: all)
    func otherAlgorithm(plan: Plan) async throws {
        try await refuses(plan, "expected an algorithm of 'PS256', found 'RS256'") { $0.signature = .key(.rs256) }
    }

    @Test("fapi-ciba-id1-client-invalid-expired-exp-test", arguments: all)
    func expired(plan: Plan) async throws {
        try await refuses(plan, "expired", as: .clockSkew) { $0.claims["exp"] = .seconds(fromNow: -330) }
    }

    @Test("fapi-ciba-id1-client-invalid-missing-exp-test", arguments: all)
    func missingExpiration(plan: Plan) async throws {
        try await refuses(plan, "expected 'exp', found none") { $0.claims["exp"] = nil }
    }

    @Test("fapi-ciba-id1-client-invalid-iat-is-week-in-past-test", arguments: all)
    func weekOld(plan: Plan) async throws {
        try await refuses(plan, "it was issued", as: .clockSkew) { $0.claims["iat"] = .seconds(fromNow: -604_800) }
    }

    // MARK: Steps that modules share

    private func refusesResponse(_ plan: Plan, without name: String) async throws {
        try await plan.runsTill { till in
            till.party.provider.fault(.editDocument { $0[name] = nil }, at: .backchannelAuthentication)
            let error = await authError { try await till.signIn() }
            #expect(
                error?.code == .invalidResponse && error?.message.contains("expected '\(name)', found none") == true)
            #expect(till.party.calls == [.backchannelAuthentication])
        }
    }

    private func endsAtThirdPoll(
        _ plan: Plan, _ code: AuthError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        _ event: @escaping @Sendable (LocalProvider) throws -> Void
    ) async throws {
        try await plan.runsTill { till in
            let error = await authError {
                try await till.signIn { provider, pause in if pause == 3 { try event(provider) } }
            }
            #expect(error?.code == code, sourceLocation: sourceLocation)
            #expect(till.party.provider.count(.token) == 3 && till.pauses.count == 3, sourceLocation: sourceLocation)
            #expect(till.party.calls == [.backchannelAuthentication, .token], sourceLocation: sourceLocation)
        }
    }

    private func refuses(
        _ plan: Plan, _ message: String, as code: AuthError.Code = .invalidIDToken,
        sourceLocation: SourceLocation = #_sourceLocation, idToken edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await plan.runsTill { till in
            till.party.fault(idToken: edit)
            let error = await authError { try await till.party.use(till.signIn()) }
            #expect(error?.code == code, sourceLocation: sourceLocation)
            #expect(
                error?.message.contains(message) == true, "\(String(describing: error))", sourceLocation: sourceLocation
            )
            #expect(till.party.calls == [.backchannelAuthentication, .token], sourceLocation: sourceLocation)
        }
    }
}
