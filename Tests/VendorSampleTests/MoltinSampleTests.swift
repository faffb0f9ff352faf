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
                lines.first?.hasPrefix("A double of the server is listening on this machine: http://127.0.0.1:") == true
            )
            #expect(lines.count { $0.contains("Teapot") } == 2)
            #expect(lines.last == "Deleted the token.")
        }
    }

    @Test func `the five buttons, each in a start of its own`() async throws {
        try await withMoltin { double, moltin in
            var outcome = try await moltin(["auth"])
            #expect(outcome.lines().first?.hasPrefix("Authenticated: the token is valid until") == true)
            outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            #expect(double.count(.token) == 1)
            outcome = try await moltin(["refresh"])
            #expect(outcome.lines().first?.hasPrefix("Refreshed:") == true)
            #expect(double.count(.token) == 2)
            outcome = try await moltin(["bad-auth"])
            #expect(outcome.failure().contains("Client authentication failed"))
            outcome = try await moltin(["products"])
            #expect(outcome.lines().count == 3)
            outcome = try await moltin(["delete"])
            #expect(outcome.lines() == ["Deleted the token."])
            outcome = try await moltin(["products"])
            #expect(outcome.failure().contains("not signed in"))
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
            #expect(failure.contains("Client authentication failed") && !failure.contains("wrong-secret"))
        }
    }

    @Test func `a secret that others can read is not read`() async throws {
        try await withMoltin(mode: 0o604) { double, moltin in
            let outcome = try await moltin(["auth"])
            #expect(outcome.failure().contains("chmod 600"))
            #expect(double.log.isEmpty)
        }
    }

    @Test func `what goes wrong is one clear line`() async throws {
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
            #expect(outcome.failure().hasPrefix("moltin: "))
        }
    }

    @Test(arguments: [
        ["dance"], ["--server", "https://api.molt.in"], ["--nothing"], ["auth", "--client-id", "x"],
        ["--demo", "--server", "https://a.example", "--client-id", "x", "--client-secret-file", "y"],
    ])
    func `wrong usage is status 2`(arguments: [String]) async throws {
        try await CommandFixture.with { fixture in
            let outcome = try await fixture.run("moltin", arguments)
            #expect(outcome.failure(2).hasPrefix("moltin: "))
        }
    }
}
