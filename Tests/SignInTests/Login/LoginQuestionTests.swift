import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// `sign-in login` on a terminal, without the options that say where and as which client.
@Suite(.timeLimit(.minutes(5)))
struct LoginQuestionTests {
    /// A user who reads the questions on the terminal's screen, and types.
    private final class User: Sendable {
        let process: ChildProcess
        private let terminal: Pseudoterminal
        private let screen = LockedValue("")

        /// - Parameter early: What the user types before the command starts.
        init(
            _ fixture: CommandFixture, _ arguments: [String], _ changes: [String: String?] = [:], early: String = ""
        ) throws {
            terminal = try Pseudoterminal()
            terminal.type(early)
            let prefix = ["sh", "-c", #"exec "$0" "$@" 2>&0"#, try BuiltProducts.path("sign-in")]
            process = try fixture.start(prefix, arguments, changes, input: terminal.input)
        }

        /// What the screen has shown since the last answer.
        var shown: String {
            screen.withLock {
                $0 += terminal.shown(); return $0
            }
        }

        /// Waits for a question, and types.
        func answer(_ question: String, _ keys: String) async throws {
            try await waitUntil { shown.contains(question) }
            screen.withLock { $0 = "" }
            terminal.type(keys)
        }

        /// Waits for a text on the screen.
        func sees(_ text: String) async throws { try await waitUntil { shown.contains(text) } }
    }

    private static let provider = "A number or name, or the URL or host of another provider"
    private static let client = "Client id"

    private func line(_ fixture: CommandFixture, _ client: String = "demo") -> String {
        "sign-in login --issuer \(fixture.issuer) --client-id \(client)"
    }

    @Test func `the user names a host and a client, and gets the line that asks nothing`() async throws {
        try await withDesk { fixture in
            let user = try User(fixture, ["login"])
            try await user.sees(" 1  google  https://accounts.google.com\r\n")
            try await user.answer(Self.provider, fixture.issuer.replacing("http://", with: "") + "\n")
            try await user.answer(Self.client, "demo\n")
            let outcome = try await user.process.outcome()
            #expect(outcome.status == 0 && outcome.output.hasPrefix("Signed in at \(fixture.issuer)"), "\(outcome)")
            let shown = user.shown
            let line = "To sign in like this without questions: \(line(fixture))\r\n"
            #expect(shown.components(separatedBy: line).count == 2 && shown.hasSuffix(line), "\(shown)")
            let again = try await fixture.start(["sh", "-c", self.line(fixture)], []).outcome()
            #expect(again.status == 0 && fixture.provider.count(.authorization) == 2, "\(again)")
        }
    }

    @Test(arguments: ["http://127.0.0.1:1", "127.0.0.1:1", "wrok", "0", "99", "", "http://op.example", "https:/x"])
    func `a wrong answer is asked for again once, before the next question`(wrong: String) async throws {
        try await withDesk { fixture in
            let user = try User(fixture, ["login"])
            try await user.answer(Self.provider, wrong + "\n")
            try await user.sees("sign-in:")
            try await user.answer(Self.provider, fixture.issuer + "\n")
            try await user.answer(Self.client, "\u{4}")
            #expect(try await user.process.outcome().status == 2)

            let second = try User(fixture, ["login"])
            for _ in 1...2 { try await second.answer(Self.provider, wrong + "\n") }
            let outcome = try await second.process.outcome()
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(!second.shown.contains(Self.client) && fixture.stored.isEmpty)
        }
    }

    @Test(
        arguments: [("\u{3}", 130, "interrupted"), ("\u{4}", 2, "expected --")]
            as [(String, CInt, String)])
    func `Ctrl-C and Ctrl-D leave nothing behind`(key: String, status: CInt, error: String) async throws {
        try await withDesk { fixture in
            for isAtClient in [false, true] {
                let user = try User(fixture, ["login"] + (isAtClient ? ["--issuer", fixture.issuer] : []))
                try await user.answer(isAtClient ? Self.client : Self.provider, key)
                let outcome = try await user.process.outcome()
                #expect(outcome.status == status && outcome.output.isEmpty, "\(outcome)")
                let lines = user.shown.replacing("\u{1B}[31msign-in:\u{1B}[0m", with: "sign-in:").split(
                    separator: "\r\n")
                #expect(lines.filter { $0.hasPrefix("sign-in: ") }.count == 1, "\(lines)")
                #expect(lines.last?.hasPrefix("sign-in: \(error)") == true, "\(lines)")
                #expect(!FileManager.default.fileExists(atPath: fixture.sessions))
            }
        }
    }

