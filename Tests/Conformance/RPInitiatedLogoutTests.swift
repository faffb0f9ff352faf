import AppAuth
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect RP-Initiated Logout.
@Suite(.timeLimit(.minutes(1)))
struct RPInitiatedLogoutTests {
    @Test("oidcc-client-test-rp-init-logout", arguments: [Plan.rpInitiatedLogout])
    func logout(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            let report = try await party.signOut(state)
            #expect(report.sessionEnded && report.endSessionError == nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            let request = try #require(party.provider.log(.endSession).first)
            #expect(request.query["id_token_hint"] != nil && request.query["state"] != nil)
            #expect(request.query["client_id"] == Plan.clientID)
        }
    }

    @Test("oidcc-client-test-rp-init-logout-other-state", arguments: [Plan.rpInitiatedLogout])
    func otherState(plan: Plan) async throws { try await ignoresReturn(plan, state: "another") }

    @Test("oidcc-client-test-rp-init-logout-no-state", arguments: [Plan.rpInitiatedLogout])
    func noState(plan: Plan) async throws { try await ignoresReturn(plan, state: nil) }

    /// The session in the app is over in any case. The provider has not said that the browser's is too: the library goes on
    /// waiting for that.
    private func ignoresReturn(_ plan: Plan, state value: String?) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            party.provider.fault(.edit("state", value, at: "/callback"), at: .endSession)
            await #expect(throws: RelyingParty.NoResponse.self) { try await party.signOut(state) }
            #expect(party.provider.log(.endSession).map(\.status) == [303])
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
        }
    }
}
