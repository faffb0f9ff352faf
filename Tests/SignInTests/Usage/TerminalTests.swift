import Foundation
import Testing

/// What a terminal shows beyond the text that a file or a pipe gets.
@Suite(.timeLimit(.minutes(5)))
struct TerminalTests {
    /// Runs a command on a terminal, and returns the terminal's text.
    private func terminal(
        _ fixture: CommandFixture, _ arguments: [String], with changes: [String: String?] = [:]
    ) async throws -> String {
        let words = try [BuiltProducts.path("sign-in")] + arguments
        let command = "stty cols 200; exec \(words.map { "'\($0)'" }.joined(separator: " "))"
        return try await fixture.start(["script", "-qefc", command, "/dev/null"], [], changes).outcome().output
    }

    @Test func `a sign-in shows the time that is left until the browser is back`() async throws {
        try await withDesk { fixture in
            let arguments = fixture.loginArguments([]).filter { $0 != "--json" }
            let text = try await terminal(fixture, arguments)
            let parts = text.components(separatedBy: "\r\u{1B}[K")
            #expect(parts.contains { $0.contains(#/^. Waiting: [45]:\d\d left, /#) }, "\(text)")
            #expect(parts.last?.hasPrefix("Signed in at \(fixture.issuer)") == true, "\(text)")
            let json = try await terminal(fixture, arguments + ["--json"])
            #expect(json.contains("Sign in with the browser") && !json.contains("\u{1B}"), "\(json)")
            let piped = try await fixture.start(arguments).outcome()
            #expect(!piped.errorLines.contains { $0.contains("Waiting:") }, "\(piped)")
        }
    }

    @Test func `only a terminal has styles, and none if the user does not want them`() async throws {
        try await withDesk { fixture in
            let wrong = ["token", "--profile", "unknown"]
            #expect(try await terminal(fixture, wrong).hasPrefix("\u{1B}[31msign-in:\u{1B}[0m "))
            let json = try await terminal(fixture, wrong + ["--json"])
            #expect(json.contains("sign-in: ") && !json.contains("\u{1B}"), "\(json)")
            for changes in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
                #expect(try await terminal(fixture, wrong, with: changes).hasPrefix("sign-in: "), "\(changes)")
            }
            #expect(try await fixture.start(wrong).outcome().errorLines.first?.hasPrefix("sign-in: ") == true)

            _ = try await fixture.login().result()
            _ = try await fixture.login("--profile", "work").result()
            #expect(try await terminal(fixture, ["status"]).hasPrefix("\u{1B}[1mPROFILE  "))
            #expect(try await terminal(fixture, ["status"], with: ["NO_COLOR": "1"]).hasPrefix("PROFILE  "))
            #expect(try await fixture.run("status").output.hasPrefix("PROFILE  "))
        }
    }
}