    @Test func `a stored profile is in the list, and remembers the rest`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            for answer in ["1", "work"] {
                let user = try User(fixture, ["login"])
                try await user.sees(" 1  work    your profile, at \(fixture.issuer)\r\n")
                try await user.answer(Self.provider, answer + "\n")
                #expect(try await user.process.outcome().status == 0)
                #expect(user.shown.hasSuffix("without questions: sign-in login --profile work\r\n"), "\(user.shown)")
            }
            #expect(fixture.stored == ["work.json", "work.profile"])
        }
    }

    @Test(arguments: [12, 13])
    func `a list of many profiles fits on a screen, and the others have their names`(count: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "p01")
            let file = try #require(fixture.stored.first { $0.hasSuffix(".profile") })
            for number in 2...count {
                let name = "p\(number < 10 ? "0" : "")\(number)"
                try FileManager.default.copyItem(
                    atPath: "\(fixture.sessions)/\(file)", toPath: "\(fixture.sessions)/\(name).profile")
            }
            let user = try User(fixture, ["login"])
            try await user.sees("12  p12 ")
            try await user.sees("\r\n 13  google")
            if count == 13 { try await user.sees("     and 1 more profiles, by name\r\n") }
            try await user.answer(Self.provider, "p\(count)\n")
            _ = try await user.process.outcome()
            #expect(user.shown.contains("--profile p\(count)"), "\(user.shown)")
        }
    }

    @Test func `beside a client, no profile is in the list`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let user = try User(fixture, ["login", "--client-id", "demo"])
            try await user.sees(" 1  google ")
            try await user.answer(Self.provider, fixture.issuer + "\n")
            #expect(try await user.process.outcome().status == 0)
            #expect(user.shown.hasSuffix("without questions: \(line(fixture))\r\n"), "\(user.shown)")
        }
    }

    @Test func `nobody has to type the slash at the end of an issuer`() async throws {
        try await withDesk { fixture in
            let issuer = JSON.string(fixture.issuer + "/")
            fixture.provider.fault(.editDocument { $0["issuer"] = issuer }, at: .openIDConfiguration, times: nil)
            let user = try User(fixture, ["login"])
            try await user.answer(Self.provider, fixture.issuer.replacing("http://", with: "") + "\n")
            try await user.answer(Self.client, "demo\n")
            // The provider's response has the other issuer.
            #expect(try await user.process.outcome().status == 1)
            #expect(fixture.provider.count(.authorization) == 1, "\(user.shown)")
        }
    }

    @Test func `a new profile remembers the answers`() async throws {
        try await withDesk { fixture in
            let user = try User(fixture, ["login", "--profile", "work"])
            try await user.sees("The profile work will remember it.")
            try await user.answer(Self.provider, fixture.issuer + "\n")
            try await user.answer(Self.client, "demo\n")
            #expect(try await user.process.outcome().status == 0)
            _ = try await fixture.run("login", "--profile", "work", "--json").result()
            #expect(fixture.provider.count(.authorization) == 2)
        }
    }

    @Test func `where the provider registers clients, Enter is an answer`() async throws {
        try await withDesk { fixture in
            let user = try User(fixture, ["login", "--issuer", fixture.issuer])
            try await user.answer("Client id, or only Enter to register a client there: ", "\n")
            let outcome = try await user.process.outcome()
            try #require(outcome.status == 0, "\(outcome) \(user.shown)")
            #expect(fixture.provider.count(.clientRegistration) == 1)
            let words = try #require(user.shown.split(separator: " --client-id ").last)
            let id = words.prefix { !$0.isWhitespace }
            let again = try await fixture.start(["sh", "-c", line(fixture, String(id)) + " --json"], []).outcome()
            #expect(try again.result()["client_id"]?.string == String(id))
            // Now it is the registered client of this issuer.
            _ = try await fixture.run("login", "--issuer", fixture.issuer, "--json").result()
            #expect(fixture.provider.count(.clientRegistration) == 1)
            let used = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(used.count == 3 && Set(used).count == 1, "\(used)")
            // Below those that the kernel gives to other programs.
            let port = try #require(URL(string: used[0])?.port)
            #expect((16_384..<32_768).contains(port))
        }
    }

    @Test func `what was typed before a question is no answer to it`() async throws {
        try await withDesk { fixture in
            let early = try User(fixture, ["login", "--issuer", fixture.issuer], early: "\n")
            try await early.answer(Self.client, "demo\n")
            #expect(try await early.process.outcome().status == 0)
            #expect(early.shown.contains("--client-id demo"), "\(early.shown)")
            // The second line came before the second question.
            let user = try User(fixture, ["login"], early: "google\n")
            try await user.answer(Self.provider, "\(fixture.issuer)\n\n")
            try await user.answer(Self.client, "demo\n")
            #expect(try await user.process.outcome().status == 0)
            #expect(fixture.provider.count(.clientRegistration) == 0 && fixture.provider.count(.authorization) == 2)
        }
    }

    @Test func `where the provider registers none, a client id is required`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["registration_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.status(.notFound), at: .oauthMetadata, times: nil)
            let user = try User(fixture, ["login", "--issuer", fixture.issuer])
            try await user.answer("Client id: ", "\n")
            try await user.sees("expected a client id, found nothing")
            try await user.answer("Client id: ", "demo\n")
            #expect(try await user.process.outcome().status == 0)
        }
    }

    @Test func `the client of a preset has a secret`() async throws {
        try await withDesk { fixture in
            let user = try User(fixture, ["login"])
            try await user.answer(Self.provider, "https://accounts.google.com\n")
            try await user.answer("Client id: ", "my-app\n")
            try await user.answer("secret", "\(fixture.home)/missing\n")
            try await user.sees("\(fixture.home)/missing: ")
            try await user.answer("secret", "\u{4}")
            #expect(try await user.process.outcome().status == 2)
            #expect(user.shown.hasSuffix("expected --client-secret-file\r\n"))
        }
    }

    @Test func `programs are not asked`() async throws {
        try await withDesk { fixture in
            let json = try User(fixture, ["login", "--json"])
            #expect(try await json.process.outcome().status == 2)
            let terminal = try Pseudoterminal()
            let unseen = try await fixture.start(["login"], input: terminal.input).outcome()
            #expect(unseen.status == 2)
            #expect(unseen.errorLines == ["sign-in: expected --issuer and --client-id, or the --profile of a sign-in"])
        }
    }
}
