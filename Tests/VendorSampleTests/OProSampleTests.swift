import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The program `opro`, as a user runs it.
struct OProSampleTests {
    private func withOPro(
        password: String = "red-slippers", mode: Int = 0o600,
        _ test: (OPro, _ opro: ([String]) async throws -> Outcome) async throws -> Void
    ) async throws {
        let double = try await OPro.start()
        do {
            try await CommandFixture.with { fixture in
                let secret = try fixture.write("secret", "opro-demo-secret\n")
                let passwordFile = try fixture.write("password", password, mode: mode)
                try await test(double) { arguments in
                    try await fixture.run(
                        "opro",
                        arguments + [
                            "--server", double.baseURL, "--client-id", "opro-demo", "--client-secret-file", secret,
                            "--username", "ruby", "--password-file", passwordFile,
                        ])
                }
            }
        } catch {
            await double.stop()
            throw error
        }
        await double.stop()
    }

    @Test(arguments: [[], ["--demo"]])
    func `by itself it starts a double, and shows what there is`(arguments: [String]) async throws {
        try await CommandFixture.with { fixture in
            let lines = try await fixture.run("opro", arguments).lines()
            #expect(lines.contains("Signed in as ruby."))
            #expect(lines.contains("Test: OAuth worked!"))
            #expect(lines.contains { $0.hasPrefix("Still signed in: the tokens are in file:") })
            #expect(lines.contains { $0.hasPrefix("Created a new user: ") })
            #expect(lines.last?.contains("@example.com") == true)
        }
    }

    @Test func `a second start is signed in already`() async throws {
        try await withOPro { double, opro in
            var outcome = try await opro(["sign-in"])
            #expect(outcome.lines() == ["Signed in as ruby."])
            outcome = try await opro(["sign-in"])
            #expect(outcome.lines().first?.hasPrefix("Still signed in") == true)
            outcome = try await opro(["show"])
            #expect(outcome.lines().first?.contains("email ruby@example.com") == true)
            #expect(double.count(.token) == 1)
            outcome = try await opro(["sign-out"])
            #expect(outcome.lines() == ["Signed out."])
            outcome = try await opro(["show"])
            #expect(outcome.failure().contains("not signed in"))
        }
    }

