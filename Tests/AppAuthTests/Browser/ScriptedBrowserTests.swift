import AppAuthProtocol
import AppAuthTestProvider
import HTTPTypes
import ScriptedBrowser
import TestFixtures
import Testing

/// What the scripted browser says if a page does not take its entries.
@Suite(.timeLimit(.minutes(1)))
struct ScriptedBrowserTests {
    @Test func `a wrong password is named at once`() async throws {
        try await World.run { world in
            let browser = ScriptedBrowser(
                transport: world.transport, entries: ["username": "alice", "password": "wrong"])
            let request = try AuthorizationRequest(
                client: try await world.client(), redirectURI: "http://127.0.0.1:49152/callback", scope: [.openID])
            let error = await authError { try await browser.visit(request.url) }
            #expect(error?.message.contains("did not accept the password") == true, "\(error.debugDescription)")
            #expect(world.provider.log(.interaction).count { $0.method == .post } == 1)
        }
    }

    @Test func `another entry that is not accepted is named too`() async throws {
        try await World.run { world in
            let browser = ScriptedBrowser(transport: world.transport, entries: ["user_code": "WRONG"])
            let error = await authError { try await browser.visit(world.provider.url(.deviceVerification)) }
            #expect(error?.message.contains("did not accept 'user_code'") == true, "\(error.debugDescription)")
        }
    }
}
