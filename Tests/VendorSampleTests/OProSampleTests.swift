import AppAuth
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The program `opro`, as a user runs it.
struct OProSampleTests {
    /// `opro` with the options of its server.
    private struct Program {
        let fixture: CommandFixture
        let options: [String]
        let credentials: [String]

        func callAsFunction(_ actions: [String], hasCredentials: Bool = true) async throws -> Outcome {
            try await fixture.run("opro", actions + options + (hasCredentials ? credentials : []))
        }
    }

    private func withOPro(
        password: String = "red-slippers", mode: Int = 0o600, _ change: (inout OPro.Configuration) -> Void = { _ in },
        _ test: (OPro, _ opro: Program) async throws -> Void
    ) async throws {
        var configuration = OPro.Configuration()
        change(&configuration)
        let double = try await OPro.start(configuration)
        do {
            try await CommandFixture.with { fixture in
                let secret = try fixture.write("secret", "opro-demo-secret\n")
                let passwordFile = try fixture.write("password", password, mode: mode)
                let program = Program(
                    fixture: fixture,
                    options: [
                        "--server", double.baseURL, "--client-id", "opro-demo", "--client-secret-file", secret,
                    ],
                    credentials: ["--username", "ruby", "--password-file", passwordFile])
                try await test(double, program)
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

    @Test func `opro sign-in sends name, password and client without a grant_type, and keeps both tokens`() async throws
    {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            let request = try #require(double.log(.token).first)
            #expect(request.method == .post && request.path == "/oauth/token.json" && request.query.names.isEmpty)
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
            #expect(request.form.names.sorted() == ["client_id", "client_secret", "password", "username"])
            #expect(request.form["username"] == "ruby" && request.form["password"] == "red-slippers")
            #expect(request.form["client_id"] == "opro-demo" && request.form["client_secret"] == "opro-demo-secret")
            // The access token, and then the refresh token.
            _ = try await opro(["show"]).lines()
            #expect(double.count(.token) == 1)
            _ = try await opro(["refresh", "show"]).lines()
            #expect(double.log(.token).map(\.status) == [200, 200])
        }
    }

    @Test func `a second start of opro is signed in already`() async throws {
        try await withOPro { double, opro in
            var outcome = try await opro(["sign-in"])
            #expect(outcome.lines() == ["Signed in as ruby."])
            outcome = try await opro(["sign-in"], hasCredentials: false)
            #expect(outcome.lines().first?.hasPrefix("Still signed in") == true)
            outcome = try await opro(["show"], hasCredentials: false)
            #expect(outcome.lines().first?.contains("email ruby@example.com") == true)
            #expect(double.count(.token) == 1)
            outcome = try await opro(["sign-out"])
            #expect(outcome.lines() == ["Signed out."])
            outcome = try await opro(["show"])
            #expect(outcome.failure().contains("not signed in"))
        }
    }

    @Test func `opro random-user makes a user, and signs in as that user`() async throws {
        try await withOPro { double, opro in
            let lines = try await opro(["random-user", "show"]).lines()
            let name = try #require(lines.first?.wholeMatch(of: /Created a new user: (.+)\./)?.1)
            #expect(lines.dropFirst().first == "Signed in as \(name)." && name.hasSuffix("@example.com"))
            #expect(lines.last?.hasPrefix("username \(name), email \(name)") == true)
            #expect(double.log.map(\.endpoint) == [.randomUser, .token, .me])
        }
    }

    @Test func `opro show gets the user as JSON, with the token in Authorization`() async throws {
        try await withOPro { double, opro in
            let lines = try await opro(["sign-in", "show"]).lines()
            #expect(lines.last == "username ruby, email ruby@example.com, twitter ruby_on_rails, zip 78701")
            let request = try #require(double.log(.me).first)
            #expect(request.method == .get && request.path == "/users/me.json" && request.query.names.isEmpty)
            #expect(request.headers[.authorization]?.wholeMatch(of: /Token token="[^"]+"/) != nil)
        }
    }

    @Test func `opro update changes email, twitter and zip by a PUT of JSON`() async throws {
        try await withOPro { double, opro in
            let changes = ["email=ruby@new.example", "twitter=slippers", "zip=12345"].flatMap { ["--set", $0] }
            let changed = "username ruby, email ruby@new.example, twitter slippers, zip 12345"
            let lines = try await opro(["sign-in", "update", "show"] + changes).lines()
            #expect(lines.dropFirst() == ["Changed: \(changed)", changed])
            let request = try #require(double.log(.me).first)
            #expect(request.method == .put && request.path == "/users/me.json")
            #expect(request.headers[values: .contentType] == ["application/json"])
            let user: JSON = ["email": "ruby@new.example", "twitter": "slippers", "zip": "12345"]
            #expect(try JSON(parsing: request.body) == ["user": user])
            let refused = try await opro(["update", "--set", "email=nonsense"])
            #expect(refused.failure().contains("422: Email is invalid"))
        }
    }

    @Test func `opro update --form sends the parameters as user[…], as Rails reads them`() async throws {
        try await withOPro { double, opro in
            let lines = try await opro(["sign-in", "update", "--form", "--set", "twitter=a+b & c", "show"]).lines()
            #expect(lines.last?.contains("twitter a+b & c, zip 78701") == true)
            let request = try #require(double.log(.me).first)
            #expect(request.method == .put && request.form.names == ["user[twitter]"])
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
        }
    }

    @Test func `opro delete deletes the user, and the session with it`() async throws {
        try await withOPro { double, opro in
            let lines = try await opro(["sign-in", "delete"]).lines()
            #expect(lines.last == "Deleted the user.")
            #expect(double.log(.me).map(\.method) == [.delete] && double.log(.me).map(\.status) == [204])
            #expect(double.log(.me).first?.headers[.authorization]?.hasPrefix("Token token=") == true)
            var outcome = try await opro(["show"])
            #expect(outcome.failure().contains("not signed in"))
            outcome = try await opro(["sign-in"])
            #expect(outcome.failure().contains("Could not find a user"))
        }
    }

    @Test func `opro delete reports a server that excludes it from OAuth, and the session continues`() async throws {
        try await withOPro({ $0.deletesUsers = false }) { double, opro in
            _ = try await opro(["sign-in"]).lines()
            let refused = try await opro(["delete"])
            #expect(refused.failure().contains("status 401: You need to sign in before continuing"))
            let shown = try await opro(["show"])
            #expect(shown.lines().first?.hasPrefix("username ruby") == true)
        }
    }

    @Test func `opro refresh has no grant_type, and each response ends the tokens before it`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in", "show", "refresh", "show", "refresh", "show"]).lines()
            let refreshes = double.log(.token).dropFirst().map(\.form)
            #expect(
                refreshes.map { $0.names.sorted() == ["client_id", "client_secret", "refresh_token"] } == [true, true])
            #expect(
                double.log(.token).map(\.status) == [200, 200, 200] && double.log(.me).map(\.status) == [200, 200, 200])
            // None of the earlier tokens is accepted any more.
            let transport = CurlTransport(.init(proxy: .none))
            for call in double.log(.me).dropLast() {
                var request = try TransportRequest(.get, double.baseURL + call.path)
                request.head.headerFields[.authorization] = call.headers[.authorization]
                #expect(try await transport.send(request).head.status == .unauthorized)
            }
            for form in refreshes {
                var fields = FormParameters()
                for name in form.names { fields.append(name, form[name]) }
                let request = try TransportRequest(.post, double.baseURL + "/oauth/token.json", .form(fields))
                #expect(try await transport.send(request).head.status == .unauthorized)
            }
            // The last ones still are.
            #expect(try await opro(["show", "refresh"]).lines().count == 2)
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

