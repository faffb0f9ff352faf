import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// The sample QuickStart, as a user runs it. Whatever happens, it ends with a line and never with a crash.
struct QuickStartTests {
    @Test func `QuickStart greets the user and calls the API, and its second run opens no browser`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let first = try await start(fixture, provider)
                #expect(first.status == 0 && first.errors.isEmpty, "\(first)")
                let second = try await start(fixture, provider)
                #expect(second.lines().first == "Hello, Alice Liddell")
                #expect(second.lines().last?.hasPrefix("The API responds: {") == true)
                #expect(provider.count(.authorization) == 1)
            }
        }
    }

    @Test func `without its three arguments, QuickStart shows its usage`() async throws {
        try await CommandFixture.with { fixture in
            for arguments in [[], ["http://127.0.0.1:1", "my-app"]] {
                let outcome = try await fixture.run("quick-start", arguments)
                #expect(outcome.failure().contains("ISSUER CLIENT-ID API-URL"))
            }
        }
    }

    @Test(arguments: [("", "https"), ("http://accounts.example.org", "https"), ("offline", "refused")])
    func `an issuer that cannot be used is one line`(issuer: String, words: String) async throws {
        try await CommandFixture.with { fixture in
            let issuer = issuer == "offline" ? "http://127.0.0.1:\(freePort())" : issuer
            let outcome = try await fixture.run("quick-start", [issuer, "my-app", issuer + "/api"])
            #expect(outcome.failure().contains(words) && outcome.output.isEmpty, "\(outcome)")
        }
    }

    @Test func `a denied sign-in is one line`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let outcome = try await start(fixture, provider, ["SCRIPTED_BROWSER_FORM": "action=deny"])
                #expect(outcome.failure() == "you have denied access\n" && outcome.output.isEmpty, "\(outcome)")
            }
        }
    }

    @Test func `without a terminal and a browser, QuickStart says why, and shows the URL`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                // Opens the URL that it reads from the program, as a user does with another browser.
                let line = #"""
                    "$0" "$@" 2>&1 | while IFS= read -r line; do
                        printf '%s\n' "$line"
                        case $line in http*) "$SCRIPTED_BROWSER" "$line" ;; esac
                    done
                    """#
                var environment = try environment(fixture)
                environment["BROWSER"] = nil
                environment["SCRIPTED_BROWSER"] = try fixture.browser
                let outcome = try await fixture.run(
                    "/bin/bash", ["-c", line, CommandFixture.product("quick-start")] + arguments(provider), environment)
                let lines = outcome.lines()
                #expect(
                    lines.contains { $0.contains("there is no display here") && $0.contains("any browser") }, "\(lines)"
                )
                #expect(lines.contains("Hello, Alice Liddell"), "\(lines)")
            }
        }
    }

    @Test func `if the provider has ended the session, QuickStart says so, and the next run signs in`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                _ = try await start(fixture, provider)
                provider.fault(
                    .status(.unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#]), at: .api)
                provider.fault(.oauthError("invalid_grant"), at: .token)
                let ended = try await start(fixture, provider)
                #expect(ended.failure().contains("Start the program again to sign in."))
                #expect(ended.output == "Hello, Alice Liddell\n")
                #expect(try await start(fixture, provider).status == 0)
                #expect(provider.count(.authorization) == 2)
            }
        }
    }

    @Test func `an error of the API is no response`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                _ = try await start(fixture, provider)
                provider.fault(.status(.internalServerError, json: ["message": "Out of tea"]), at: .api)
                let outcome = try await start(fixture, provider)
                #expect(outcome.failure().hasSuffix("returned 500: 'Out of tea'\n"))
                #expect(outcome.output == "Hello, Alice Liddell\n")
            }
        }
    }

    /// As `quick-start | head` and `quick-start >&-` do.
    @Test(arguments: ["| true", ">&-", "2>&-", ">&- 2>&-"])
    func `a standard output that is closed is no crash, and costs no session`(redirection: String) async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let line = "set -o pipefail; '\(CommandFixture.product("quick-start"))' \"$@\" \(redirection)"
                let closed = try await fixture.run(
                    "/bin/bash", ["-c", line, "bash"] + arguments(provider), environment(fixture))
                #expect(closed.status == 0 && !closed.errors.contains("rash"), "\(closed)")
                let outcome = try await start(fixture, provider)
                #expect(outcome.lines().first == "Hello, Alice Liddell")
                #expect(provider.count(.authorization) == 1)
            }
        }
    }

    @Test func `Samples run quickstart signs in, and runs the program again without a browser`() async throws {
        try await CommandFixture.with { fixture in
            let port = freePort()
            let outcome = try await samplesRun(fixture, port: port, input: "echo")
            #expect(outcome.status == 0, "\(outcome)")
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.filter { $0 == "Hello, Alice Liddell" }.count == 2 && lines.count == 4, "\(outcome)")
            #expect(outcome.errors.contains("Ready: http://127.0.0.1:\(port)\n"), "\(outcome)")
            #expect(try String(contentsOf: fixture.folder.appending(path: "opened"), encoding: .utf8) == "opened\n")
            #expect(outcome.errors.contains(/The session is stored in .*\/\.build\/quickstart/), "\(outcome)")
        }
    }

    @Test func `Samples run quickstart names a port that is in use`() async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let port = try #require(URL(string: provider.issuer)?.port)
                let outcome = try await samplesRun(fixture, port: port, input: "true")
                #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
                #expect(outcome.errors.contains("did not start on port \(port)"), "\(outcome)")
            }
        }
    }

    /// - Parameter input: A command whose output is the script's input.
    private func samplesRun(_ fixture: CommandFixture, port: Int, input: String) async throws -> Outcome {
        // Builds nothing, because the tests did.
        try await ProgramFile.write(
            """
            #!/bin/sh
            case "$*" in
            --version) echo 'Swift version 6.2' ;;
            *--show-bin-path) dirname '\(CommandFixture.product("quick-start"))' ;;
            esac
            """, to: fixture.folder.path + "/swift")
        let browser = fixture.folder.path + "/noting-browser"
        try await ProgramFile.write(
            """
            #!/bin/sh
            echo opened >> '\(fixture.folder.path)/opened'
            exec '\(CommandFixture.product("scripted-browser"))' "$@"
            """, to: browser)
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Samples/run").path
        return try await fixture.run(
            "/bin/sh", ["-c", "\(input) | '\(script)' quickstart"],
            environment(fixture).merging([
                "PATH": "\(fixture.folder.path):/usr/bin:/bin", "PORT": "\(port)", "BROWSER": browser,
            ]) {
                $1
            })
    }

    private func environment(_ fixture: CommandFixture) throws -> [String: String] {
        try [
            "BROWSER": fixture.browser, "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass",
        ]
    }

    private func arguments(_ provider: LocalProvider) -> [String] { [provider.issuer, "demo", provider.url(.api)] }

    private func start(
        _ fixture: CommandFixture, _ provider: LocalProvider, _ changes: [String: String] = [:]
    ) async throws -> Outcome {
        try await fixture.run("quick-start", arguments(provider), environment(fixture).merging(changes) { $1 })
    }
}
