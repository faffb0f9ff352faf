import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The redirect written to standard input, for a browser that runs on another machine.
@Suite(.timeLimit(.minutes(5)))
struct PasteTests {
    private func withWaiting(
        _ arguments: [String] = ["--no-browser"], _ changes: [String: String?] = [:],
        _ body: (CommandFixture, ChildProcess, Redirects, Typing) async throws -> Void
    ) async throws {
        try await withDesk { fixture in
            let typing = try Typing()
            let process = try fixture.start(fixture.loginArguments(arguments), changes, input: typing.input)
            try await body(fixture, process, Redirects(process), typing)
        }
    }

    @Test func `without a browser, sign-in offers pasting the address and accepts it`() async throws {
        try await withWaiting { fixture, process, redirects, typing in
            typing.write(try await redirects.signInElsewhere() + "\n")
            let outcome = try await process.outcome()
            #expect(try outcome.result()["id_token_claims"]?["sub"]?.string == "248289761001")
            #expect(
                outcome.errorLines.contains(
                    "If the browser ends at a page that does not load, copy the whole address of that page and write "
                        + "it to standard input."))
            #expect(fixture.provider.count(.token) == 1 && fixture.stored.count == 1)
            #expect(await redirects.isClosed())
        }
    }

    @Test func `without a display and over SSH, sign-in says so and accepts a pasted address`() async throws {
        try await withWaiting([], ["BROWSER": nil, "SSH_CONNECTION": "192.0.2.1 22 192.0.2.2 22"]) {
            fixture, process, redirects, typing in
            typing.write(try await redirects.signInElsewhere() + "\r\n")
            let outcome = try await process.outcome()
            _ = try outcome.result()
            let line = try #require(outcome.errorLines.first { $0.hasPrefix("No browser could be started") })
            #expect(line.contains("this is an SSH session") && line.contains("there is no display here"))
            #expect(outcome.errorLines.contains { $0.hasSuffix("write it to standard input.") })
        }
    }

    @Test func `a pasted address is also accepted while a browser is open, without a hint`() async throws {
        try await withWaiting([], ["BROWSER": "true"]) { fixture, process, redirects, typing in
            typing.write(try await redirects.signInElsewhere())
            // The end of the input ends the line too.
            typing.end()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            // On a slow machine, the offer comes after a while.
            let early = outcome.errorLines.prefix { !$0.hasPrefix("Still waiting") }
            #expect(!early.contains { $0.contains("paste") || $0.contains("standard input") }, "\(outcome)")
        }
    }

    /// The browser may have opened out of sight.
    @Test(arguments: [[], ["--no-browser"]])
    func `after a while pasting is offered, once`(more: [String]) async throws {
        try await withWaiting(["--timeout", "100"] + more, ["BROWSER": "true"]) { fixture, process, redirects, typing in
            _ = try await process.line { $0.hasPrefix("Still waiting for the browser") }
            if more.isEmpty { _ = try await process.line { $0.hasSuffix("write it to standard input.") } }
            typing.write(try await redirects.signInElsewhere() + "\n")
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(outcome.errorLines.count { $0.hasSuffix("write it to standard input.") } == 1, "\(outcome)")
        }
    }

    @Test func `wrong pastes are explained without showing them, and the right one is still accepted`() async throws {
        try await withWaiting(["--no-browser", "--verbose"]) { fixture, process, redirects, typing in
            let address = try await redirects.signInElsewhere()
            let code = try #require(URLComponents(string: address)?.queryItems?.first { $0.name == "code" }?.value)
            for (text, what) in [
                (code, "not just the code"), (redirects.url, "it starts the sign-in"),
                ("\(redirects.redirectURI)?code=\(code)&state=other", "another sign-in"),
                (address.replacing(":\(redirects.port)", with: ":1"), "another host or port"),
                (String(repeating: code, count: 20_000 / code.count), "is longer than"),
            ] {
                typing.write("\n \(text)\n")
                let line = try await process.line { $0.hasPrefix("That address can’t be used: ") && $0.contains(what) }
                #expect(!line.contains(code))
            }
            typing.write(address + "\n")
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 && !outcome.errors.contains(code) && !outcome.output.contains(code))
            #expect(fixture.provider.log(.token).map { $0.form["code"] } == [code])
        }
    }

    @Test func `a rejected pasted response ends the wait, as from the browser`() async throws {
        try await withWaiting { fixture, process, redirects, typing in
            typing.write("\(redirects.redirectURI)?state=\(redirects.state)&code=c&iss=https://evil.example\n")
            try await process.outcome().failure(1, "invalid_redirect")
            #expect(fixture.provider.count(.token) == 0 && fixture.stored.isEmpty)
        }
    }

    @Test func `the browser may come back after the input has ended`() async throws {
        try await withWaiting { fixture, process, redirects, typing in
            typing.write("x\n")
            typing.end()
            _ = try await process.line { $0.hasPrefix("That address can’t be used: ") }
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }

    @Test func `with form_post pasting is not offered`() async throws {
        try await withWaiting(["--no-browser", "--param", "response_mode=form_post"]) {
            fixture, process, redirects, typing in
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("standard input"))
        }
    }

    @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated")] as [(CInt, CInt, String)])
    func `endless input does not delay the end`(signal: CInt, status: CInt, code: String) async throws {
        try await withWaiting { fixture, process, redirects, typing in
            // Another code would say that the command's own limit had ended it.
            process.send(signal)
            try await process.outcome().failure(status, code)
        }
    }

    @Test func `standard input may be closed`() async throws {
        try await withDesk { fixture in
            let words = try ([BuiltProducts.path("sign-in")] + fixture.loginArguments(["--no-browser"]))
                .map { "'\($0)'" }.joined(separator: " ")
            let process = try fixture.start(["sh", "-c", "exec \(words) <&-"], [])
            let redirects = try await Redirects(process)
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("paste") && !outcome.errors.contains("standard input"), "\(outcome)")
        }
    }
}