    @Test func `the user is changed with JSON and with a form, and deleted`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            let put = try await opro(["update", "--set", "email=ruby@new.example", "--set", "zip=12345"])
            #expect(put.lines().first?.contains("Changed: username ruby, email ruby@new.example") == true)
            let form = try await opro(["update", "--form", "--set", "twitter=a+b & c"])
            #expect(form.lines().first?.contains("Changed: username ruby") == true)
            var outcome = try await opro(["show"])
            #expect(outcome.lines().first?.contains("twitter a+b & c, zip 12345") == true)
            outcome = try await opro(["update", "--set", "email=nonsense"])
            #expect(outcome.failure().contains("422: Email is invalid"))
            outcome = try await opro(["delete"])
            #expect(outcome.lines() == ["Deleted the user."])
            #expect(double.log(.me).map(\.method) == [.put, .put, .get, .put, .delete])
            let types = double.log(.me).map { $0.headers[.contentType] }
            #expect(types[..<2] == ["application/json", "application/x-www-form-urlencoded"])
            outcome = try await opro(["sign-in"])
            #expect(outcome.failure().contains("Could not find a user"))
        }
    }

    @Test func `a sign-in elsewhere ends the session, and the next one here begins another`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            try await CommandFixture.with { elsewhere in
                let secret = try elsewhere.write("secret", "opro-demo-secret")
                let password = try elsewhere.write("password", "red-slippers")
                let outcome = try await elsewhere.run(
                    "opro",
                    [
                        "sign-in", "--server", double.baseURL, "--client-id", "opro-demo", "--client-secret-file",
                        secret, "--username", "ruby", "--password-file", password,
                    ])
                #expect(outcome.lines() == ["Signed in as ruby."])
            }
            var outcome = try await opro(["show"])
            #expect(outcome.failure().contains("Sign in again"))
            outcome = try await opro(["sign-in", "show"])
            #expect(outcome.lines().first == "Signed in as ruby.")
        }
    }

    @Test func `refresh, a dead token, and the test of it`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            var outcome = try await opro(["refresh", "test"])
            #expect(outcome.lines().last == "Test: OAuth worked!")
            // The stored token as it is: a refresh would hide what is wrong with it.
            double.killAccessTokens()
            outcome = try await opro(["test"])
            #expect(outcome.lines() == ["Test: OAuth did not work :(  No OAuth user belongs to this token"])
            #expect(double.count(.token) == 2)
            outcome = try await opro(["test", "--refresh"])
            #expect(outcome.lines() == ["Test: OAuth worked!"])
            #expect(double.count(.token) == 3)
            _ = try await opro(["sign-out"]).lines()
            outcome = try await opro(["test"])
            #expect(outcome.lines() == ["Test: OAuth did not work :(  No OAuth token was provided"])
            outcome = try await opro(["test", "--refresh"])
            #expect(outcome.failure().contains("not signed in"))
        }
    }

    @Test func `a token that cannot be renewed is reported, with the reason`() async throws {
        try await withOPro { double, opro in
            double.fault(.editDocument { $0["refresh_token"] = nil }, at: .token)
            _ = try await opro(["sign-in"]).lines()
            double.killAccessTokens()
            var outcome = try await opro(["test", "--refresh"])
            #expect(outcome.failure().contains("OAuth did not work :(  No OAuth user belongs to this token"))
            outcome = try await opro(["show"])
            #expect(outcome.failure().contains("401: No OAuth user belongs to this token"))
            #expect(double.count(.token) == 1)
        }
    }

    @Test func `a session that is over is one line, and the next sign-in begins another`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            double.killAccessTokens()
            double.fault(.status(.unauthorized, json: ["error": "Could not find a user"]), at: .token)
            var outcome = try await opro(["show"])
            #expect(outcome.failure().contains("Sign in again"))
            outcome = try await opro(["sign-in", "show"])
            #expect(outcome.lines().first == "Signed in as ruby.")
        }
    }

    @Test func `an error is one clear line, without the password`() async throws {
        try await withOPro(password: "wrong-slippers") { double, opro in
            let failure = try await opro(["sign-in"]).failure()
            #expect(failure.contains("Could not find a user") && !failure.contains("wrong-slippers"))
            double.fault(.htmlPage, at: .randomUser)
            var outcome = try await opro(["random-user"])
            #expect(outcome.failure().contains("expected JSON"))
            double.fault(.htmlPage, at: .token)
            outcome = try await opro(["sign-in"])
            #expect(outcome.failure().contains("application/json"))
            await double.stop()
            outcome = try await opro(["sign-in"])
            #expect(outcome.failure().contains("refused; check --server"))
            outcome = try await opro(["show"])
            #expect(outcome.failure().contains("has no session; begin with the action sign-in"))
        }
    }

    @Test func `a password that others can read is not read`() async throws {
        try await withOPro(mode: 0o640) { double, opro in
            let outcome = try await opro(["sign-in"])
            #expect(outcome.failure().contains("chmod 600"))
            #expect(double.log.isEmpty)
        }
    }

    @Test(arguments: [
        (["dance"], "sign-in, show, update"), (["--server", "https://a.example"], "--client-id together"),
        (["--username", "ruby"], "--password-file together"), (["update", "--set", "zip"], "<name=value>"),
    ])
    func `wrong usage is status 2, with what is expected`(arguments: [String], words: String) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("opro", arguments)
            let line = outcome.failure(2)
            #expect(line.hasPrefix("opro: ") && line.contains(words), "\(line)")
        }
    }
}
