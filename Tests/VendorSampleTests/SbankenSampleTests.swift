import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The program `sbanken`, as a user runs it.
struct SbankenSampleTests {
    private func withSbanken(
        _ test: (Sbanken, CommandFixture, _ sbanken: ([String], [String: String]) async throws -> Outcome) async throws
            -> Void
    ) async throws {
        let double = try await Sbanken.start()
        do {
            try await CommandFixture.with { fixture in
                try await test(double, fixture) { arguments, environment in
                    try await fixture.run(
                        "sbanken", arguments + ["--server", double.baseURL, "--api", double.baseURL], environment)
                }
            }
        } catch {
            await double.stop()
            throw error
        }
        await double.stop()
    }

    private func variables(_ double: Sbanken) -> [String: String] {
        [
            "SBANKEN_CLIENT_ID": double.demo["client_id"]?.string ?? "",
            "SBANKEN_CLIENT_SECRET": double.demo["client_secret"]?.string ?? "",
        ]
    }

    @Test(arguments: [[], ["--demo"], ["accounts"]])
    func `by itself it starts a double, and shows a token and the accounts`(arguments: [String]) async throws {
        try await CommandFixture.with { fixture in
            let lines = try await fixture.run("sbanken", arguments).lines()
            #expect(lines.contains { $0.hasPrefix("Got a token, valid until 20") } == (arguments != ["accounts"]))
            #expect(lines.contains("  Lønnskonto (Standard account)"))
        }
    }

