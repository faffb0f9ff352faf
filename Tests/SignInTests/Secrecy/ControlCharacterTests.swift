import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// No control character from a server reaches a terminal.
@Suite(.timeLimit(.minutes(5)))
struct ControlCharacterTests {
    /// Sets a terminal's title, clears it, continues in the eight-bit way, and reverses the direction of text.
    private static let evil = "a\u{1B}]0;owned\u{07}\u{1B}[2J\u{9B}31m\r\n\r\n\u{202E}z"

    private func expectClean(_ outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
        let scalars = (outcome.output + outcome.errors).unicodeScalars
        let bad = scalars.filter { scalar in
            scalar != "\n" && [.control, .format].contains(scalar.properties.generalCategory)
        }
        #expect(bad.isEmpty, "\(outcome)", sourceLocation: sourceLocation)
    }

    @Test(arguments: [[], ["--json"]])
    func `claims are cleaned`(form: [String]) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editIDToken { $0.claims["name"] = .string(Self.evil) }, at: .token)
            fixture.provider.fault(.editDocument { $0["nickname"] = .string(Self.evil) }, at: .userInfo, times: nil)
            let login = ["login", "--issuer", fixture.issuer, "--client-id", "demo", "--userinfo"] + form
            let outcome = try await fixture.start(login).outcome()
            #expect(outcome.status == 0 && outcome.output.contains("owned"))
            expectClean(outcome)
            #expect(outcome.output.contains(form.isEmpty ? "\n" + #"nickname: "a\u001b]0;owned"# : "nickname"))
            let userinfo = try await fixture.start(["userinfo"] + form).outcome()
            #expect(userinfo.status == 0 && userinfo.output.contains("owned"))
            expectClean(userinfo)
            if !form.isEmpty { #expect(try userinfo.json()["nickname"]?.string == Self.evil) }
        }
    }

    @Test(arguments: [[], ["--json"]])
    func `metadata is cleaned, also the names in it`(form: [String]) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0[Self.evil] = .string(Self.evil) }, at: .openIDConfiguration)
            let outcome = try await fixture.start(["discover", fixture.issuer] + form).outcome()
            #expect(outcome.status == 0 && outcome.output.contains("owned"))
            expectClean(outcome)

            fixture.provider.fault(.editDocument { $0["issuer"] = .string(Self.evil) }, at: .openIDConfiguration)
            let refused = try await fixture.start(["discover", fixture.issuer] + form).outcome()
            #expect(refused.status == 1 && refused.errors.contains("owned") && refused.errorLines.count == 1)
            expectClean(refused)
        }
    }

    @Test(arguments: [[], ["--json"]])
    func `a provider's error description is cleaned and cut to a line`(form: [String]) async throws {
        try await withDesk { fixture in
            let words = Self.evil + String(repeating: "long ", count: 1000)
            let json: JSON = ["error": .string("no\u{1B}[31m\n"), "error_description": .string(words)]
            fixture.provider.fault(.status(.badRequest, json: json), at: .token)
            let login = ["login", "--issuer", fixture.issuer, "--client-id", "demo"] + form
            let outcome = try await fixture.start(login).outcome()
            #expect(outcome.status == 1 && outcome.errors.contains("owned") && outcome.errors.utf8.count < 2000)
            #expect(outcome.errorLines.count { $0.hasPrefix("sign-in: ") } == 1)
            expectClean(outcome)
        }
    }

    @Test func `redirect parameters are cleaned`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            try await redirects.comeBack(
                "state=\(redirects.state)&iss=\(fixture.issuer)&error=access_denied%1B%5B31m&error_description=a%1B%5B2J%0Ab"
            )
            let outcome = try await process.outcome()
            let message = try outcome.failure(1, "access_denied [31m")
            #expect(message.contains("a [2J b"), "\(message)")
            expectClean(outcome)
        }
    }

    @Test func `an API's response is cleaned on a terminal, and left as it is elsewhere`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let body = Reply(.ok, type: "text/plain", Self.evil)
            fixture.provider.fault(.respond(body), at: .api, times: nil)
            let arguments = ["request", "GET", fixture.provider.url(.api)]
            #expect(try await fixture.start(arguments).outcome().output == Self.evil)

            let command = (["'\(try BuiltProducts.path("sign-in"))'"] + arguments).joined(separator: " ")
            let terminal = try await fixture.start(["script", "-qec", command, "/dev/null"], []).outcome()
            #expect(terminal.output.contains("owned"))
            let text = terminal.output.replacing("\r\n", with: "\n")
            #expect(text.contains("\n\n"))
            expectClean(Outcome(status: 0, output: Array(text.utf8), errors: []))
        }
    }
}
