import Foundation
import AppAuthTestProvider
import Testing

/// The option `--store` of the samples, as a user of `opro` has it.
@Suite(.timeLimit(.minutes(1))) struct StoreOptionTests {
    @Test func `the tokens are in the file that --store names`() async throws {
        try await withOPro { fixture, server in
            let store = ["--store", "file:\(fixture.folder.path)/tokens.json"]
            _ = try await fixture.run("opro", ["sign-in"] + server + store).lines()
            #expect(FileManager.default.fileExists(atPath: fixture.folder.path + "/tokens.json"))
            let elsewhere = try await fixture.run("opro", ["show"] + server)
            #expect(elsewhere.failure().contains("not signed in"))
            let shown = try await fixture.run("opro", ["show"] + server + store).lines()
            #expect(shown.first?.hasPrefix("username ruby") == true)
        }
    }

    @Test func `with --store keyring they are in the keyring, and without one the sample says so`() async throws {
        try await withOPro { fixture, server in
            let arguments = ["sign-in", "--store", "keyring"] + server
            let outcome = try await fixture.run("opro", arguments, ["PATH": "/nowhere"])
            #expect(outcome.failure().contains("keyring:opro/"))
            #expect(outcome.errors.contains("needs a session bus"))
        }
    }

    @Test func `a session at the double is removed with it, and another session stays`() async throws {
        try await withOPro { fixture, server in
            let path = fixture.folder.path + "/tokens.json"
            let store = ["--store", "file:\(path)"]
            #expect(try await fixture.run("opro", ["sign-in"] + store).lines().count == 2)
            #expect(!FileManager.default.fileExists(atPath: path))
            _ = try await fixture.run("opro", ["sign-in"] + server + store).lines()
            let refused = try await fixture.run("opro", ["sign-in"] + store)
            #expect(refused.failure().contains("another run"))
            #expect(FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(arguments: ["memory", "file:", "keyrings"])
    func `another place is wrong usage`(store: String) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("opro", ["--store", store])
            #expect(outcome.failure(2).contains("keyring or file:PATH"))
        }
    }

    /// Gives a test a folder, and the options for a server with the user ruby.
    private func withOPro(_ test: (CommandFixture, _ server: [String]) async throws -> Void) async throws {
        let double = try await OPro.start()
        do {
            try await CommandFixture.with { fixture in
                let secret = try fixture.write("secret", "opro-demo-secret")
                let password = try fixture.write("password", "red-slippers")
                try await test(
                    fixture,
                    [
                        "--server", double.baseURL, "--client-id", "opro-demo", "--client-secret-file", secret,
                        "--username", "ruby", "--password-file", password,
                    ])
            }
        } catch {
            await double.stop()
            throw error
        }
        await double.stop()
    }
}
