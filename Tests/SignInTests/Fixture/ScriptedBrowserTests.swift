import Foundation
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ScriptedBrowserTests {
    @Test func `an error page is an error, with its text in the report`() async throws {
        try await withDesk { fixture in
            let url = fixture.provider.url(.authorization) + "?client_id=wrong"
            let browser = try fixture.start([BuiltProducts.path("scripted-browser")], [url])
            #expect(try await browser.outcome().errors.contains("has the status 400"))
            #expect(try await fixture.browser.page().contains("has the status 400"))
        }
    }

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
