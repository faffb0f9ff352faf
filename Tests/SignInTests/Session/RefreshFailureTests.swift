import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RefreshFailureTests {
    @Test func `a refused refresh token ends the session, and is never sent again`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let refreshToken = try #require(fixture.record().refreshToken?.reveal())
            fixture.provider.revokeGrant(of: refreshToken)
            let outcome = try await fixture.run("token", "--force-refresh", "--json")
            #expect(try outcome.failure(1, "sign_in_required").contains("invalid_grant"))
            #expect(outcome.errorLines.count == 1)
            #expect(fixture.provider.count(.token) == 2)

            for command in [["token"], ["token", "--force-refresh"], ["userinfo"]] {
                let again = try await fixture.start(command + ["--json"]).outcome()
                #expect(try again.failure(1, "sign_in_required").contains("invalid_grant"))
            }
            #expect(fixture.provider.count(.token) == 2 && fixture.provider.count(.userInfo) == 0)
            #expect(try !fixture.session().contains(Data(refreshToken.utf8)))

            let listed = try await fixture.run("status", "--json").result()
            let entry = try #require(listed["sessions"]?.array?.first)
            #expect(entry["state"]?.string == "ended")
            #expect(entry["reason"]?.string?.contains("invalid_grant") == true)
            #expect(entry["has_refresh_token"] == false && entry.isNull("access_token_expires_at"))

            // A new sign-in replaces it.
            try await fixture.signIn()
            _ = try await fixture.run("token", "--json").result()
        }
    }

    struct Trouble: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: String
        let fault: Fault
    }

    @Test(arguments: [
        Trouble(testDescription: "503", code: "invalid_response", fault: .unavailable(retryAfter: 5)),
        Trouble(testDescription: "429", code: "invalid_response", fault: .tooManyRequests(retryAfter: 5)),
        Trouble(
            testDescription: "500 with words", code: "server_error",
            fault: .status(.internalServerError, json: ["error": "server_error", "error_description": "Oh dear."])),
        Trouble(
            testDescription: "invalid_client", code: "invalid_client",
            fault: .status(.unauthorized, json: ["error": "invalid_client"])),
        Trouble(testDescription: "a reset", code: "transport", fault: .all([.status(.internalServerError), .reset()])),
        Trouble(testDescription: "a page", code: "invalid_response", fault: .htmlPage),
        Trouble(testDescription: "a redirect", code: "invalid_response", fault: .redirect(to: "/elsewhere")),
    ])
    func `server errors keep the session`(trouble: Trouble) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            fixture.provider.fault(trouble.fault, at: .token)
            let outcome = try await fixture.run("token", "--force-refresh", "--json")
            try outcome.failure(1, trouble.code)
            #expect(outcome.errorLines.count == 1)
            let after = try fixture.record()
            #expect(after.end == nil && after.backoff?.count == 1)
            #expect(after.refreshToken == before.refreshToken && after.accessToken == before.accessToken)
            #expect(fixture.provider.count(.token) == 2)
            // --force-refresh does not wait.
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test(arguments: [
        (Fault.oauthError("interaction_required"), 1), (.oauthError("invalid_request"), 2),
        (.editIDToken { $0.claims["nonce"] = "another" }, 1),
    ])
    func `a refresh that is refused for good names the command to sign in, and status says so`(
        fault: Fault, count: Int
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            fixture.provider.fault(fault, at: .token, times: count)
            for number in 1...count {
                let refused = try await fixture.run("token", "--force-refresh", "--json")
                let line = ". Sign in with: sign-in login --issuer \(fixture.issuer) --client-id demo"
                #expect(refused.status == 1 && refused.errors.hasSuffix(line + "\n") == (number == count), "\(refused)")
            }
            let entry = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            #expect(entry["state"] == "needs_sign_in" && entry["reason"]?.string != nil)
            #expect(try await fixture.run("status").output.contains(", needs sign-in\n"))
            // The session stays.
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let healed = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            #expect(healed["state"] == "signed_in" && healed["reason"] == nil)
        }
    }

    @Test func `an ID token that is not verified withholds only itself`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.editIDToken { $0.header["kid"] = "unknown" }, at: .token, times: 2)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let entry = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            #expect(entry["id_token_error"]?.string?.contains("key") == true && entry["state"] == "signed_in")
            let text = try await fixture.run("status").output
            #expect(text.contains("    claims:  the last ID token could not be verified"))
            try await fixture.run("token", "--id-token", "--json").failure(1, "invalid_id_token")
            _ = try await fixture.run("token", "--json").result()
            _ = try await fixture.run("token", "--id-token", "--json").result()
            let healed = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            #expect(healed["id_token_error"] == nil)
        }
    }

    @Test func `an unreachable provider keeps the session`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            await fixture.provider.stop()
            #expect(
                try await fixture.run("token", "--force-refresh", "--json").failure(1, "transport").contains("refused"))
            let after = try fixture.record()
            #expect(after.end == nil && after.backoff?.lost == nil && after.refreshToken == before.refreshToken)
            // A valid token needs no provider.
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test func `without a refresh token there is nothing to refresh with`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["expires_in"] = 0 }, at: .token)
            try await fixture.signIn(scope: "openid")
            try await fixture.run("token", "--json").failure(1, "no_refresh_token")
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `a refresh with another user's ID token ends the session`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.editIDToken { $0.claims["sub"] = "another" }, at: .token)
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            let entry = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(entry?["state"]?.string == "ended")
            #expect(entry?["sub"]?.string == "248289761001")
        }
    }
}
