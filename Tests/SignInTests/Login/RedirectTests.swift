import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Requests to the loopback address while a sign-in waits.
@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
    private func withWaiting(
        _ configuration: LocalProvider.Configuration = .demo,
        _ body: (CommandFixture, ChildProcess, Redirects) async throws -> Void
    ) async throws {
        try await withDesk(configuration) { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]))
            try await body(fixture, process, Redirects(process))
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test func `without a browser the URL is shown, and opening it signs in`() async throws {
        try await withWaiting { fixture, process, redirects in
            let page = try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(page.contains("sign-in"))
            #expect(await redirects.isClosed())
            // The instruction, the URL, the offer to paste, and two lines about the code for another device.
            #expect(outcome.errorLines.count == 5)
        }
    }

    @Test func `a redirect with a wrong state is ignored, and the right one still wins`() async throws {
        try await withWaiting { fixture, process, redirects in
            for query in ["state=x&code=stolen", "code=stolen", "state=x&error=access_denied", "state=", ""] {
                #expect(try await redirects.status(query) == 400)
            }
            try await redirects.signIn()
            _ = try await process.outcome().result()
            #expect(fixture.provider.log(.token).map { $0.form["code"] == "stolen" } == [false])
        }
    }

    @Test(arguments: [
        ("code=c&iss=https://evil.example", "invalid_redirect", "https://evil.example"),
        ("code=c", "invalid_redirect", "'iss'"), ("iss=ISSUER", "invalid_redirect", "'code'"),
        ("code=&iss=ISSUER", "invalid_redirect", "'code'"),
        ("code=c&code=d&iss=ISSUER", "invalid_redirect", "'code' twice"),
        ("code=c&iss=ISSUER&iss=ISSUER", "invalid_redirect", "'iss' twice"),
        ("error=access_denied", "invalid_redirect", "'iss'"),
        ("error=access_denied&iss=ISSUER", "access_denied", "you have denied access"),
        ("error=server_error&iss=ISSUER&error_description=Please%20sign%20in.", "server_error", "Please sign in."),
        ("error=own_code&code=c&iss=ISSUER", "own_code", "own_code"),
    ])
    func `with the right state anything wrong ends the wait`(query: String, code: String, what: String) async throws {
        try await withWaiting { fixture, process, redirects in
            let page = try await redirects.comeBack(
                "state=\(redirects.state)&" + query.replacing("ISSUER", with: fixture.issuer))
            let message = try await process.outcome().failure(1, code)
            #expect(message.contains(what), "\(message)")
            #expect(!page.contains("<form") && fixture.provider.count(.token) == 0 && fixture.stored.isEmpty)
        }
    }

    @Test func `with form_post the response is posted, and no address contains the code`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--param", "response_mode=form_post").result()
            #expect(fixture.provider.log(.authorization).first?.query["response_mode"] == "form_post")
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `an error by form post ends the wait`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login(
                "--param", "response_mode=form_post", with: ["SCRIPTED_BROWSER_FORM": "action=deny"])
            #expect(try outcome.failure(1, "access_denied").contains("you have denied access"))
        }
    }

    @Test func `a response mode that no app on this machine can read is refused before the browser opens`() async throws
    {
        try await withDesk { fixture in
            let outcome = try await fixture.login("--param", "response_mode=fragment")
            #expect(try outcome.failure(1, "invalid_configuration").contains("'response_mode'"))
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test func `--redirect-host both listens on both addresses`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--redirect-host", "both").result()
            let uri = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(uri.hasPrefix("http://127.0.0.1:"))
        }
    }

    @Test func `a provider that does not announce iss need not send it`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.sendsIssuerParameter = false
        try await withDesk(configuration) { fixture in _ = try await fixture.login().result() }
    }

    @Test func `a repeated state is rejected`() async throws {
        try await withWaiting { fixture, process, redirects in
            try await redirects.comeBack("state=\(redirects.state)&state=x&code=c&iss=\(fixture.issuer)")
            #expect(try await process.outcome().failure(1, "invalid_redirect").contains("'state' twice"))
        }
    }

    @Test func `a denial by the user ends the sign-in`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login(with: ["SCRIPTED_BROWSER_FORM": "action=deny"])
            #expect(try outcome.failure(1, "access_denied").contains("you have denied access"))
            #expect(fixture.provider.count(.token) == 0 && fixture.stored.isEmpty)
            #expect(try await fixture.browser.page().contains("you have denied access"))
        }
    }

    @Test(arguments: ["127.0.0.1", "[::1]", "localhost"])
    func `the redirect goes to the requested host and path`(host: String) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--redirect-host", host, "--redirect-path", "/a/b").result()
            let uri = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(uri.hasPrefix("http://\(host):") && uri.hasSuffix("/a/b"), "\(uri)")
        }
    }
}
