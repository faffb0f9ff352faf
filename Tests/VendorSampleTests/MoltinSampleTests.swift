import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The program `moltin`, as a user runs it.
struct MoltinSampleTests {
    private func withMoltin(
        secret text: String = "moltin-demo-secret\n", mode: Int = 0o600,
        _ test: (Moltin, _ moltin: ([String]) async throws -> Outcome) async throws -> Void
    ) async throws {
        let double = try await Moltin.start()
        do {
            try await CommandFixture.with { fixture in
                let secret = try fixture.write("secret", text, mode: mode)
                try await test(double) { arguments in
                    try await fixture.run(
                        "moltin",
                        arguments + [
                            "--server", double.baseURL, "--client-id", "moltin-demo", "--client-secret-file", secret,
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
    func `by itself it starts a double, and does all that works`(arguments: [String]) async throws {
        try await CommandFixture.with { fixture in
            let lines = try await fixture.run("moltin", arguments).lines()
            #expect(
                lines.first?.hasPrefix("The simulated server is at http://127.0.0.1:") == true
            )
            #expect(lines.count { $0.contains("Teapot") } == 3)
            for grant in ["client_credentials", "implicit", "authorization_code"] {
                #expect(lines.contains { $0.hasPrefix("Authenticated by \(grant): the token is valid until") })
            }
            #expect(lines.last == "Deleted the token.")
        }
    }

    @Test func `the five buttons, each in a start of its own`() async throws {
        try await withMoltin { double, moltin in
            var outcome = try await moltin(["auth"])
            #expect(
                outcome.lines().first?.hasPrefix("Authenticated by client_credentials: the token is valid until")
                    == true)
            outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            #expect(double.count(.token) == 1)
            outcome = try await moltin(["refresh"])
            #expect(outcome.lines().first?.hasPrefix("Refreshed:") == true)
            #expect(double.count(.token) == 2)
            outcome = try await moltin(["bad-auth"])
            #expect(outcome.failure().contains("No shop has this ID and this secret"))
            // Only the client ID is wrong.
            let wrong = double.log(.token).last?.form
            #expect(wrong?["client_id"] == "no-such-client" && wrong?["client_secret"] == "moltin-demo-secret")
            outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            outcome = try await moltin(["delete"])
            #expect(outcome.lines() == ["Deleted the token."])
        }
    }

    @Test func `moltin auth posts a form to the token endpoint, with the client in its body`() async throws {
        try await withMoltin { double, moltin in
            _ = try await moltin(["auth"]).lines()
            let request = try #require(double.log(.token).first)
            #expect(request.method == .post && request.path == "/oauth/access_token" && request.query.names.isEmpty)
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
            #expect(request.headers[.authorization] == nil)
            #expect(request.form.names.sorted() == ["client_id", "client_secret", "grant_type"])
            #expect(request.form["grant_type"] == "client_credentials")
            #expect(request.form["client_id"] == "moltin-demo" && request.form["client_secret"] == "moltin-demo-secret")
        }
    }

    @Test func `moltin products is a GET with the bearer token, and gets 200`() async throws {
        try await withMoltin { double, moltin in
            let lines = try await moltin(["auth", "products"]).lines()
            #expect(lines.count == 4 && lines.contains { $0.contains("Teapot") })
            let request = try #require(double.log(.products).first)
            #expect(request.method == .get && request.path == "/v1/products" && request.query.names.isEmpty)
            #expect(request.headers[.authorization]?.wholeMatch(of: /Bearer \S+/) != nil && request.status == 200)
        }
    }

    @Test func `moltin code sends the code with its redirect URI, and refresh-token the refresh token`() async throws {
        try await withMoltin { double, moltin in
            try await CommandFixture.with { fixture in
                let value = try double.makeCode()
                let code = try fixture.write("code", value)
                let options = ["--code-file", code, "--redirect-uri", "http://127.0.0.1/callback"]
                let lines = try await moltin(["code", "refresh-token", "products"] + options).lines()
                #expect(lines.first?.hasPrefix("Authenticated by authorization_code: ") == true)
                #expect(lines.count { $0.contains("Teapot") } == 1)
                let forms = double.log(.token).map(\.form)
                try #require(forms.count == 3)
                #expect(forms[0]["grant_type"] == "authorization_code" && forms[0]["code"] == value)
                #expect(forms[0]["redirect_uri"] == "http://127.0.0.1/callback")
                #expect(forms[1]["grant_type"] == "refresh_token" && forms[1]["refresh_token"] != nil)
                for form in forms {
                    #expect(form["client_id"] == "moltin-demo" && form["client_secret"] == "moltin-demo-secret")
                }
                // A code is good once.
                let again = try await moltin(["code"] + options)
                #expect(again.status == 1, "\(again)")
            }
        }
    }

    @Test func `moltin refresh gets another token while the first is valid, and calls use that one`() async throws {
        try await withMoltin { double, moltin in
            let lines = try await moltin(["auth", "products", "refresh", "products"]).lines()
            #expect(lines.contains { $0.hasPrefix("Refreshed: the token is valid until") })
            let tokens = double.log(.products).map { $0.headers[.authorization] }
            #expect(tokens.count == 2 && tokens[0] != tokens[1])
            #expect(tokens.allSatisfy { $0?.hasPrefix("Bearer ") == true } && double.count(.token) == 2)
        }
    }

    @Test func `without a token, the request is sent, and the server's sentence is shown`() async throws {
        try await withMoltin { double, moltin in
            var outcome = try await moltin(["products"])
            #expect(outcome.failure().contains("status 400: Access token is not valid"))
            #expect(double.log(.products).map { $0.headers[.authorization] } == [nil])
            _ = try await moltin(["auth"]).lines()
            for (errors, text) in [
                ("One thing", "One thing"), (["One thing", "and another"], "One thing, and another"),
                (.null, "Unknown Error"),
            ] as [(JSON, String)] {
                let json: JSON = ["status": false, "errors": errors]
                double.fault(.status(.badRequest, json: json), at: .products)
                outcome = try await moltin(["products"])
                #expect(outcome.failure().contains("status 400: \(text)"))
            }
            double.fault(.status(.badRequest, json: ["status": false]), at: .token)
            outcome = try await moltin(["auth"])
            #expect(outcome.failure().contains("Unknown Error"))
        }
    }

    @Test func `implicit sends only the client id, and its token reads the products`() async throws {
        try await withMoltin { double, moltin in
            _ = try await moltin(["implicit"]).lines()
            let sent = double.log(.token).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(sent == ["grant_type=implicit&client_id=moltin-demo"])
            var outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            outcome = try await moltin(["refresh"])
            #expect(outcome.failure().contains("moltin: ") && double.count(.token) == 1)
        }
    }

    @Test func `refresh-token shows the server's response to the refresh token and to the expired token`() async throws
    {
        try await withMoltin { double, moltin in
            try await CommandFixture.with { fixture in
                let code = try fixture.write("code", double.makeCode())
                let redirect = ["--code-file", code, "--redirect-uri", "http://127.0.0.1/callback"]
                var outcome = try await moltin(["refresh-token"])
                #expect(outcome.failure().contains("begin with the action auth"))
                // The exercise: a session of client credentials has only its access token.
                let exercise = try await moltin(["auth", "refresh-token"]).lines()
                #expect(exercise.count == 3 && exercise[1].contains("no refresh token: the action code"), "\(exercise)")
                #expect(exercise.last?.hasSuffix("in its place: This cannot be exchanged for a new token") == true)
                #expect(double.log(.token).last?.form["refresh_token"] != nil)
                _ = try await moltin(["code"] + redirect).lines()
                double.advance(3600)
                outcome = try await moltin(["refresh-token", "products"])
                let lines = outcome.lines()
                #expect(lines.first?.hasPrefix("Refreshed with the refresh token: the token is valid until") == true)
                #expect(
                    lines.dropFirst().first?.hasSuffix("in its place: This cannot be exchanged for a new token") == true
                )
                #expect(lines.count == 5)
                let grants = double.log(.token).map { $0.form["grant_type"] }
                #expect(
                    grants == [
                        "client_credentials", "refresh_token", "authorization_code", "refresh_token", "refresh_token",
                    ])
                outcome = try await moltin(["code"])
                #expect(outcome.failure().contains("--code-file"))
            }
        }
    }

    @Test func `a token that has expired is renewed by the next call`() async throws {
        try await withMoltin { double, moltin in
            _ = try await moltin(["auth"]).lines()
            double.advance(3600)
            let outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            #expect(double.count(.token) == 2 && double.count(.products) == 2)
        }
    }

    @Test func `a token that Moltin refuses is renewed, and one that it refuses again is one line`() async throws {
        try await withMoltin { double, moltin in
            _ = try await moltin(["auth"]).lines()
            double.killAccessTokens()
            var outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            #expect(double.log(.products).map(\.status) == [400, 200])
            let dead: JSON = ["status": false, "error": "Access token is not valid"]
            double.fault(.status(.badRequest, json: dead), at: .products, times: 2)
            outcome = try await moltin(["products"])
            #expect(outcome.failure().contains("status 400"))
            #expect(double.count(.token) == 3 && double.count(.products) == 4)
        }
    }

    @Test func `a wrong secret is one line, which does not show it`() async throws {
        try await withMoltin(secret: "wrong-secret") { _, moltin in
            let failure = try await moltin(["auth"]).failure()
            #expect(failure.contains("No shop has this ID and this secret") && !failure.contains("wrong-secret"))
        }
    }

    @Test func `a secret that others can read is not read`() async throws {
        try await withMoltin(mode: 0o604) { double, moltin in
            let outcome = try await moltin(["auth"])
            #expect(outcome.failure().contains("chmod 600"))
            #expect(double.log.isEmpty)
        }
    }

    @Test func `an error is one clear line`() async throws {
        try await withMoltin { double, moltin in
            _ = try await moltin(["auth"]).lines()
            double.fault(.htmlPage, at: .products)
            var outcome = try await moltin(["products"])
            #expect(outcome.failure().contains("expected a list of products"))
            double.fault(.htmlPage, at: .token)
            outcome = try await moltin(["refresh"])
            #expect(outcome.failure().contains("application/json"))
            await double.stop()
            outcome = try await moltin(["auth"])
            #expect(outcome.failure().contains("refused: no program listens at that port; check --server"))
        }
    }

    @Test(arguments: ["refresh", "refresh-token"])
    func `without a session, the message names the action that begins one`(action: String) async throws {
        try await withMoltin { double, moltin in
            let outcome = try await moltin([action])
            #expect(outcome.failure().contains("has no session; begin with the action auth"))
            #expect(double.log.isEmpty)
        }
    }

    @Test func `the token is in the file that --store names`() async throws {
        try await withMoltin { double, moltin in
            try await CommandFixture.with { fixture in
                let store = ["--store", "file:\(fixture.folder.path)/token.json"]
                _ = try await moltin(["auth"] + store).lines()
                #expect(FileManager.default.fileExists(atPath: fixture.folder.path + "/token.json"))
                #expect(try await moltin(["refresh"]).failure().contains("has no session"))
                #expect(try await moltin(["products"] + store).lines().count == 3)
                #expect(double.count(.token) == 1)
            }
        }
    }

    @Test(arguments: [
        (["dance"], "auth, bad-auth, implicit"), (["--server", "https://api.molt.in"], "--client-id together"),
        (["--nothing"], "'--nothing'"), (["auth", "--client-id", "x"], "--server and"),
        (["--demo", "--server", "https://a.example", "--client-id", "x", "--client-secret-file", "y"], "found both"),
        (["code", "--code-file", "x"], "--redirect-uri together"),
    ])
    func `wrong usage is status 2, with what is expected`(arguments: [String], words: String) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("moltin", arguments)
            let line = outcome.failure(2)
            #expect(line.hasPrefix("moltin: ") && line.contains(words), "\(line)")
        }
    }
}
