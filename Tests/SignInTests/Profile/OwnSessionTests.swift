import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// A profile has only sessions of its own, whatever paths, names and times lead to another one.
@Suite(.timeLimit(.minutes(5)))
struct OwnSessionTests {
    private func user(_ fixture: CommandFixture, _ profile: String) async throws -> JSON? {
        let status = try await fixture.run("status", "--profile", profile, "--json").result()
        return status["sessions"]?.array?.first?["user"]
    }

    @Test(arguments: ["/work.json", "//work.json", "/../sign-in/work.json"], [["--profile", "play"], []])
    func `no sign-in but its own replaces the session of a profile`(path: String, name: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let before = try fixture.content("work.json")
            let place = ["--store", "file:\(fixture.sessions)\(path)"]
            let message = try await fixture.start(fixture.loginArguments(place + name)).outcome()
                .failure(1, "session_replaced")
            #expect(message.contains("has the session of the profile 'work'"), "\(message)")
            #expect(message.hasSuffix("sign-in logout --profile work --forget"), "\(message)")
            #expect(try fixture.content("work.json") == before)
            #expect(fixture.provider.count(.openIDConfiguration) == 1)
            // A profile that was forgotten has no session any more.
            try FileManager.default.removeItem(atPath: "\(fixture.sessions)/work.profile")
            _ = try await fixture.start(fixture.loginArguments(place + name)).outcome().result()
        }
    }

    @Test func `a profile gets no token of another one, whose file it names`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let document = #"{"sign_in_profile":1,"command":"login","issuer":"\#(fixture.issuer)","client_id":"demo"}"#
            let file = "\(fixture.home)/other.json"
            try document.write(toFile: file, atomically: true, encoding: .utf8)
            let store = "file:\(fixture.sessions)/work.json"
            let words = ["import", file, "--profile", "other", "--store", store, "--yes", "--json"]
            _ = try await fixture.start(words).outcome().result()
            let api = fixture.provider.url(.api)
            for command in [["token"], ["token", "--force-refresh"], ["userinfo"], ["request", api]] {
                let message = try await fixture.start(command + ["--profile", "other", "--json"]).outcome()
                    .failure(1, "invalid_configuration")
                #expect(
                    message.hasSuffix("/work.json has the session of the profile 'work', not of the profile 'other'"),
                    "\(message)")
            }
            #expect(fixture.provider.count(.api) == 0)
            let git = try await fixture.helper(
                "git", ["--host", "h.example", "--profile", "other", "get"], input: "protocol=https\nhost=h.example\n\n"
            ).outcome()
            #expect(!git.output.contains("password"), "\(git)")
            let accounts = try await fixture.run("accounts")
            #expect(
                accounts.output.contains("work: ") && accounts.errors.contains("not of the profile 'other'"),
                "\(accounts)")
            // The profile that has no session can be forgotten without it.
            _ = try await fixture.start(["logout", "--profile", "other", "--forget", "--json"]).outcome().result()
            #expect(fixture.provider.count(.revocation) == 0)
            #expect(try await user(fixture, "work") == "alice")
        }
    }

    @Test func `a name that is no profile any more has no session of another one`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "old")
            _ = try await fixture.run("logout", "--profile", "old", "--forget", "--local", "--json").result()
            let place = ["--profile", "work", "--store", "file:\(fixture.sessions)/old.json"]
            _ = try await fixture.start(fixture.loginArguments(place)).outcome().result()
            try await fixture.run("token", "--profile", "old", "--json").failure(1, "invalid_configuration")
            _ = try await fixture.run("token", "--profile", "work", "--json").result()
            // Nor is a name forgotten with the session of another one.
            _ = try await fixture.login("--profile", "old", "--store", "file:\(fixture.home)/elsewhere.json").result()
            let file = "file:\(fixture.sessions)/old.json"
            let outcome = try await fixture.run("logout", "--store", file, "--forget", "--local")
            #expect(outcome.status == 0 && !outcome.output.contains("Forgot"), "\(outcome)")
            #expect(try await user(fixture, "old") == "alice")
        }
    }

    @Test func `a profile of an earlier version has its session, and gets an ID with the next one`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let session = try #require(fixture.stored.first { $0.hasSuffix(".json") })
            try FileManager.default.moveItem(
                atPath: "\(fixture.sessions)/\(session)", toPath: "\(fixture.sessions)/old.json")
            let line: JSON = ["login", "--issuer", .string(fixture.issuer), "--client-id", "demo"]
            try line.serialized().write(toFile: fixture.sessions + "/old.profile", atomically: true, encoding: .utf8)
            #expect(try await user(fixture, "old") == "alice")
            _ = try await fixture.run("token", "--profile", "old", "--json").result()
            _ = try await fixture.run("login", "--profile", "old", "--json").result()
            let known = try JSON(parsing: Array(fixture.content("old.profile")))
            #expect(known["id"] != nil && known["sign_in"] == line)
            #expect(try JSON(parsing: Array(fixture.content("old.json")))["profile"] == known["id"])
            _ = try await fixture.run("token", "--profile", "old", "--json").result()
        }
    }

    /// Over SSH, no browser opens.
    @Test(arguments: [true, false])
    func `the code that the user asks for later replaces no session that came in between`(isSignedOut: Bool)
        async throws
    {
        var configuration = LocalProvider.Configuration.device
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "work")
            let terminal = try Pseudoterminal()
            let process = try fixture.start(
                ["login", "--profile", "work", "--json"], ["BROWSER": "no-such-browser"], input: terminal.input)
            _ = try await process.line { $0.hasPrefix("Or press d") }
            try await terminal.wait(for: .bytes)
            _ = try await fixture.run("logout", "--profile", "work", "--forget", "--local", "--json").result()
            if !isSignedOut { _ = try await fixture.login("--profile", "work", with: CommandFixture.bob).result() }
            terminal.type("d\n")
            try await DeviceCode(process).decide("allow")
            let outcome = try await process.outcome()
            if isSignedOut {
                // The user has finished this sign-in last.
                _ = try outcome.result()
                #expect(try await user(fixture, "work") == "alice")
            } else {
                try outcome.failure(1, "session_replaced")
                #expect(try await user(fixture, "work") == "bob")
            }
        }
    }

    @Test func `--all forgets no profile that is another one by then`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "a")
            try await fixture.signIn(profile: "z")
            let hold = fixture.provider.hold(.revocation)
            let process = try fixture.start(["logout", "--all", "--forget", "--revoke-only"])
            try await hold.arrived()
            _ = try await fixture.run("logout", "--profile", "z", "--forget", "--local", "--json").result()
            let elsewhere = ["--profile", "z", "--store", "file:\(fixture.home)/z.json"]
            _ = try await fixture.start(fixture.loginArguments(elsewhere)).outcome().result()
            hold.release()
            #expect(try await process.outcome().status == 0)
            #expect(try await user(fixture, "z") == "alice")
            #expect(fixture.stored == ["z.profile"])
        }
    }
}

extension CommandFixture {
    fileprivate func content(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(sessions)/\(name)"))
    }
}
