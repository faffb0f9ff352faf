import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Back-Channel Logout, for an app with a server part.
@Suite(.timeLimit(.minutes(1)))
struct BackChannelLogoutTests {
    private static let all: [Plan] = [.backChannelLogout]

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout", arguments: all)
    func logout(plan: Plan) async throws {
        try await plan.logsOut { state, verifier, form in
            let token = try await verifier.verify(fromForm: form)
            let isEnded = try await state.end(by: token)
            #expect(isEnded)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
        }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-alg-none", arguments: all)
    func unsigned(plan: Plan) async throws {
        try await refuses(plan, "expected an algorithm of 'RS256', found 'none'") { $0.signature = .none }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-alg", arguments: all)
    func otherAlgorithm(plan: Plan) async throws {
        try await refuses(plan, "expected an algorithm of 'RS256', found 'ES256'") { $0.signature = .key(.es256) }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-aud", arguments: all)
    func otherAudience(plan: Plan) async throws {
        try await refuses(plan, "expected 'aud' to contain 'conformance', found 'other'") { $0.claims["aud"] = "other" }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-iss", arguments: all)
    func otherIssuer(plan: Plan) async throws {
        try await refuses(plan, "found 'https://other.example'") { $0.claims["iss"] = "https://other.example" }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-no-event", arguments: all)
    func noEvent(plan: Plan) async throws {
        try await refuses(plan, "expected 'events' to be an object") { $0.claims["events"] = nil }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-wrong-event", arguments: all)
    func otherEvent(plan: Plan) async throws {
        try await refuses(plan, "expected the event") { $0.claims["events"] = ["https://other.example/event": [:]] }
    }

    @Test("oidcc-client-test-rp-backchannel-rpinitlogout-with-nonce", arguments: all)
    func nonce(plan: Plan) async throws {
        try await refuses(plan, "expected no 'nonce', found one") { $0.claims["nonce"] = "n-0S6_WzA2Mj" }
    }

    private func refuses(
        _ plan: Plan, _ message: String, sourceLocation: SourceLocation = #_sourceLocation,
        _ edit: @escaping @Sendable (inout JWTDraft) -> Void
    ) async throws {
        try await plan.logsOut(edit) { state, verifier, form in
            let error = await authError { try await verifier.verify(fromForm: form) }
            #expect(error?.code == .invalidLogoutToken, sourceLocation: sourceLocation)
            #expect(
                error?.message.contains(message) == true, "\(String(describing: error))", sourceLocation: sourceLocation
            )
            #expect(await state.record.end == nil, sourceLocation: sourceLocation)
        }
    }
}

extension Plan {
    /// The relying party has its session ended at the provider, which posts a logout token to the app's server part.
    ///
    /// - Parameters:
    ///   - edit: Changes the logout token.
    ///   - app: Gets the posted body.
    fileprivate func logsOut(
        _ edit: @escaping @Sendable (inout JWTDraft) -> Void = { _ in },
        app: (AuthState, LogoutTokenVerifier, _ form: String) async throws -> Void
    ) async throws {
        try await withLocalProvider { server in
            try await run({ $0.clients[0].backchannelLogoutURI = server.issuer + "/backchannel-logout" }) { party in
                party.provider.fault(
                    .editDocument { $0["id_token_signing_alg_values_supported"] = ["RS256"] },
                    at: .openIDConfiguration)
                let client = try await party.client()
                let state = try await party.signIn(client)
                party.provider.fault(.editIDToken(edit), at: .endSession)
                let isAnswered = try await party.endSession(state.record)
                #expect(isAnswered)
                try await server.requests(1, at: .none)
                let posted = try #require(server.log(.none).first)
                #expect(posted.method == .post && posted.path == "/backchannel-logout")
                let verifier = LogoutTokenVerifier(client: client, environment: party.environment)
                try await app(state, verifier, String(decoding: posted.body, as: UTF8.self))
            }
        }
    }
}

extension RelyingParty {
    /// Sends the browser to the provider to end the session there.
    ///
    /// - Returns: Whether the browser came back with the response to that.
    fileprivate func endSession(_ record: AuthStateRecord) async throws -> Bool {
        let listener = try LoopbackRedirectListener()
        defer { listener.close() }
        let request = try EndSessionRequest(record: record, postLogoutRedirectURI: listener.redirectURI)
        async let journey: Void = travel(to: request.url.reveal(), backTo: listener)
        let isAnswered = try await listener.redirect { request.isResponse(query: $0) }
        await listener.finish(with: .signedOut(appName: "Conformance"))
        try await journey
        return isAnswered
    }
}
