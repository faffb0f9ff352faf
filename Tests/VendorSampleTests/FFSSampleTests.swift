import AppAuth
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The program `ffs`, as a user runs it.
struct FFSSampleTests {
    /// - Parameter inFile: Whether the tokens are kept in a file. Otherwise the sample decides.
    private func withFFS(
        password: String = "looking-glass", inFile: Bool = true,
        _ test: (FFSAuthenticator, CommandFixture, _ options: [String]) async throws -> Void
    ) async throws {
        let double = try await FFSAuthenticator.start()
        do {
            try await CommandFixture.with { fixture in
                let secret = try fixture.write("secret", double.demo["client_secret"]?.string ?? "")
                let passwordFile = try fixture.write("password", password)
                try await test(
                    double, fixture,
                    [
                        "--server", double.baseURL, "--client-id", "ffs-demo", "--client-secret-file", secret,
                        "--username", "alice", "--password-file", passwordFile,
                    ] + (inFile ? ["--store", "file:\(fixture.folder.path)/tokens.json"] : []))
            }
        } catch {
            await double.stop()
            throw error
        }
        await double.stop()
    }

    @Test(arguments: [[], ["--demo"]])
    func `by itself it starts a server, and does all that works`(arguments: [String]) async throws {
        try await CommandFixture.with { fixture in
            let lines = try await fixture.run("ffs", arguments).lines()
            #expect(lines.contains("Signed in as alice."))
            #expect(lines.contains("The request has Authorization: Bearer …"))
            #expect(lines.count { $0.hasPrefix("The API responded with status 200: {") } == 2)
            #expect(lines.last == "Forgot the tokens.")
        }
    }

    @Test func `ffs sign-in sends name and password without a scope, and its refresh token renews the session`()
        async throws
    {
        try await withFFS { double, fixture, options in
            #expect(try await fixture.run("ffs", ["sign-in"] + options).lines() == ["Signed in as alice."])
            let request = try #require(double.log(.token).first)
            #expect(request.method == .post)
            #expect(request.form.names.sorted() == ["grant_type", "password", "username"])
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
            #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
            #expect(request.headers[try #require(HTTPField.Name("X-App"))] == "ffs")
            // All requests use URLSession.
            #expect(request.headers[.userAgent]?.contains("curl/") == true)
            _ = try await fixture.run("ffs", ["invalidate"] + options).lines()
            #expect(double.log(.token).last?.form["grant_type"] == "refresh_token")
            #expect(double.log(.token).last?.form["scope"] == nil)
        }
    }

    @Test func `ffs call uses a valid token in each start, and refreshes an expired one first`() async throws {
        try await withFFS { double, fixture, options in
            func ffs(_ action: String) async throws -> Outcome { try await fixture.run("ffs", [action] + options) }
            var outcome = try await ffs("sign-in")
            #expect(outcome.lines() == ["Signed in as alice."])
            for _ in 0..<2 {
                outcome = try await ffs("call")
                #expect(outcome.lines().first?.contains("status 200") == true)
            }
            outcome = try await ffs("authenticate")
            #expect(outcome.lines() == ["The request has Authorization: Bearer …"])
            #expect(double.count(.token) == 1)
            double.advance(3600)
            outcome = try await ffs("call")
            #expect(outcome.lines().first?.contains("status 200") == true)
            #expect(double.log(.token).last?.form["grant_type"] == "refresh_token")
        }
    }

    @Test func `ffs invalidate forces a refresh, and clear forgets the tokens`() async throws {
        try await withFFS { double, fixture, options in
            func ffs(_ actions: String...) async throws -> Outcome { try await fixture.run("ffs", actions + options) }
            _ = try await ffs("sign-in", "call").lines()
            var outcome = try await ffs("invalidate", "call")
            #expect(outcome.lines().first == "Replaced the access token.")
            let tokens = double.log(.api).map { $0.headers[.authorization] }
            #expect(tokens.count == 2 && tokens[0] != tokens[1] && double.count(.token) == 2)
            outcome = try await ffs("clear")
            #expect(outcome.lines() == ["Forgot the tokens."])
            outcome = try await ffs("call")
            #expect(outcome.failure().contains("not signed in") && double.count(.token) == 2)
        }
    }

    @Test func `ffs clear sign-in works with and without a stored token, and clears first`() async throws {
        try await withFFS { double, fixture, options in
            for before in ["There were no tokens.", "Forgot the tokens."] {
                let lines = try await fixture.run("ffs", ["clear", "sign-in", "call"] + options).lines()
                #expect(lines.first == before && lines.count == 3, "\(lines)")
            }
            let grants = double.log(.token).map { $0.form["grant_type"] }
            #expect(grants == ["password", "password"] && double.log(.api).map(\.status) == [200, 200])
            // A sign-in that fails keeps the tokens, unless they were cleared before.
            let store = FileTokenStore(path: fixture.folder.path + "/tokens.json")
            for (actions, isKept) in [(["sign-in"], true), (["clear", "sign-in"], false)] {
                double.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
                let outcome = try await fixture.run("ffs", actions + options)
                #expect(outcome.status == 1 && outcome.errors.contains("invalid_grant"), "\(outcome)")
                #expect(try await (store.load() != nil) == isKept)
            }
        }
    }

    @Test func `the tokens of a real server are in the keyring unless --store names a file`() async throws {
        try await withFFS(inFile: false) { double, fixture, options in
            let run = fixture.folder.path + "/run"
            try FileManager.default.createDirectory(
                atPath: run, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let outcome = try await fixture.run(
                UnlockedKeyring.program,
                UnlockedKeyring.arguments(
                    running: #""$@" sign-in && "$@" call"#, [CommandFixture.product("ffs")] + options),
                ["XDG_RUNTIME_DIR": run, "PATH": "/usr/bin:/bin"])
            let lines = outcome.output.split(separator: "\n")
            #expect(outcome.status == 0 && lines.count == 2, "\(outcome)")
            #expect(double.count(.token) == 1 && double.count(.api) == 1)
            #expect(!FileManager.default.fileExists(atPath: fixture.folder.path + "/ffs/session.json"))
            let without = try await fixture.run("ffs", ["sign-in"] + options, ["PATH": "/nowhere"])
            #expect(without.failure().contains("keyring"))
        }
    }

    @Test func `an error is one clear line, without the password`() async throws {
        try await withFFS(password: "wrong-glass") { double, fixture, options in
            let failure = try await fixture.run("ffs", ["sign-in"] + options).failure()
            #expect(failure.contains("invalid_grant") && !failure.contains("wrong-glass"))
            double.fault(.htmlPage, at: .token)
            let outcome = try await fixture.run("ffs", ["sign-in"] + options)
            #expect(outcome.failure().contains("application/json"))
            await double.stop()
            let stopped = try await fixture.run("ffs", ["sign-in"] + options).failure()
            #expect(stopped.contains("connect to 127.0.0.1") && stopped.contains("; check --server"))
            let missing = try await fixture.run("ffs", ["call"] + options).failure()
            #expect(missing.contains("has no session; begin with the action sign-in"))
        }
    }

    @Test(arguments: [
        (["dance"], "'sign-in', 'authenticate'"), (["--server", "https://a.example"], "--client-id together"),
        (["--username", "alice"], "--password-file together"),
    ])
    func `wrong usage is status 2, with what is expected`(arguments: [String], words: String) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("ffs", arguments)
            let line = outcome.failure(2)
            #expect(line.hasPrefix("ffs: ") && line.contains(words), "\(line)")
        }
    }
}
