import AppAuth
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Where the browser comes back to after a sign-out: only where the provider sends it (RP-Initiated Logout §2).
@Suite(.timeLimit(.minutes(5)))
struct RegisteredLogoutTests {
    private func registerAndSignIn(_ fixture: CommandFixture) async throws {
        let arguments = ["--json", "--issuer", fixture.issuer]
        _ = try await fixture.start(["register", "--redirect-uri", "http://127.0.0.1/callback"] + arguments).outcome()
            .result()
        _ = try await fixture.start(["login"] + arguments).outcome().result()
    }

    @Test func `a registered client also registers a post-logout redirect URI`() async throws {
        try await withDesk { fixture in
            try await registerAndSignIn(fixture)
            let sent = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            #expect(sent["post_logout_redirect_uris"] == ["http://127.0.0.1/callback"])
            #expect(try await fixture.run("logout", "--json").result()["session_ended"] == true)
        }
    }

    /// The server must not choose the scheme of another app, nor a port and a path on this machine.
    @Test(
        arguments: [nil, ["vscode:/callback"], ["http://127.0.0.1:8/callback/x"], ["http://127.0.0.1:9/admin", 1]]
            as [JSON?])
    func `a client without a registered post-logout redirect URI sends none, and does not wait`(registered: JSON?)
        async throws
    {
        try await withDesk { fixture in
            let edit = Fault.editDocument { $0["post_logout_redirect_uris"] = registered }
            fixture.provider.fault(edit, at: .clientRegistration)
            try await registerAndSignIn(fixture)
            let outcome = try await fixture.run("logout", "--json", "--timeout", "60")
            #expect(try outcome.result() == ["revoked": ["refresh_token", "access_token"], "session_ended": false])
            #expect(outcome.errors.contains("no post-logout redirect URI is registered"), "\(outcome)")
            let end = try #require(fixture.provider.log(.endSession).first)
            #expect(end.query.names.sorted() == ["client_id", "id_token_hint"])
            #expect(try await fixture.browser.page(2).contains("signed out"))
            // The registration stays.
            #expect(fixture.stored == ["clients"])
        }
    }

    @Test func `the server does not choose the port of the post-logout redirect URI`() async throws {
        try await withDesk { fixture in
            let chosen: JSON = ["http://127.0.0.1:9/callback", "http://127.0.0.1:9/admin"]
            fixture.provider.fault(
                .editDocument { $0["post_logout_redirect_uris"] = chosen }, at: .clientRegistration)
            try await registerAndSignIn(fixture)
            #expect(try await fixture.run("logout", "--json").result()["session_ended"] == true)
            let uris =
                [fixture.provider.log(.authorization).first?.query["redirect_uri"]]
                + [fixture.provider.log(.endSession).first?.query["post_logout_redirect_uri"]]
            #expect(uris[0] == uris[1] && uris[0] != nil)
        }
    }

    @Test func `the user can name the post-logout redirect URI of a client registered by hand`() async throws {
        var configuration = LocalProvider.Configuration.demo
        let uri = "http://localhost:\(freePort())/bye"
        configuration.clients[0].postLogoutRedirectURIs = [.exact(uri)]
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            let json = try await fixture.run("logout", "--json", "--post-logout-redirect-uri", uri)
                .result()
            #expect(json["session_ended"] == true)
        }
    }

    @Test func `the user can leave the post-logout redirect URI out`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].postLogoutRedirectURIs = []
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            let outcome = try await fixture.run("logout", "--json", "--post-logout-redirect-uri", "none")
            #expect(try outcome.result()["session_ended"] == false)
            #expect(try await fixture.browser.page().contains("signed out"))
        }
    }

    @Test(arguments: ["https://app.example/bye", "http://192.0.2.1/bye", "bye", ""])
    func `a post-logout redirect URI that is not on loopback is wrong usage`(uri: String) async throws {
        try await withDesk { fixture in
            try await fixture.start(["logout", "--json", "--post-logout-redirect-uri", uri]).outcome().wrongUsage()
        }
    }
}