    @Test func `opro test shows what the server says about the stored token, in JSON`() async throws {
        try await withOPro { double, opro in
            var lines = try await opro(["test", "sign-in", "test"]).lines()
            #expect(lines.first == "Test: OAuth did not work :(  No OAuth token was provided")
            #expect(lines.last == "Test: OAuth worked!")
            // oPRO responds with HTML unless the path or Accept asks for JSON.
            #expect(double.log(.showMeTheMoney).allSatisfy { $0.path == "/oauth_tests/show_me_the_money.json" })
            double.killAccessTokens()
            lines = try await opro(["test"]).lines()
            #expect(lines == ["Test: OAuth did not work :(  No OAuth user belongs to this token"])
        }
    }

    @Test func `opro test sends the token as it is, and refreshes a bad one only with --refresh`() async throws {
        try await withOPro { double, opro in
            _ = try await opro(["sign-in"]).lines()
            double.killAccessTokens()
            var outcome = try await opro(["test"])
            #expect(outcome.lines() == ["Test: OAuth did not work :(  No OAuth user belongs to this token"])
            #expect(double.count(.token) == 1)
            outcome = try await opro(["test", "--refresh"])
            #expect(outcome.lines() == ["Test: OAuth worked!"])
            #expect(double.count(.token) == 2)
            _ = try await opro(["sign-out"]).lines()
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
            #expect(outcome.failure().contains("refused: no program listens at that port; check --server"))
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
