import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §12.
@Suite(.timeLimit(.minutes(1)))
struct RefreshTokenTests {
    @Test("oidcc-client-test-refresh-token", arguments: [Plan.refreshToken])
    func refresh(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            let first = try await state.freshAccessToken().value
            let second = try await state.freshAccessToken(forceRefresh: true).value
            #expect(first != second)
            try await party.use(state)
            #expect(party.provider.log(.userInfo).last?.headers[.authorization] == "Bearer " + second.reveal())
        }
    }

    @Test("oidcc-client-test-refresh-token-invalid-issuer", arguments: [Plan.refreshToken])
    func otherIssuer(plan: Plan) async throws {
        try await refuses(plan, "found 'https://other.example'", ends: false) {
            $0.claims["iss"] = "https://other.example"
        }
    }

    @Test("oidcc-client-test-refresh-token-invalid-sub", arguments: [Plan.refreshToken])
    func otherSubject(plan: Plan) async throws {
        try await refuses(plan, "expected the same 'sub' as before the refresh, found another", ends: true) {
            $0.claims["sub"] = "another"
        }
    }

    private func refuses(
        _ plan: Plan, _ message: String, ends isOver: Bool, idToken edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            party.fault(idToken: edit)
            let error = await authError {
                _ = try await state.freshAccessToken(forceRefresh: true)
                try await party.use(state)
            }
            #expect(error?.code == (isOver ? .signInRequired : .invalidIDToken))
            #expect(error?.message.contains(message) == true, "\(String(describing: error))")
            // No part of the response is used. The tokens of another user are revoked; a provider that has changed its
            // issuer does not end the session.
            #expect(party.calls == (isOver ? [.token, .revocation] : [.token]))
        }
    }
}
