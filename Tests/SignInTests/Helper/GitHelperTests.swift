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

    @Test(arguments: [
        ("https", "git.example.org", true), ("https", "GIT.example.org", true), ("http", "127.0.0.1:2", false),
        ("http", "git.example.org", false), ("https", "git.example.org:8443", false), ("https", "example.org", false),
        ("ftp", "git.example.org", false), ("https", "git.example.org.evil.example", false),
        ("https", "git.example.org:443", true), ("https", "port.example.org", true),
        ("https", "port.example.org:444", false), ("https", "git.example.org/a", false),
    ])
    func `only the named servers get the token, and over TLS`(scheme: String, host: String, isGiven: Bool) async throws
    {
        try await withDesk { fixture in
            let login = try await fixture.login("--profile", "work").result()
            let process = try fixture.helper(
                "git",
                [
                    "--host", "git.example.org", "--host", "127.0.0.1:1", "--host", "port.example.org:443", "--profile",
                    "work", "get",
                ],
                input: "protocol=\(scheme)\nhost=\(host)\npath=a\n\n")
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            guard isGiven else { return #expect(outcome.output.isEmpty, "\(outcome)") }
            let token = try await fixture.run("token").output.dropLast()
            let expiry = try Date(try #require(login["access_token_expires_at"]?.string), strategy: .iso8601)
            #expect(
                outcome.outputLines == [
                    "username=oauth2", "password=\(token)", "password_expiry_utc=\(Int(expiry.timeIntervalSince1970))",
                ])
        }
    }

    /// What git 2.46 and later send and take.
    @Test(
        arguments: [
            (["wwwauth[]=Bearer realm=\"a\""], true), (["wwwauth[]=bearer"], true),
            (["wwwauth[]=Negotiate, Bearer realm=\"a\""], true),
            (["wwwauth[]=Bearer realm=\"a\"", "wwwauth[]=Basic realm=\"b\""], false),
            (["wwwauth[]=Basic realm=\"Bearer\""], false),
            ([], false), (["wwwauth[]=Bearer"], nil), (["wwwauth[]=Basic", "wwwauth[]=", "wwwauth[]=Bearer"], true),
        ] as [([String], Bool?)])
    func `a server that takes only tokens gets the token as such`(fields: [String], isBearer: Bool?) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let token = try await fixture.run("token").output.dropLast()
            let options = ["--host", "git.example.org", "--profile", "work"]
            // An older git does not say that it can send it.
            let capability = isBearer == nil ? [] : ["capability[]=authtype", "capability[]=state"]
            let request = ["protocol=https", "host=git.example.org"]
            let input = (capability + request + fields + ["", ""]).joined(separator: "\n")
            let given = try await fixture.helper("git", options + ["get"], input: input).outcome()
            let expected =
                isBearer == true
                ? ["capability[]=authtype", "authtype=Bearer", "credential=\(token)"]
                : ["username=oauth2", "password=\(token)"]
            #expect(given.outputLines.dropLast() == expected[...], "\(given)")
            // The server has rejected it.
            let rejected = (request + expected + ["", ""]).joined(separator: "\n")
            #expect(try await fixture.helper("git", options + ["erase"], input: rejected).outcome().status == 0)
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    /// Who may have taken the port of a server that has ended.
    @Test(.enabled(if: geteuid() == 0, "only root can start a server as another user"), arguments: [1999, 999])
    func `a server on loopback that belongs to another user gets no token`(user: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "python3", "-u", "-m"]
            let line = (words + ["http.server", "0", "--bind", "127.0.0.1", "--directory", "/", ">&2"]).joined(
                separator: " ")
            let server = try fixture.start(["sh", "-c", "exec " + line], [])
            defer { server.send(SIGKILL) }
            let ready = try await server.line { $0.hasPrefix("Serving HTTP") }
            let port = try #require(ready.firstMatch(of: /port (\d+)/)?.1)
            let options = ["--host", "127.0.0.1:\(port)", "--profile", "work", "get"]
            for (helper, input) in [
                ("git", "protocol=http\nhost=127.0.0.1:\(port)\n\n"), ("docker", "127.0.0.1:\(port)\n"),
                ("docker", "http://127.0.0.1:\(port)/v2/\n"),
            ] {
                let outcome = try await fixture.helper(helper, options, input: input).outcome()
                let isRefused = outcome.status == 1 && outcome.errors.contains("number \(user)")
                #expect(isRefused == (user == 1999), "\(outcome)")
                if helper == "git" { #expect(outcome.output.isEmpty == isRefused, "\(outcome)") }
                #expect(outcome.output.contains("Secret") == (helper == "docker" && !isRefused), "\(outcome)")
            }
        }
    }

    /// Docker also uses http for every name and notation of this machine.
    @Test(arguments: [
        ("git", "127.0.0.1:1", "protocol=http\nhost=127.0.0.1:1\n\n"), ("docker", "127.0.0.1:1", "127.0.0.1:1\n"),
        ("docker", "127.0.0.1:1", "http://127.0.0.1:1/v2/\n"), ("docker", "127.0.0.1:1", "https://127.0.0.1:1/v2/\n"),
        ("docker", "registry.localhost:1", "registry.localhost:1\n"), ("docker", "localhost.:1", "localhost.:1\n"),
        ("docker", "127.1:1", "127.1:1\n"), ("docker", "0.0.0.0:1", "0.0.0.0:1\n"),
        ("docker", "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1\n"),
    ])
    func `a server on this machine that does not listen gets no token`(
        helper: String, host: String, input: String
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let options = ["--host", host, "--profile", "work", "get"]
            let outcome = try await fixture.helper(helper, options, input: input).outcome()
            #expect(outcome.status == 1 && outcome.errors.contains("no server listens at "), "\(outcome)")
            #expect(outcome.errors.contains(host), "\(outcome)")
            #expect(!outcome.output.contains("Secret") && !outcome.output.contains("password"), "\(outcome)")
        }
    }

    /// Any user could listen at the other address, which git may try first.
    @Test(arguments: [LoopbackRedirectListener.Host.ipv4, .ipv6, .both])
    func `a server at only one address of localhost gets no token`(address: LoopbackRedirectListener.Host) async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let listener = try LoopbackRedirectListener(host: address)
            defer { listener.close() }
            let host = "localhost:\(try #require(SecureURL(listener.redirectURI).port))"
            let outcome = try await fixture.helper(
                "git", ["--host", host, "--profile", "work", "get"], input: "protocol=http\nhost=\(host)\n\n"
            ).outcome()
            guard address != .both else { return #expect(outcome.output.contains("password="), "\(outcome)") }
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("no server listens at each address of \(host)"), "\(outcome)")
        }
    }

    @Test(arguments: ["git", "docker"])
    func `a server that ends while the token is refreshed gets none`(helper: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try CommandFixture.editSession(at: "\(fixture.sessions)/work.json") { try $0.expire() }
            let listener = try LoopbackRedirectListener()
            fixture.provider.fault(.editDocument { _ in listener.close() }, at: .token)
            let host = "127.0.0.1:\(try #require(SecureURL(listener.redirectURI).port))"
            let input = helper == "git" ? "protocol=http\nhost=\(host)\n\n" : "\(host)\n"
            let outcome = try await fixture.helper(helper, ["--host", host, "--profile", "work", "get"], input: input)
                .outcome()
            #expect(fixture.provider.count(.token) == 2)
            #expect(outcome.status == 1 && outcome.errors.contains("no server listens at \(host)"), "\(outcome)")
            #expect(!outcome.output.contains("Secret") && !outcome.output.contains("password"), "\(outcome)")
        }
    }

    /// Git asks for the token after the server's answer, and sends it on the connection that it has.
    @Test(.enabled(if: geteuid() == 0, "only root can start a server as another user"), arguments: [1999, 999])
    func `a server gets no token while another user has a connection at its address`(user: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let script = """
                import socket, sys
                listener = socket.create_server(("127.0.0.1", 0))
                print("port", listener.getsockname()[1], file=sys.stderr, flush=True)
                connection, _ = listener.accept()
                listener.close()
                print("kept", file=sys.stderr, flush=True)
                connection.recv(1)
                """
            let words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "python3", "-c", script]
            let keeper = try fixture.start(words, [])
            defer { keeper.send(SIGKILL) }
            let line = try await keeper.line { $0.hasPrefix("port ") }
            let port = try #require(UInt16(line.dropFirst(5)))
            let client = try fixture.start(
                ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port) && exec sleep 600"], [])
            defer { client.send(SIGKILL) }
            _ = try await keeper.line { $0 == "kept" }
            // The server of this user begins to listen at the same port.
            let serve = "import socket, sys; s = socket.create_server((\"127.0.0.1\", \(port))); "
            let wait = "print(\"ready\", file=sys.stderr, flush=True); s.accept()"
            let server = try fixture.start(["python3", "-c", serve + wait], [])
            defer { server.send(SIGKILL) }
            _ = try await server.line { $0 == "ready" }
            let outcome = try await fixture.helper(
                "git", ["--host", "127.0.0.1:\(port)", "--profile", "work", "get"],
                input: "protocol=http\nhost=127.0.0.1:\(port)\n\n"
            ).outcome()
            #expect(outcome.output.isEmpty == (user == 1999), "\(outcome)")
            #expect(outcome.errors.contains("number \(user)") == (user == 1999), "\(outcome)")
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
        }
    }
}
