import JOSE
import AppAuth
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RedirectPortTests {
    @Test func `a second login on the same port fails at once, and the first continues`() async throws {
        try await withDesk { fixture in
            let first = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let waiting = try await Redirects(first)
            let second = try await fixture.login("--redirect-port", waiting.port)
            let message = try second.failure(1, "listener")
            #expect(message.contains(waiting.port) && second.errorLines.count == 1, "\(second)")
            #expect(fixture.browser.visits.isEmpty)
            try await waiting.signIn()
            _ = try await first.outcome().result()
        }
    }

    @Test func `the first free port is used`() async throws {
        try await withDesk { fixture in
            let first = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let waiting = try await Redirects(first)
            let port = String(freePort())
            let ports = ["--redirect-port", waiting.port, "--redirect-port", port, "--redirect-port", "0"]
            let second = try fixture.start(fixture.loginArguments(["--no-browser"] + ports))
            let other = try await Redirects(second)
            #expect(other.port == port)
            try await other.signIn()
            _ = try await second.outcome().result()
            // The port of the second is free again at once.
            let third = try fixture.start(
                fixture.loginArguments(["--no-browser"] + ports))
            let last = try await Redirects(third)
            #expect(last.port == port)
            third.send(9)
            try await waiting.signIn()
            _ = try await first.outcome().result()
        }
    }

    @Test func `two starts on free ports do not disturb each other`() async throws {
        try await withDesk { fixture in
            let processes = try (0..<2).map { _ in try fixture.start(fixture.loginArguments(["--no-browser"])) }
            for process in processes { try await Redirects(process).signIn() }
            for process in processes { _ = try await process.outcome().result() }
        }
    }
}
