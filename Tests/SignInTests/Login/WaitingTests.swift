import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The notes while the browser does not come back: only the provider's page shows the error.
@Suite(.timeLimit(.minutes(5)))
struct WaitingTests {
    @Test(arguments: [[], ["--par"]])
    func `after a while a sign-in says what to compare`(more: [String]) async throws {
        try await withDesk { fixture in
            let arguments = ["--no-browser", "--timeout", "10", "--scope", "openid email"] + more
            let process = try fixture.start(fixture.loginArguments(arguments))
            if more == ["--par"] {
                _ = try await process.line { $0.hasPrefix("The URL above can be opened for 60 s.") }
            }
            _ = try await process.line { $0.hasPrefix("Still waiting for the browser. If it shows an error") }
            _ = try await process.line { $0 == "  client ID: demo" }
            let uri = try await process.line { $0.hasPrefix("  redirect URI: http://127.0.0.1:") }
            #expect(uri.hasSuffix("/callback"))
            _ = try await process.line { $0 == "  scope: 'openid email'" }
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
        }
    }

    @Test func `after a while a sign-in says that a client id is a URL that the provider may not know`() async throws {
        try await withDesk { fixture in
            let client = "https://app.example/client.json"
            let arguments = fixture.loginArguments(["--no-browser", "--timeout", "10"], client: client)
            let process = try fixture.start(arguments)
            let line = try await process.line { $0.hasPrefix("  client ID: ") }
            #expect(
                line
                    == "  client ID: '\(client)' (a URL: the provider’s metadata does not mention client ID metadata documents)"
            )
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    /// If the provider has forgotten it, only the page says so.
    @Test func `after a while a sign-in names the file of a client that the user has registered`() async throws {
        try await withDesk { fixture in
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            // The server says how the client is called.
            fixture.provider.fault(.editDocument { $0["client_name"] = "--json=" }, at: .clientRegistration)
            _ = try await fixture.start(register).outcome().result()
            let file = try #require(
                try FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients").first {
                    $0.hasSuffix(".json")
                })
            let login = ["login", "--json", "--issuer", fixture.issuer, "--no-browser", "--timeout", "10"]
            let process = try fixture.start(login)
            let line = try await process.line { $0.hasPrefix("The client is the one in ") }
            #expect(line.contains("/clients/\(file)"), "\(line)")
            process.send(SIGINT)
            _ = try await process.outcome()
            let replacing = try #require(line.components(separatedBy: "replace it with: ").last)
            let outcome = try await fixture.start(["sh", "-c", replacing], []).outcome()
            #expect(outcome.status == 0 && replacing.contains("--client-name=--json="), "\(replacing) \(outcome)")
            let files = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients")
            #expect(files.contains(file + ".old") && files.filter { $0.hasSuffix(".json") }.count == 1, "\(files)")
        }
    }

    @Test func `a fast sign-in prints no such note`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login()
            #expect(!outcome.errors.contains("Still waiting"), "\(outcome)")
        }
    }

    /// Several servers leave the state out of a refusal. Anybody may have sent it, so only standard codes are shown.
    @Test(arguments: [
        ("error=invalid_scope&error_description=Call%20us", "with the error invalid_scope, and without"),
        ("error=call_us", "without"), ("state=x&error=invalid_scope", "without"),
        ("state=&error=invalid_scope", "without"),
        ("error=invalid_scope&error=call_us", "with the error invalid_scope, and without"),
    ])
    func `an error without the state is reported, and ends nothing`(query: String, words: String) async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            #expect(try await redirects.status(query) == 400)
            _ = try await process.line {
                $0 == "The browser came back \(words) the state of this sign-in. Still waiting."
            }
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("Call us") && !outcome.errors.contains("call_us"), "\(outcome)")
        }
    }

    @Test func `a redirect without the state is reported once`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser", "--verbose"]))
            let redirects = try await Redirects(process)
            for query in ["code=stolen", "state=x&code=stolen", ""] {
                #expect(try await redirects.status(query) == 400)
            }
            _ = try await process.line { $0.hasPrefix("The browser came back without the state of this sign-in") }
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(outcome.errorLines.filter { $0.hasPrefix("The browser came back without") }.count == 1)
            #expect(outcome.errorLines.filter { $0.contains("redirect: ignored") }.count == 3, "\(outcome)")
            #expect(!outcome.errors.contains("stolen"))
        }
    }
}
