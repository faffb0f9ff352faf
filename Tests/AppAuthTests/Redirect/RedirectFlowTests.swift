import AppAuth
import Testing

/// The whole way of a redirect over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct RedirectFlowTests {
    @Test func `the browser gets the outcome at an address without the code`() async throws {
        let listener = try LoopbackRedirectListener()
        async let query = listener.redirect(state: "s1")

        let sentOn = try await listener.get("/callback?code=c-123&state=s1&iss=https%3A%2F%2Fa")
        #expect(try await query == "code=c-123&state=s1&iss=https%3A%2F%2Fa")
        #expect(sentOn.status == 303)
        let done = try #require(listener.path(of: sentOn["location"]))
        #expect(!done.contains("c-123") && !done.contains("s1"))

        async let page = listener.get(done)
        await listener.finish(with: .signedIn(appName: "Harbour"))
        let shown = try await page
        #expect(shown.status == 200)
        #expect(shown.body.contains("<h1>You are signed in</h1>"))
        #expect(throws: WireError.self) { try WireClient(listener.port) }
    }
}
