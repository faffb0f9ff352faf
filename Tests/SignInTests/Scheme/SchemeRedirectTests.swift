import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A sign-in that comes back by a private-use scheme: with the real xdg-mime and xdg-open, from one process to the other.
@Suite(.timeLimit(.minutes(5)))
struct SchemeRedirectTests {
    /// Without a desktop environment xdg-open starts the helper itself; in GNOME gio does, as GTK's programs do. (Before
    /// its version 1.2 xdg-open by itself takes a scheme with a digit for the name of a file.)
    @Test(arguments: [
        (SchemeFixture.uri, nil), (SchemeFixture.uri, "GNOME"), (SchemeFixture.uriWithDomain, "GNOME"),
    ])
    func `the desktop delivers the redirect to the waiting sign-in`(
        uri: String, desktop: String?
    ) async throws {
        try await SchemeFixture.with { scheme in
            let outcome = try await scheme.login(uri, with: ["XDG_CURRENT_DESKTOP": desktop]).outcome()
            let result = try outcome.result()
            #expect(result["client_id"]?.string == "7pass" && result["has_refresh_token"] == true)
            let provider = scheme.fixture.provider
            #expect(provider.log(.authorization).first?.query["redirect_uri"] == uri)
            #expect(provider.log(.token).map { $0.form["redirect_uri"] } == [uri])
            let arguments = try #require(scheme.fixture.browser.visits.first)
            #expect(arguments.last?.wholeMatch(of: BrowserTests.oneTimeURL) != nil, "\(arguments)")
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
        }
    }

