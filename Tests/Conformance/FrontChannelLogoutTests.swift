import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// OpenID Connect Front-Channel Logout: the page on which the provider ends the session shows the app's own in a frame.
@Suite(.timeLimit(.minutes(1)))
struct FrontChannelLogoutTests {
    private static let all: [Plan] = [.frontChannelLogout]

    @Test("oidcc-client-test-rp-frontchannel-rpinitlogout", arguments: all)
    func logout(plan: Plan) async throws {
        try await run(plan) { party, state, client in
            let listener = try LoopbackRedirectListener()
            defer { listener.close() }
            let request = try EndSessionRequest(
                record: await state.record, postLogoutRedirectURI: listener.redirectURI)
            let page = try await party.browser.visit(request.url.reveal())
            try await expectEnd(state, by: page, client)
            // Then the browser goes back to the app.
            let link = try #require(page.firstMatch(of: /<a href="([^"]+)">/)?.1).replacing("&amp;", with: "&")
            async let journey: Void = party.travel(to: String(link), backTo: listener)
            let isAnswered = try await listener.redirect { request.isResponse(query: $0) }
            await listener.finish(with: .signedOut(appName: "Conformance"))
            try await journey
            #expect(isAnswered)
        }
    }

    @Test("oidcc-client-test-rp-frontchannel-opinitlogout", arguments: all)
    func logoutAtProvider(plan: Plan) async throws {
        try await run(plan) { party, state, client in
            let page = try await party.browser.visit(party.provider.url(.endSession))
            try await expectEnd(state, by: page, client)
        }
    }

    private func run(
        _ plan: Plan, _ module: (RelyingParty, AuthState, Client) async throws -> Void
    ) async throws {
        try await withLocalProvider { server in
            try await plan.run({ $0.clients[0].frontchannelLogoutURI = server.issuer + "/frontchannel-logout" }) {
                party in
                let client = try await party.client()
                try await module(party, party.signIn(client), client)
            }
        }
    }

    private func expectEnd(_ state: AuthState, by page: String, _ client: Client) async throws {
        let frame = try #require(page.firstMatch(of: /<iframe src="([^"]+)" hidden>/)?.1)
        let url = frame.replacing("&amp;", with: "&")
        #expect(url.contains("/frontchannel-logout?"))
        let query = String(url.drop { $0 != "?" }.dropFirst())
        // A page of a stranger's ends nothing.
        let isEndedByStranger = try await state.end(by: FrontChannelLogout(fromQuery: query + "0", client: client))
        #expect(!isEndedByStranger)
        let isEnded = try await state.end(by: FrontChannelLogout(fromQuery: query, client: client))
        #expect(isEnded)
        #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
    }
}
