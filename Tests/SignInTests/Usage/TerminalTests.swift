import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// What a terminal shows beyond the text that a file or a pipe gets.
@Suite(.timeLimit(.minutes(5)))
struct TerminalTests {
    /// Runs a command on a terminal, and returns the terminal's text.
    private func terminal(
        _ fixture: CommandFixture, _ arguments: [String], with changes: [String: String?] = [:], columns: Int = 200
    ) async throws -> String {
        let words = try [BuiltProducts.path("sign-in")] + arguments
        let command = "stty cols \(columns); exec \(words.map { "'\($0)'" }.joined(separator: " "))"
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

    @Test(arguments: [["NO_COLOR": "1"], ["LANG": "C"], ["LANG": "C.UTF-8"]])
    func `the time that is left fits a narrow terminal, and has a sign only where there are colours and UTF-8`(
        changes: [String: String]
    ) async throws {
        try await withDesk { fixture in
            let arguments = fixture.loginArguments(["--timeout", "4"]).filter { $0 != "--json" }
            let text = try await terminal(
                fixture, arguments, with: changes.merging(["BROWSER": "true"]) { $1 }, columns: 30)
            let lines = text.components(separatedBy: "\r\u{1B}[K").flatMap { $0.components(separatedBy: "\r\n") }
                .filter { $0.contains("Waiting: ") }
            #expect(lines.allSatisfy { $0.count < 30 }, "\(lines)")
            // One each second, and one below each line that is printed meanwhile.
            #expect((2...6).contains(Set(lines).count) && lines.count < 16, "\(lines)")
            let begins = changes["LANG"] == "C.UTF-8" ? "⠋ Waiting: 0:0" : "Waiting: 0:0"
            #expect(lines.first?.hasPrefix(begins) == true, "\(lines)")
        }
    }

    @Test func `the sessions fit a narrow terminal, also with names in wide characters`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(LocalProvider.User(name: "山田太郎🎌山田太郎山田太郎山田", password: "builder"))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "work", as: configuration.users[1])
            let text = try await terminal(fixture, ["status"], with: ["NO_COLOR": "1"], columns: 30)
            // What one copies is not split.
            let lines = text.components(separatedBy: "\r\n").filter { !$0.contains("://") && !$0.contains("file:") }
            #expect(lines.count > 2)
            for line in lines {
                let cells = line.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x2E80 ? 2 : 1) }
                #expect(cells <= 30, "\(line)")
            }
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

            try await fixture.signIn()
            try await fixture.signIn(profile: "work")
            #expect(try await terminal(fixture, ["status"]).hasPrefix("\u{1B}[1m  work: alice at "))
            #expect(try await terminal(fixture, ["status"], with: ["NO_COLOR": "1"]).hasPrefix("  work: alice at "))
            #expect(try await fixture.run("status").output.hasPrefix("  work: alice at "))
        }
    }

    @Test func `sign-in alone shows what is stored, and the commands that come next`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            // Each of the commands works, but those that ask.
            func text() async throws -> String {
                let text = try await terminal(fixture, [], with: ["NO_COLOR": "1"]).replacing("\r\n", with: "\n")
                let next = text.split(separator: "\n").drop { $0 != "Next:" }.dropFirst()
                for line in next where !["  sign-in login", "  sign-in demo"].contains(line) {
                    let line = line.replacing("URL", with: fixture.provider.url(.api))
                    let outcome = try await fixture.start(["sh", "-c", String(line)], []).outcome()
                    #expect(outcome.status == 0, "\(line): \(outcome)")
                }
                return text
            }
            #expect(try await text() == "No session is stored.\n\nNext:\n  sign-in login\n  sign-in demo\n")
            try await fixture.signIn()
            let status = try await fixture.run("status").output
            #expect(try await text() == status + "\nNext:\n  sign-in token\n  sign-in request URL\n")
            // Of several sessions, the commands name one.
            try await fixture.signIn(client: "second")
            let client = "--issuer \(fixture.issuer) --client-id demo"
            #expect(try await text().hasSuffix("  sign-in token \(client)\n  sign-in request URL \(client)\n"))
            try await fixture.signIn(profile: "work")
            #expect(try await text().hasSuffix("\n\nNext:\n  sign-in use work\n  sign-in token --profile work\n"))
            _ = try await fixture.run("use", "work")
            #expect(try await text().hasSuffix("\n\nNext:\n  sign-in token\n  sign-in request URL\n"))
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            #expect(try await text().hasSuffix("\n\nNext:\n  sign-in login --profile work\n"))
            _ = try await fixture.run("logout", "--local", "--json").result()
            #expect(try await text().hasSuffix("\n\nNext:\n  sign-in login --profile work\n"))
        }
    }

    @Test func `sign-in alone needs a terminal for both its input and its output`() async throws {
        try await withDesk { fixture in
            let terminal = try Pseudoterminal()
            #expect(try await fixture.start([], input: terminal.input).outcome().status == 2)
            let program = try BuiltProducts.path("sign-in")
            let shown = ["script", "-qefc", "'\(program)' </dev/null", "/dev/null"]
            #expect(try await fixture.start(shown, []).outcome().status == 2)
        }
    }
}