    @Test func `xdg-mime names sign-in while it waits, and no handler afterwards`() async throws {
        try await SchemeFixture.with { scheme in
            let process = try scheme.login(SchemeFixture.uri, "--no-browser")
            let redirects = try await Redirects(process)
            let query = ["xdg-mime", "query", "default", "x-scheme-handler/oauthtest"]
            #expect(
                try await scheme.run(query[0], query[1], query[2], query[3]).outputLines
                    == [SchemeFixture.entry])

            // Wrong ones change nothing; xdg-open says by its status that the helper was not taken.
            for wrong in ["?state=x&code=stolen", "?code=stolen", "/x?state=\(redirects.state)&code=c", ""] {
                #expect(try await scheme.run("xdg-open", SchemeFixture.uri + wrong).status != 0)
            }
            let issuer = scheme.fixture.issuer
            let no = "?error=access_denied&state=\(redirects.state)&iss=\(issuer)"
            #expect(try await scheme.run("xdg-open", SchemeFixture.uri + no).status == 0)
            try await process.outcome().failure(1, "access_denied")
            #expect(try await scheme.run(query[0], query[1], query[2], query[3]).output.isEmpty)
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
            #expect(scheme.fixture.provider.count(.token) == 0)
        }
    }

    @Test(arguments: [
        ("code=c&iss=https://evil.example", "'iss'"), ("code=c", "'iss'"), ("iss=ISSUER", "'code'"),
        ("code=c&code=d&iss=ISSUER", "'code' twice"), ("code=c&iss=ISSUER&state=x", "'state' twice"),
    ])
    func `with the right state anything wrong ends the wait`(query: String, what: String) async throws {
        try await SchemeFixture.with { scheme in
            let process = try scheme.login(SchemeFixture.uri, "--no-browser")
            let redirects = try await Redirects(process)
            let url =
                "\(SchemeFixture.uri)?state=\(redirects.state)&"
                + query.replacing("ISSUER", with: scheme.fixture.issuer)
            #expect(try await scheme.run(BuiltProducts.path("sign-in"), "deliver-redirect", url).status == 0)
            #expect(try await process.outcome().failure(1, "invalid_redirect").contains(what))
            #expect(scheme.fixture.provider.count(.token) == 0)
        }
    }

    @Test func `each of two sign-ins gets its own redirect`() async throws {
        try await SchemeFixture.with { scheme in
            let processes = try (0..<2).map {
                try scheme.login(SchemeFixture.uri, "--no-browser", "--store", "file:\(scheme.fixture.home)/s\($0)")
            }
            let redirects = [try await Redirects(processes[0]), try await Redirects(processes[1])]
            for index in [1, 0] {
                let url =
                    "\(SchemeFixture.uri)?error=error_\(index)&state=\(redirects[index].state)&iss=\(scheme.fixture.issuer)"
                #expect(try await scheme.run("xdg-open", url).status == 0)
                try await processes[index].outcome().failure(1, "error_\(index)")
            }
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
        }
    }

    @Test(
        arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated")] as [(CInt, CInt, String)])
    func `a signal leaves no socket and no desktop entry`(signal: CInt, status: CInt, code: String) async throws {
        try await SchemeFixture.with { scheme in
            let process = try scheme.login(SchemeFixture.uri, "--no-browser")
            _ = try await Redirects(process)
            #expect(scheme.leftovers.count == 3, "\(scheme.leftovers)")
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
        }
    }

    @Test func `the next sign-in takes over the leftovers of a killed one`() async throws {
        try await SchemeFixture.with { scheme in
            let killed = try scheme.login(SchemeFixture.uri, "--no-browser")
            _ = try await Redirects(killed)
            killed.send(SIGKILL)
            #expect(try await killed.outcome().status == 128 + SIGKILL)
            #expect(scheme.leftovers.count == 3, "\(scheme.leftovers)")
            _ = try await scheme.login().outcome().result()
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
        }
    }

    @Test func `the first redirect without a listener removes the leftovers of a killed sign-in`() async throws {
        try await SchemeFixture.with { scheme in
            let killed = try scheme.login(SchemeFixture.uri, "--no-browser")
            _ = try await Redirects(killed)
            killed.send(SIGKILL)
            _ = try await killed.outcome()
            let outcome = try await scheme.run(
                BuiltProducts.path("sign-in"), "deliver-redirect", "--json", SchemeFixture.uri + "?state=s&code=hidden")
            #expect(try !outcome.failure(1, "listener").contains("hidden"))
            #expect(scheme.leftovers.isEmpty, "\(scheme.leftovers)")
        }
    }

    // MARK: Missing parts

    @Test func `without a runtime folder the error names the variable`() async throws {
        try await SchemeFixture.with { scheme in
            let outcome = try await scheme.login(with: ["XDG_RUNTIME_DIR": nil]).outcome()
            #expect(try outcome.failure(1, "unavailable").contains("$XDG_RUNTIME_DIR"))
            #expect(scheme.leftovers.isEmpty && scheme.fixture.browser.visits.isEmpty)
        }
    }

    @Test func `form_post with a private-use scheme is rejected before anything is installed`() async throws {
        try await SchemeFixture.with { scheme in
            let outcome = try await scheme.login(SchemeFixture.uri, "--param", "response_mode=form_post").outcome()
            #expect(try outcome.failure(1, "invalid_configuration").contains("form_post"))
            #expect(scheme.leftovers.isEmpty && scheme.fixture.browser.visits.isEmpty)
        }
    }

    @Test(arguments: ["https://app.example/callback", "mailto:/x", "com.example.app:callback", "app:"])
    func `a reserved scheme is rejected`(uri: String) async throws {
        try await SchemeFixture.with { scheme in
            try await scheme.login(uri).outcome().failure(1, "invalid_configuration")
            #expect(scheme.fixture.provider.log.isEmpty || scheme.fixture.browser.visits.isEmpty)
        }
    }

    /// The kernel gives it the path "NAME (deleted)", at which another user may have put a file.
    @Test(arguments: [true, false])
    func `a program that was removed is no handler of a scheme`(hasOther: Bool) async throws {
        try await SchemeFixture.with { scheme in
            let other = hasOther ? "cp /bin/true \"$0 (deleted)\"" : "true"
            let script = "exec 3<\"$0\" && rm \"$0\" && \(other) && exec /proc/self/fd/3 \"$@\""
            let line = scheme.fixture.loginArguments(["--redirect-uri", SchemeFixture.uri], client: "7pass")
            let outcome = try await scheme.fixture.start(["sh", "-c", script, scheme.program], line, scheme.session)
                .outcome()
            let message = try outcome.failure(1, "unavailable")
            #expect(message.hasPrefix("the path of this program is not known: "), "\(message)")
            #expect(message.contains("another file is at ") == hasOther)
            #expect(scheme.leftovers.isEmpty && scheme.fixture.browser.visits.isEmpty)
        }
    }

    @Test(arguments: [
        ["callback"], [":/callback"], ["a.b:/c", "--redirect-port", "0"], ["a.b:/c", "--redirect-host", "127.0.0.1"],
        ["a.b:/c", "--redirect-path", "/callback"],
    ])
    func `a malformed URI or a conflicting option is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(fixture.loginArguments(["--redirect-uri"] + arguments)).outcome()
            #expect(try outcome.wrongUsage().contains("--redirect-uri"))
        }
    }
}
