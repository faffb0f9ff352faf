import AppAuthTestProvider
import Testing

/// The reading of a sign-in's command line, before a profile completes it.
@Suite(.timeLimit(.minutes(5)))
struct SignInLineTests {
    /// Options without a value, from the help of a command.
    private func flags(_ command: String, _ fixture: CommandFixture) async throws -> [String] {
        try await fixture.run(command, "--help").output.split(separator: "\n")
            .filter { $0.hasPrefix("  --") }
            .map { $0.split(separator: " ", maxSplits: 1) }
            .filter { words in words.count == 1 || !words[1].hasPrefix("<") }
            .map { String($0[0]) }
    }

    // RFC 6749 §2.3.1: if `--issuer` were taken for the value of a flag, the profile would complete the line, and its
    // client secret would go to the other provider.
    @Test(arguments: ["login", "device"])
    func `after each flag, --issuer is still read`(command: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("use", "work").output
            let elsewhere = ["--issuer", "http://127.0.0.1:1"]
            let flags = try await flags(command, fixture).filter { !["--help", "--version"].contains($0) }
            #expect(flags.contains("--dpop"))
            for flag in flags {
                let message = try await fixture.start([command, flag] + elsewhere + ["--json"]).outcome().wrongUsage()
                #expect(message.contains("--client-id"), "\(flag): \(message)")
            }
            // Without `--issuer`, the profile completes the same line.
            let completed = try await fixture.start([command, "--dpop", "--scope", "nonsense", "--json"]).outcome()
            try completed.failure(1, "invalid_scope")
        }
    }

    @Test func `the flags of a password's command line are those of the other sign-ins`() async throws {
        try await withDesk { fixture in
            let login = try await Set(flags("login", fixture))
            let password = try await flags("password", fixture)
            #expect(!password.isEmpty && login.isSuperset(of: password))
        }
    }
}