    @Test func `the configuration comes from a file, or from the environment`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write("config.json", double.demo.serialized())
            var outcome = try await sbanken(["--config", file], [:])
            #expect(outcome.lines().count == 3)
            outcome = try await sbanken(["token", "--environment"], variables(double))
            #expect(outcome.lines().count == 1)
            // Both actions of one start share a token.
            #expect(double.count(.token) == 2 && double.count(.accounts) == 1)
        }
    }

    @Test func `sbanken token --environment is for auth.sbanken.no, unless --server names another`() async throws {
        try await withSbanken { double, fixture, _ in
            // The double is no proxy, so the request ends there.
            let proxy = variables(double).merging(["https_proxy": double.baseURL]) { $1 }
            let failure = try await fixture.run("sbanken", ["token", "--environment"], proxy).failure()
            #expect(failure.contains("no connection to auth.sbanken.no:443: "))
        }
    }

    @Test func `sbanken token posts only the grant, with Accept and both parts percent-encoded`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write(
                "config.json",
                #"{"client_id":"demo/app+1=@bank","client_secret":"s3cret /+=@&%:ø-_.!~*'()"}"#)
            let outcome = try await sbanken(["token", "--config", file], [:])
            #expect(outcome.lines().first?.hasPrefix("Got a token, valid until 20") == true)
            let request = try #require(double.log(.token).first)
            #expect(request.method == .post && request.path == "/identityserver/connect/token")
            #expect(request.query.names.isEmpty && request.body == Array("grant_type=client_credentials".utf8))
            #expect(request.headers[values: .accept] == ["application/json"])
            let pair = "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()"
            #expect(request.headers[.authorization] == "Basic " + Data(pair.utf8).base64EncodedString())
        }
    }

    @Test func `sbanken accounts uses a stored token until it ends, and then gets another`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let store = ["--environment", "--store", "file:\(fixture.folder.path)/token.json"]
            for after in [0, 0, 3600] {
                double.advance(after)
                let outcome = try await sbanken(["accounts"] + store, variables(double))
                #expect(outcome.lines().count == 2)
            }
            #expect(double.count(.token) == 2)
            let tokens = double.log(.accounts).filter { $0.status == 200 }.map { $0.headers[.authorization] }
            #expect(tokens.count == 3 && tokens[0] == tokens[1] && tokens[1] != tokens[2])
        }
    }

    @Test func `sbanken token --config FILE with a wrong secret is invalid_client, and shows no secret`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write(
                "config.json", #"{"client_id":"demo/app+1=@bank","client_secret":"wrong-secret"}"#)
            let failure = try await sbanken(["token", "--config", file], [:]).failure()
            #expect(failure.contains("invalid_client") && !failure.contains("wrong-secret"))
            #expect(double.log(.token).map(\.status) == [400])
        }
    }

    @Test func `the token itself is printed only if asked for`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write("config.json", double.demo.serialized())
            var outcome = try await sbanken(["token", "accounts", "--config", file], [:])
            #expect(outcome.lines().count == 3)
            outcome = try await sbanken(["token", "accounts", "--config", file, "--show-token"], [:])
            let lines = outcome.lines()
            #expect(lines.count == 4)
            #expect(
                double.log(.accounts).last?.headers[.authorization] == lines.dropFirst().first.map { "Bearer \($0)" })
        }
    }

    @Test(arguments: [0o640, 0o604, 0o620])
    func `a file that others can read is refused, and nothing is sent`(mode: Int) async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write("config.json", double.demo.serialized())
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let failure = try await sbanken(["--config", file], [:]).failure()
            #expect(failure.contains("config.json") && failure.contains("chmod 600"))
            #expect(double.log.isEmpty)
        }
    }

    @Test func `an error is one clear line, without the secret`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let file = try fixture.write("config.json", #"{"client_id":"someone","client_secret":"wrong-secret"}"#)
            let failure = try await sbanken(["--config", file], [:]).failure()
            #expect(failure.contains("invalid_client") && !failure.contains("wrong-secret"))
            var outcome = try await sbanken(["--config", fixture.write("empty", "{}")], [:])
            #expect(outcome.failure().contains("client_id"))
            outcome = try await sbanken(["--config", file + "-not-there"], [:])
            #expect(outcome.failure().contains("not-there"))
            outcome = try await sbanken(["--environment"], [:])
            #expect(outcome.failure().contains("SBANKEN_CLIENT_ID"))
            double.fault(.htmlPage, at: .token)
            outcome = try await sbanken(["--environment"], variables(double))
            #expect(outcome.failure().contains("application/json"))
            double.fault(.htmlPage, at: .accounts)
            outcome = try await sbanken(["accounts", "--environment"], variables(double))
            #expect(outcome.failure().contains("accounts"))
            await double.stop()
            outcome = try await sbanken(["--environment"], variables(double))
            #expect(outcome.failure().contains("refused: no program listens at that port; check --server"))
        }
    }

    @Test func `with --store, the next run has the token`() async throws {
        try await withSbanken { double, fixture, sbanken in
            let store = ["--environment", "--store", "file:\(fixture.folder.path)/token.json"]
            for action in ["token", "accounts"] {
                let outcome = try await sbanken([action] + store, variables(double))
                #expect(!outcome.lines().isEmpty)
            }
            #expect(double.count(.token) == 1 && double.log(.accounts).map(\.status) == [200])
        }
    }

    @Test func `a token that the bank refuses is renewed, and one that it refuses again is one line`() async throws {
        try await withSbanken { double, _, sbanken in
            let dead = Fault.status(.unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#])
            double.fault(dead, at: .accounts)
            var outcome = try await sbanken(["accounts", "--environment"], variables(double))
            #expect(outcome.lines().count == 2)
            #expect(double.count(.token) == 2 && double.log(.accounts).map(\.status) == [401, 200])
            double.fault(dead, at: .accounts, times: 2)
            outcome = try await sbanken(["accounts", "--environment"], variables(double))
            #expect(outcome.failure().contains("status 401"))
            #expect(double.count(.accounts) == 4)
        }
    }

    @Test(arguments: [
        (["dance"], "'token' and 'accounts'"), (["--config"], "Missing value for '--config"),
        (["--demo", "--environment"], "found several"),
        (["--store", "keyring"], "only with --config or --environment"),
        (["--environment", "--store", "memory"], "keyring or file:PATH"),
    ])
    func `wrong usage is status 2, with what is expected`(arguments: [String], words: String) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("sbanken", arguments)
            let line = outcome.failure(2)
            #expect(line.hasPrefix("sbanken: ") && line.contains(words), "\(line)")
        }
    }
}
