import Foundation
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ScriptedBrowserTests {
    @Test func `a browser with unread output still ends`() async throws {
        try await withDesk { fixture in
            let pipe = fixture.home + "/unread"
            #expect(mkfifo(pipe, 0o600) == 0)
            let browser = try fixture.start(
                [BuiltProducts.path("scripted-browser")], [fixture.provider.url(.userInfo)],
                ["SCRIPTED_BROWSER_REPORT": pipe])
            #expect(try await browser.outcome().status == 0)
        }
    }
}
