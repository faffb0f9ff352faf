import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import Testing

/// OpenID Connect Core §3.3: the claims of an ID token that comes with the code. The rest of the plan is in ``BasicTests``.
@Suite(.timeLimit(.minutes(1)))
struct HybridTests {
    @Test("oidcc-client-test-invalid-chash", arguments: [Plan.hybrid])
    func invalidCodeHash(plan: Plan) async throws {
        try await plan.refuses("expected 'c_hash' to be '") { $0.claims["c_hash"] = "another" }
    }

    @Test("oidcc-client-test-missing-chash", arguments: [Plan.hybrid])
    func missingCodeHash(plan: Plan) async throws {
        try await plan.refuses("expected 'c_hash', found none") { $0.claims["c_hash"] = nil }
    }

    @Test("oidcc-client-test-nonce-unless-code-flow", arguments: [Plan.hybrid])
    func nonce(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            let sent = try #require(party.provider.log(.authorization).first?.query["nonce"])
            #expect(await state.record.idToken?.claims["nonce"]?.string == sent)
            try await party.use(state)
        }
    }
}
