import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The session here is removed even if the provider fails. The command reports the steps that it did not confirm.
@Suite(.timeLimit(.minutes(5)))
struct LogoutFailureTests {
    @Test func `a revocation that is refused is reported`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.unavailable(retryAfter: 1), at: .revocation)
            let outcome = try await fixture.run("logout", "--json")
            #expect(try outcome.result() == ["revoked": ["access_token"], "session_ended": true])
            let line = outcome.errorLines.first { $0.contains("refresh token") }
            #expect(
                line?.hasPrefix(
                    "sign-in: the refresh token stays valid until it expires at the provider, since it was not revoked: "
                )
                    == true, "\(outcome)")
            #expect(!outcome.errors.contains("the access token"), "\(outcome)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `an unreachable provider does not prevent the removal of the session`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            await fixture.provider.stop()
            let outcome = try await fixture.run("logout", "--json", "--timeout", "5")
            #expect(try outcome.result() == ["revoked": [], "session_ended": false])
            for kind in ["refresh", "access"] {
                #expect(outcome.errorLines.count { $0.contains("\(kind) token") } == 1, "\(outcome)")
                #expect(!outcome.errors.contains("\(kind)_token"), "\(outcome)")
            }
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `unrevoked tokens are reported before the wait for the browser`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.unavailable(retryAfter: 1), at: .revocation)
            let process = try fixture.start(["logout", "--json"], ["BROWSER": "true"])
            _ = try await process.line { $0.contains("the refresh token stays valid") }
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `waiting for a provider that does not send the browser back ends at the timeout`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.htmlPage, at: .endSession)
            let outcome = try await fixture.run("logout", "--json", "--timeout", "15")
            #expect(try outcome.result() == ["revoked": ["refresh_token", "access_token"], "session_ended": false])
            #expect(outcome.errors.contains("did not confirm"))
            let uri = try #require(fixture.provider.log(.endSession).first?.query["post_logout_redirect_uri"])
            #expect(outcome.errorLines.contains { $0.hasPrefix("You are signed out here") }, "\(outcome)")
            #expect(outcome.errorLines.contains("  \(uri)"), "\(outcome)")
            #expect(fixture.stored.isEmpty)
        }
    }

    /// A server that compares the port, as most do for `localhost`.
    @Test func `a sign-out to a port that nobody can register names the ways out, and they work`() async throws {
        let listener = try LoopbackRedirectListener(host: .localhost)
        listener.close()
        let port = try #require(listener.redirectURI.firstMatch(of: /:(\d+)/).map { String($0.1) })
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].postLogoutRedirectURIs = [.exact(listener.redirectURI)]
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--redirect-host", "localhost").result()
            let failed = try await fixture.run("logout", "--json", "--timeout", "15")
            #expect(try failed.result()["session_ended"] == false)
            let line = try #require(failed.errorLines.first { $0.hasPrefix("  sign-in login ") }, "\(failed)").trimmed
            #expect(line.hasSuffix(" --redirect-host localhost --redirect-port 8400"), "\(line)")
            let registered = line.replacing(" 8400", with: " \(port)")
            _ = try await fixture.start(["sh", "-c", "\(registered) --json"], []).outcome().result()
            let signedOut = try await fixture.run("logout", "--json")
            #expect(try signedOut.result()["session_ended"] == true)

            _ = try await fixture.login("--redirect-host", "localhost").result()
            let options = try #require(failed.errors.firstMatch(of: /Or sign out with (.*): the browser/)).1
            let without = try await fixture.start(["sh", "-c", "sign-in logout --json \(options)"], []).outcome()
            #expect(try without.result()["session_ended"] == false)
            #expect(try await fixture.browser.page(6).contains("signed out"))

            // The user has chosen this port, so the hint has no other to offer.
            _ = try await fixture.login("--redirect-host", "localhost").result()
            let chosen = ["logout", "--json", "--timeout", "15", "--post-logout-redirect-uri"]
            let refused = try await fixture.start(chosen + ["http://localhost:\(port)/other"]).outcome()
            #expect(try refused.result()["session_ended"] == false)
            #expect(refused.errors.contains("may not be registered") && !refused.errors.contains("8400"), "\(refused)")
        }
    }

    @Test func `tokens revoked before the timeout are reported as revoked`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            // The second revocation never comes to an end.
            fixture.provider.fault(.delay(.zero), at: .revocation)
            fixture.provider.fault(.delay(.seconds(60)), at: .revocation)
            let outcome = try await fixture.run("logout", "--json", "--revoke-only", "--timeout", "10")
            #expect(try outcome.result() == ["revoked": ["refresh_token"], "session_ended": false])
            #expect(outcome.errors.contains("the access token stays valid"))
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a provider without these endpoints is signed out of locally`() async throws {
        try await withDesk { fixture in
            let edit = Fault.editDocument { document in
                (document["revocation_endpoint"], document["end_session_endpoint"]) = (nil, nil)
            }
            fixture.provider.fault(edit, at: .openIDConfiguration)
            fixture.provider.fault(.status(.notFound), at: .oauthMetadata, times: nil)
            try await fixture.signIn()
            let expiry = try #require(fixture.record().accessToken?.expiresAt?.ISO8601Format())
            let report = try await fixture.run("logout", "--json")
            #expect(try report.result() == ["revoked": [], "session_ended": false])
            #expect(report.errors.contains("the access token stays valid until \(expiry)"), "\(report)")
            #expect(report.errors.contains("the refresh token stays valid until it expires"), "\(report)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a revocation endpoint can be named`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["revocation_endpoint"] = nil }, at: .openIDConfiguration)
            fixture.provider.fault(.status(.notFound), at: .oauthMetadata, times: nil)
            try await fixture.signIn()
            let url = fixture.provider.url(.revocation)
            let report = try await fixture.run("logout", "--json", "--revocation-endpoint", url)
            #expect(try report.result()["revoked"] == ["refresh_token", "access_token"])
            #expect(!report.errors.contains("stays valid"), "\(report)")
        }
    }

    @Test func `a revocation endpoint that only the second document names is used`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.namesRevocationInOAuthMetadataOnly = true
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            #expect(fixture.provider.count(.oauthMetadata) == 0)
            let json = try await fixture.run("logout", "--json").result()
            #expect(json == ["revoked": ["refresh_token", "access_token"], "session_ended": true])
        }
    }

    @Test func `only a file that cannot be removed is a failure`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            #expect(chmod(fixture.sessions, 0o500) == 0)
            defer { chmod(fixture.sessions, 0o700) }
            let outcome = try await fixture.startWithoutPrivileges(["logout", "--revoke-only", "--json"]).outcome()
            #expect(try outcome.failure(1, "store").contains(fixture.sessions))
            #expect(fixture.provider.count(.revocation) == 2)
            #expect(try fixture.session() == before)
        }
    }
}
