import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// `sign-in helper git`, called by git at a server that accepts only the provider's tokens.
@Suite(.timeLimit(.minutes(5)))
struct GitHelperTests {
    private func withServer(_ body: (CommandFixture, GitServer) async throws -> Void) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let server = try await GitServer(for: fixture)
            defer { server.server.stop() }
            let helper = "!sign-in helper git --host \(server.server.host) --profile work"
            let name = "credential.http://\(server.server.host).helper"
            let settings = [
                ["credential.helper", "store --file=\(fixture.home)/passwords"], [name, ""], [name, helper],
            ]
            for setting in settings {
                let configured = try await fixture.git(["config", "--global", "--add"] + setting)
                #expect(configured.status == 0, "\(configured)")
            }
            try await body(fixture, server)
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/passwords"))
        }
    }

    private func expire(_ fixture: CommandFixture) throws {
        try CommandFixture.editSession(at: fixture.sessions + "/work.json") { try $0.expire() }
    }

    @Test func `git clones with the token as the password, and it is in no file of git`() async throws {
        try await withServer { fixture, server in
            let clone = try await fixture.git(["clone", "--quiet", server.url, "\(fixture.home)/clone"])
            #expect(clone.status == 0, "\(clone)")
            let token = try await fixture.run("token").output.dropLast()
            #expect(server.server.requests.last?.basic?.password == String(token))
            let search = try await ChildProcess(
                ["grep", "-r", "-F", "-l", "-e", String(token), "\(fixture.home)/clone", "\(fixture.home)/gitconfig"],
                environment: fixture.environment
            ).outcome()
            #expect(search.status == 1 && search.output.isEmpty, "\(search)")
        }
    }

    @Test func `twenty fetches at once share one refresh of an expired token`() async throws {
        try await withServer { fixture, server in
            try expire(fixture)
            let before = fixture.provider.count(.token)
            let clones = try (0..<20).map { number in
                try fixture.startGit(["clone", "--quiet", "--bare", server.url, "\(fixture.home)/clone\(number)"])
            }
            for clone in clones {
                let outcome = try await clone.outcome()
                #expect(outcome.status == 0, "\(outcome)")
            }
            #expect(fixture.provider.count(.token) == before + 1)
        }
    }

    @Test func `a token that the server rejects is replaced for the next fetch`() async throws {
        try await withServer { fixture, server in
            let token = try await fixture.run("token").output.dropLast()
            server.reject(String(token))
            let refused = try await fixture.git(["ls-remote", server.url])
            #expect(refused.status != 0, "\(refused)")
            #expect(fixture.provider.count(.token) == 2)
            let fetched = try await fixture.git(["ls-remote", server.url])
            #expect(fetched.status == 0 && fetched.output.contains("HEAD"), "\(fetched)")
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `many reports of one rejected token cause one refresh, and a report of another token none`() async throws
    {
        try await withServer { fixture, server in
            let token = try await fixture.run("token").output.dropLast()
            func erase(_ password: Substring) throws -> ChildProcess {
                try fixture.helper(
                    "git", ["--host", server.server.host, "--profile", "work", "erase"],
                    input: "protocol=http\nhost=\(server.server.host)\nusername=oauth2\npassword=\(password)\n\n")
            }
            let outcomes = try (0..<20).map { _ in try erase(token) }
            for process in outcomes { #expect(try await process.outcome().status == 0) }
            #expect(fixture.provider.count(.token) == 2)
            #expect(try await erase(token).outcome().status == 0)
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    /// git-credential(1): the parts of such a URL take the place of `protocol` and `host`. Git itself sends none.
    @Test(arguments: [
        "url=https://evil.example\nprotocol=https\nhost=git.example.org",
        "protocol=https\nhost=git.example.org\nurl=https://evil.example",
        "protocol=https\nhost=git.example.org\nurl=http://git.example.org", "url=https://git.example.org",
        "protocol=https\nhost=git.example.org\nurl=",
    ])
    func `a request with a URL is not answered`(request: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            for operation in ["get", "erase"] {
                let process = try fixture.helper(
                    "git", ["--host", "git.example.org", "--profile", "work", operation],
                    input: "\(request)\npassword=x\n\n")
                let outcome = try await process.outcome()
                #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
            }
        }
    }

    @Test(arguments: ["https://git.example.org", "git.example.org/", "zoe@git.example.org", "git.example.org:port", ""])
    func `a host in another form is wrong usage, since it would match no server`(host: String) async throws {
        try await withDesk { fixture in
            for operation in [["git", "get"], ["docker", "get"]] {
                let outcome = try await fixture.start(["helper", operation[0], "--host", host, operation[1]]).outcome()
                #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
                #expect(outcome.errors.contains("expected host or host:port"), "\(outcome)")
            }
        }
    }

    @Test func `without a session git gets no password, and the error names the command`() async throws {
        try await withDesk { fixture in
            let request = "protocol=https\nhost=git.example.org\nusername=zoe\n\n"
            let options = ["--host", "git.example.org", "--issuer", fixture.issuer, "--client-id", "demo"]
            let outcome = try await fixture.helper("git", options + ["get"], input: request).outcome()
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("Sign in with: sign-in login --issuer \(fixture.issuer)"), "\(outcome)")
            for operation in ["store", "capability"] {
                let process = try fixture.helper("git", options + [operation], input: request)
                let ignored = try await process.outcome()
                #expect(ignored.status == 0 && ignored.output.isEmpty && ignored.errors.isEmpty, "\(ignored)")
            }
        }
    }

    @Test func `without a session of its own, the error names the profiles that have one of the same client`()
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let named = ["--issuer", fixture.issuer, "--client-id", "demo"]
            let request = "protocol=https\nhost=git.example.org\n\n"
            for profiles in ["--profile work", "--profile home, or --profile work"] {
                let helper = try fixture.helper("git", ["--host", "git.example.org"] + named + ["get"], input: request)
                let outcomes = try await [
                    helper.outcome(), fixture.start(["token"] + named).outcome(),
                    fixture.start(["helper", "kubectl"] + named).outcome(),
                ]
                for outcome in outcomes {
                    #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
                    let message = "not signed in without a profile. To use the session of a profile, name it: "
                    #expect(outcome.errors.contains(message + profiles), "\(outcome)")
                }
                try await fixture.signIn(profile: "home")
            }
            // A session of another client is no choice.
            let other = try await fixture.run("token", "--issuer", fixture.issuer, "--client-id", "other")
            #expect(other.errors.contains("not signed in. Sign in with: sign-in login"), "\(other)")
        }
    }

    @Test func `the user name of the URL is kept, and a bound token is no password`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let options = ["--host", "git.example.org", "--profile", "work", "get"]
            let request = "protocol=https\nhost=git.example.org\n"
            let named = try await fixture.helper(
                "git", ["--verbose"] + options, input: request + "username=zoe\n\n"
            ).outcome()
            #expect(named.outputLines.first == "username=zoe", "\(named)")
            let token = try await fixture.run("token").output.dropLast()
            #expect(!named.errors.contains(token), "\(named)")
            _ = try await fixture.login("--profile", "work", "--dpop").result()
            let bound = try await fixture.helper("git", options, input: request + "\n").outcome()
            #expect(bound.status == 1 && bound.output.isEmpty && bound.errors.contains("sign-in request"), "\(bound)")
        }
    }

    private static let request = "protocol=https\nhost=git.example.org\n"

    /// git-credential(1): the attributes end at the first empty line, and only names with `[]` have several values.
    private static let answered = [
        "", "\n", "path=a b\nwwwauth[]=Basic a\nwwwauth[]=Basic b\n\n", "\nhost=evil.example\n", "username=zoe",
    ].map { request + $0 }
    private static let refused =
        [
            "host=evil.example\n", "host=git.example.org\n", "protocol=http\n", "nonsense\n", "=x\n",
            "username=zoe\r\n", "username=a\nusername=b\n",
        ].map { request + $0 } + [
            "", "\n" + request, "host=evil.example\n" + request, "protocol=https\nhost=git.example.org\r\n",
            "host=evil.example\nprotocol=https\n\nhost=git.example.org\n",
        ]

    @Test(arguments: answered.map { ($0, true) } + refused.map { ($0, false) })
    func `a request that git would not send gets no token`(request: String, isGiven: Bool) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let options = ["--host", "git.example.org", "--profile", "work"]
            let outcome = try await fixture.helper("git", options + ["get"], input: request).outcome()
            #expect(outcome.outputLines.contains { $0.hasPrefix("password=") } == isGiven, "\(outcome)")
            if !isGiven { #expect(outcome.output.isEmpty && !outcome.errors.contains("password="), "\(outcome)") }
        }
    }

    @Test func `with two helpers for one server, each user name gets its own token`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "alice")
            _ = try await fixture.login(
                "--profile", "bob", with: CommandFixture.bob
            ).result()
            let name = "credential.https://git.example.org.helper"
            let helpers = ["alice", "bob"].map { user in
                "!sign-in helper git --host git.example.org --profile \(user) --username \(user)"
            }
            for helper in [""] + helpers {
                #expect(try await fixture.git(["config", "--global", "--add", name, helper]).status == 0)
            }
            func fill(_ user: String) async throws -> [String] {
                try await ChildProcess(
                    ["git", "credential", "fill"], environment: fixture.gitEnvironment,
                    text: "url=https://\(user)git.example.org/a\n\n"
                ).outcome().outputLines
            }
            for (asked, user) in [("bob@", "bob"), ("alice@", "alice"), ("", "alice")] {
                let token = try await fixture.run("token", "--profile", user).output.dropLast()
                let filled = try await fill(asked)
                #expect(filled.contains("username=\(user)") && filled.contains("password=\(token)"), "\(filled)")
            }
            #expect(try await fill("carol@").contains { $0.hasPrefix("password=") } == false)
            // One without --username, after them, is for all other users.
            let last = "!sign-in helper git --host git.example.org --profile alice"
            #expect(try await fixture.git(["config", "--global", "--add", name, last]).status == 0)
            for (asked, user) in [("bob@", "bob"), ("carol@", "alice")] {
                let token = try await fixture.run("token", "--profile", user).output.dropLast()
                let filled = try await fill(asked)
                #expect(filled.contains("username=\(asked.dropLast())"), "\(filled)")
                #expect(filled.contains("password=\(token)"), "\(filled)")
            }
            // Another user's rejected token is not replaced.
            let (count, token) = (
                fixture.provider.count(.token), try await fixture.run("token", "--profile", "alice").output
            )
            for user in ["bob", "alice"] {
                let process = try fixture.helper(
                    "git", ["--host", "git.example.org", "--profile", "alice", "--username", "alice", "erase"],
                    input: Self.request + "username=\(user)\npassword=\(token)\n")
                #expect(try await process.outcome().status == 0)
                #expect(fixture.provider.count(.token) == (user == "bob" ? count : count + 1))
            }
        }
    }

    /// Otherwise one server would get the token of the session that the user has chosen for other commands.
    @Test(arguments: [
        ["git", "--host", "git.example.org", "get"], ["git", "--host", "git.example.org", "erase"],
        ["docker", "--host", "git.example.org", "get"], ["kubectl"],
    ])
    func `a helper uses only a session that it names`(helper: [String]) async throws {
        try await withDesk { fixture in
            func run(_ options: [String], _ changes: [String: String?] = [:]) async throws -> Outcome {
                try await fixture.start(["helper", helper[0]] + options + helper.dropFirst(), changes).outcome()
            }
            let none = try await run([])
            #expect(none.status == 2 && none.errors.contains("--profile NAME, or --issuer URL"), "\(none)")
            try await fixture.signIn()
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("use", "work")
            let (issuer, client) = (["--issuer", fixture.issuer], ["--client-id", "demo"])
            for options in [[], issuer, client, ["--store", "keyring"]] {
                let outcome = try await run(options, ["SIGN_IN_PROFILE": "work"])
                #expect(outcome.status == 2 && outcome.errorLines.count == 3, "\(outcome)")
                let lines = ["--profile work", (issuer + client).joined(separator: " ")].map { "  " + $0 }
                #expect(lines.allSatisfy(outcome.errorLines.contains), "\(outcome)")
                #expect(outcome.output.isEmpty || helper[0] == "docker", "\(outcome)")
            }
            let file = ["--store", "file:\(fixture.sessions)/work.json"]
            for options in [["--profile", "work"], issuer + client, file] {
                #expect(try await run(options).status != 2)
            }
            // The same client's session for a resource does not take the place of its own.
            let resource = ["--resource", "\(fixture.issuer)/api/echo", "--scope", "openid"]
            _ = try await fixture.start(["login", "--json"] + resource).outcome().result()
            let ofResource = try #require(fixture.provider.log(.authorization).last?.query["client_id"])
            let refused = try await run(issuer + ["--client-id", ofResource])
            #expect(refused.status == 2 && refused.errors.contains("are for resources"), "\(refused)")
            let place = try #require(refused.errors.firstMatch(of: /--store '?(file:[^'\s]+)/)).output.1
            #expect(try await run(["--store", String(place)]).status != 2)
        }
    }
}
