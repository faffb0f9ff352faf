import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The redirect pasted into a terminal, whose settings are always restored.
@Suite(.timeLimit(.minutes(5)))
struct TerminalPasteTests {
    private func withWaiting(
        _ arguments: [String] = ["--no-browser"],
        _ body: (CommandFixture, ChildProcess, Redirects, Pseudoterminal) async throws -> Void
    ) async throws {
        try await withDesk { fixture in
            let terminal = try Pseudoterminal()
            let process = try fixture.start(fixture.loginArguments(arguments), input: terminal.input)
            let redirects = try await Redirects(process)
            try await terminal.wait(for: .bytes)
            try await body(fixture, process, redirects, terminal)
            #expect(terminal.mode == .lines)
        }
    }

    @Test func `an address of 6000 bytes is accepted completely and not shown`() async throws {
        try await withWaiting { fixture, process, redirects, terminal in
            var address = try await redirects.signInElsewhere() + "&filler="
            address += String(repeating: "x", count: 6000 - address.utf8.count)
            terminal.type(address + "\r")
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(
                outcome.errorLines.contains(
                    "If the browser ends at a page that does not load, copy the whole address of that page, paste "
                        + "it here (it stays hidden) and press Enter."))
            #expect(terminal.shown() == "")
        }
    }

    @Test func `typed input can be edited, and bracketed paste works`() async throws {
        try await withWaiting { fixture, process, redirects, terminal in
            let address = try await redirects.signInElsewhere()
            terminal.type("rubbish\u{15}\u{1B}[200~\(address)yy\u{7F}\u{8}\u{1B}[201~\u{1B}[A\u{4}\r")
            _ = try await process.outcome().result()
        }
    }

    @Test(
        arguments: [
            (SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated"), (SIGHUP, 1, "terminated"),
            (SIGQUIT, 1, "terminated"),
        ] as [(CInt, CInt, String)])
    func `a signal leaves the terminal as it was`(signal: CInt, status: CInt, code: String) async throws {
        try await withWaiting { fixture, process, redirects, terminal in
            process.send(signal)
            try await process.outcome().failure(status, code)
        }
    }

    @Test func `the keys of the terminal still interrupt`() async throws {
        try await withWaiting { fixture, process, redirects, terminal in
            terminal.type("half an addr\u{3}")
            try await process.outcome().failure(130, "interrupted")
        }
    }

    @Test func `the terminal is also restored after a redirect, a timeout or a rejected response`() async throws {
        try await withWaiting { fixture, process, redirects, terminal in
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
        try await withWaiting(["--no-browser", "--timeout", "10"]) { fixture, process, redirects, terminal in
            try await process.outcome().failure(1, "timeout")
        }
        try await withWaiting { fixture, process, redirects, terminal in
            terminal.type(
                "\(redirects.redirectURI)?state=\(redirects.state)&error=access_denied&iss=\(fixture.issuer)\n")
            try await process.outcome().failure(1, "access_denied")
        }
    }

    @Test func `a stopped process restores the terminal, and continues afterwards`() async throws {
        try await withDesk { fixture in
            // A shell with job control, as a user has it: it takes the terminal back and hands it over again.
            let terminal = try Pseudoterminal()
            let words = try ([BuiltProducts.path("sign-in")] + fixture.loginArguments(["--no-browser"]))
                .map { "'\($0)'" }.joined(separator: " ")
            let script = "\(words); echo stopped >&2; read go; fg >/dev/null"
            let process = try fixture.start(["dash", "-c", "set -m; " + script], [], input: terminal.input)
            let redirects = try await Redirects(process)
            try await terminal.wait(for: .bytes)
            terminal.type("\u{1A}")
            _ = try await process.line { $0 == "stopped" }
            #expect(terminal.mode == .lines)
            terminal.type("\n")
            try await terminal.wait(for: .bytes)
            terminal.type(try await redirects.signInElsewhere() + "\n")
            _ = try await process.outcome().result()
            #expect(terminal.mode == .lines)
        }
    }

    @Test func `a background job is not stopped and reads no typed input`() async throws {
        try await withDesk { fixture in
            let terminal = try Pseudoterminal()
            let words = try ([BuiltProducts.path("sign-in")] + fixture.loginArguments(["--no-browser"]))
                .map { "'\($0)'" }.joined(separator: " ")
            // The shell reads the line; the job is waited for.
            let script = "\(words) & read line; echo \"read $line\" >&2; wait"
            let process = try fixture.start(["dash", "-c", "set -m; " + script], [], input: terminal.input)
            let redirects = try await Redirects(process)
            _ = try await process.line { $0.contains("bring this job to the foreground") }
            #expect(terminal.mode == .lines)
            terminal.type("for the shell\n")
            _ = try await process.line { $0 == "read for the shell" }
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }

    @Test func `a job that moves to the foreground accepts a paste`() async throws {
        try await withDesk { fixture in
            let terminal = try Pseudoterminal()
            let words = try ([BuiltProducts.path("sign-in")] + fixture.loginArguments(["--no-browser"]))
                .map { "'\($0)'" }.joined(separator: " ")
            let script = "\(words) & read go; fg >/dev/null"
            let process = try fixture.start(["dash", "-c", "set -m; " + script], [], input: terminal.input)
            let redirects = try await Redirects(process)
            _ = try await process.line { $0.contains("bring this job to the foreground") }
            terminal.type("\n")
            try await terminal.wait(for: .bytes)
            terminal.type(try await redirects.signInElsewhere() + "\n")
            _ = try await process.outcome().result()
            #expect(terminal.mode == .lines)
        }
    }
}
