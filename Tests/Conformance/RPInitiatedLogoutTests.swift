import AppAuth
import AppAuthCore
import HTTPTypes
import LocalProvider
import ScriptedBrowser
import Testing

/// OpenID Connect RP-Initiated Logout.
@Suite(.timeLimit(.minutes(1)))
struct RPInitiatedLogoutTests {
    @Test("oidcc-client-test-rp-init-logout", arguments: [Plan.rpInitiatedLogout])
    func logout(plan: Plan) async throws {
        try await plan.run { party in
            let isAnswered = try await party.signOut(party.signIn())
            #expect(isAnswered)
            let request = try #require(party.provider.log(.endSession).first)
            #expect(request.query["id_token_hint"] != nil && request.query["state"] != nil)
            #expect(request.query["client_id"] == Plan.clientID)
        }
    }

    /// The session here is over in any case; that the browser's is too was not said.
    @Test("oidcc-client-test-rp-init-logout-other-state", arguments: [Plan.rpInitiatedLogout])
    func otherState(plan: Plan) async throws {
        try await plan.run { party in
            party.provider.fault(.edit("state", "another", at: "/callback"), at: .endSession)
            let isAnswered = try await party.signOut(party.signIn())
            #expect(!isAnswered)
        }
    }

    @Test("oidcc-client-test-rp-init-logout-no-state", arguments: [Plan.rpInitiatedLogout])
    func noState(plan: Plan) async throws {
        try await plan.run { party in
            party.provider.fault(.edit("state", nil, at: "/callback"), at: .endSession)
            let isAnswered = try await party.signOut(party.signIn())
            #expect(!isAnswered)
        }
    }
}

extension RelyingParty {
    /// Forgets the session, and has it ended at the provider.
    ///
    /// - Returns: Whether the browser came back with the answer to that.
    func signOut(_ state: AuthState) async throws -> Bool {
        let record = await state.record
        try await state.forget()
        #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
        return try await endSession(record)
    }

    /// Sends the browser to the provider to end the session there.
    ///
    /// - Returns: Whether the browser came back with the answer to that.
    func endSession(_ record: AuthStateRecord) async throws -> Bool {
        let listener = try LoopbackRedirectListener()
        defer { listener.close() }
        let request = try EndSessionRequest(record: record, postLogoutRedirectURI: listener.redirectURI)
        async let journey: Void = travel(to: request.url.reveal(), backTo: listener)
        let isAnswered = try await listener.redirect { request.isAnswered(byQuery: $0) }
        await listener.finish(with: .signedOut(appName: "Conformance"))
        try await journey
        return isAnswered
    }
}
