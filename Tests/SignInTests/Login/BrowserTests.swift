import Foundation
import JOSE
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BrowserTests {
    nonisolated(unsafe) static let oneTimeURL = /http:\/\/127\.0\.0\.1:\d+\/open\/[\w-]{22}/

    /// wslview gives its argument to PowerShell between double quotes, where `$(…)` is run.
    @Test func `a hostile authorization endpoint reaches no program's arguments`() async throws {
        try await withDesk { fixture in
            let endpoint = fixture.provider.url(.authorization) + "?x=$(calc)'id'"
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = .string(endpoint) },
                at: .openIDConfiguration)
            let outcome = try await fixture.login()
            _ = try outcome.result()
            // A browser that the user starts gets the provider's own URL.
            #expect(outcome.errorLines.contains { $0.contains("?x=%24%28calc%29%27id%27&") }, "\(outcome.errors)")
            #expect(fixture.provider.log(.authorization).first?.query["x"] == "$(calc)'id'")
            let arguments = try #require(fixture.browser.visits.first)
            #expect(arguments.last?.wholeMatch(of: Self.oneTimeURL) != nil, "\(arguments)")
            #expect(fixture.browser.visits.count == 1)
        }
    }

    @Test func `the first browser of the list that works is started, with the URL in place of %s`() async throws {
        try await withDesk { fixture in
            let list = "no-such-browser:scripted-browser --new-window %s"
            let outcome = try await fixture.login(with: ["BROWSER": list])
            _ = try outcome.result()
            let arguments = try #require(fixture.browser.visits.first)
            #expect(arguments.count == 3 && arguments[1] == "--new-window", "\(arguments)")
            #expect(arguments[2].wholeMatch(of: Self.oneTimeURL) != nil, "\(arguments)")
        }
    }

    /// KDE's KIO asks for the type of a page, and only then starts the browser.
    @Test func `an opener may ask for the URL before the browser does`() async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/kio.sh"
            try "curl -sI \"$1\"; curl -s \"$1\"; exec scripted-browser \"$1\"\n".write(
                toFile: path, atomically: true, encoding: .utf8)
            let browser = ["BROWSER": "sh \(path) %s"]
            _ = try await fixture.login(with: browser).result()
            #expect(try await fixture.run("logout", "--json", with: browser).result()["session_ended"] == true)
        }
    }

    @Test func `an opener that fails late is reported, and the next one is started`() async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/late.sh"
            // Later than a program that fails at once.
            try "sleep 1; exit 4\n".write(toFile: path, atomically: true, encoding: .utf8)
            let late = "sh \(path)"
            let process = try fixture.start(
                fixture.loginArguments([]), ["BROWSER": "\(late):scripted-browser"])
            _ = try await process.line {
                $0 == "An opener failed after its start, so the next one is tried: sh (exit status 4)."
            }
            _ = try await process.outcome().result()

            let alone = try fixture.start(fixture.loginArguments(["--timeout", "60"]), ["BROWSER": late])
            let redirects = try await Redirects(alone)
            let line = try await alone.line { $0.hasPrefix("No browser could be started") }
            #expect(line.contains("tried sh (exit status 4)"), "\(line)")
            try await redirects.signIn()
            _ = try await alone.outcome().result()
        }
    }

    @Test func `if no browser can be started, sign-in says so and continues`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments([]), ["BROWSER": "no-such-browser"])
            let redirects = try await Redirects(process)
            let line = try await process.line { $0.contains("no-such-browser") }
            #expect(line.hasPrefix("No browser could be started"))
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }

    @Test func `a browser that never comes back ends in a timeout`() async throws {
        try await withDesk { fixture in
            let clock = ContinuousClock()
            let start = clock.now
            let outcome = try await fixture.login("--timeout", "4", with: ["BROWSER": "true"])
            #expect(try outcome.failure(1, "timeout") == "the browser did not come back in time")
            #expect(start.duration(to: clock.now) >= .seconds(4))
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `once the browser has come back, a timeout is not blamed on it`() async throws {
        try await withDesk { fixture in
            let hold = fixture.provider.hold(.token)
            defer { hold.release() }
            let outcome = try await fixture.login("--timeout", "10")
            #expect(try outcome.failure(1, "timeout") == "the command did not finish in time")
            #expect(fixture.provider.count(.token) == 1 && fixture.stored.isEmpty)
        }
    }
}
