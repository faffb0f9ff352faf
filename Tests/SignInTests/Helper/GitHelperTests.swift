import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// `sign-in helper git`, called by git at a server that accepts only the provider's tokens.
@Suite(.timeLimit(.minutes(5)))
struct GitHelperTests {
    private func withServer(_ body: (CommandFixture, GitServer) async throws -> Void) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
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
                ["grep", "-r", "-F", "-l", String(token), "\(fixture.home)/clone", "\(fixture.home)/gitconfig"],
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
                    "git", ["--host", server.server.host, "erase"],
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
        ("https", "git.example.org", true), ("https", "GIT.example.org", true), ("http", "127.0.0.1:1", true),
        ("http", "git.example.org", false), ("https", "git.example.org:8443", false), ("https", "example.org", false),
        ("ftp", "git.example.org", false), ("https", "git.example.org.evil.example", false),
        ("https", "git.example.org:443", true), ("https", "port.example.org", true),
        ("https", "port.example.org:444", false), ("https", "git.example.org/a", false),
    ])
    func `only the named servers get the token, and over TLS`(scheme: String, host: String, isGiven: Bool) async throws
    {
        try await withDesk { fixture in
            let login = try await fixture.login().result()
            let process = try fixture.helper(
                "git", ["--host", "git.example.org", "--host", "127.0.0.1:1", "--host", "port.example.org:443", "get"],
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
            let get = try fixture.helper("git", ["--host", "git.example.org", "get"], input: request)
            let outcome = try await get.outcome()
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("Sign in with: sign-in login --issuer URL"), "\(outcome)")
            for operation in ["store", "capability"] {
                let process = try fixture.helper("git", ["--host", "git.example.org", operation], input: request)
                let ignored = try await process.outcome()
                #expect(ignored.status == 0 && ignored.output.isEmpty && ignored.errors.isEmpty, "\(ignored)")
            }
        }
    }

    @Test func `the user name of the URL is kept, and a bound token is no password`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let (options, request) = (["--host", "git.example.org", "get"], "protocol=https\nhost=git.example.org\n")
            let named = try await fixture.helper(
                "git", ["--verbose"] + options, input: request + "username=zoe\n\n"
            ).outcome()
            #expect(named.outputLines.first == "username=zoe", "\(named)")
            let token = try await fixture.run("token").output.dropLast()
            #expect(!named.errors.contains(token), "\(named)")
            _ = try await fixture.login("--dpop").result()
            let bound = try await fixture.helper("git", options, input: request + "\n").outcome()
            #expect(bound.status == 1 && bound.output.isEmpty && bound.errors.contains("sign-in request"), "\(bound)")
        }
    }
}
