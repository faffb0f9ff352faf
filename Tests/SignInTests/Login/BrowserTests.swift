import JOSE
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BrowserTests {
    @Test func `the first browser of the list that can be started is, with the URL where it belongs`() async throws {
        try await withDesk { desk in
            let list = "no-such-browser:scripted-browser --new-window %s"
            let outcome = try await desk.login(with: ["BROWSER": list])
            _ = try outcome.result()
            let arguments = try #require(desk.browser.visits.first)
            #expect(arguments.count == 3 && arguments[1] == "--new-window", "\(arguments)")
            #expect(outcome.errorLines.contains("  \(arguments[2])"))
        }
    }

    @Test func `where no browser can be started, it says so and goes on`() async throws {
        try await withDesk { desk in
            let process = try desk.start(desk.loginArguments([]), ["BROWSER": "no-such-browser"])
            let redirects = try await Redirects(process)
            let line = try await process.line { $0.contains("no-such-browser") }
            #expect(line.hasPrefix("No browser could be started"))
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }

    @Test func `a browser that never comes back ends in a timeout`() async throws {
        try await withDesk { desk in
            let clock = ContinuousClock()
            let start = clock.now
            let outcome = try await desk.login("--timeout", "1", with: ["BROWSER": "true"])
            #expect(try outcome.failure(1, "timeout") == "the browser did not come back in time")
            #expect(start.duration(to: clock.now) >= .seconds(1))
            #expect(desk.stored.isEmpty)
        }
    }
}
