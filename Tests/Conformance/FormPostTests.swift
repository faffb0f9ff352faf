import AppAuthProtocol
import AppAuthTestProvider
import TestFixtures
import Testing

/// OAuth 2.0 Form Post Response Mode. The rest of the plan is in ``BasicTests``.
@Suite(.timeLimit(.minutes(1)))
struct FormPostTests {
    @Test("oidcc-client-test-form-post-error", arguments: [Plan.formPost, .hybrid])
    func error(plan: Plan) async throws {
        try await plan.run { party in
            let error = await authError {
                try await party.signIn(scope: [.openID]) { ($0.maxAge, $0.prompt) = (0, [.none]) }
            }
            #expect(error?.code == "login_required" && error?.stage == .authorization)
            #expect(error?.message.contains("login_required") == true)
            #expect(party.calls == [])
        }
    }
}
