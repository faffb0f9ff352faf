import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// An error that an option can mend names the option.
@Suite(.timeLimit(.minutes(5)))
struct HintTests {
    @Test func `invalid_client without a secret names the option for one`() async throws {
        try await withDesk { fixture in
            let refusal = Fault.status(.unauthorized, json: ["error": "invalid_client"])
            fixture.provider.fault(refusal, at: .token)
            #expect(try await fixture.login().failure(1, "invalid_client").contains("--client-secret-file"))
            let path = "\(fixture.home)/secret"
            try Data("s3cret: 100% äß+/= and thirty-two".utf8).write(to: URL(filePath: path))
            fixture.provider.fault(refusal, at: .token)
            let message = try await fixture.login("--client-secret-file", path, client: "demo-confidential")
                .failure(1, "invalid_client")
            #expect(!message.contains("--client-secret-file"), "\(message)")
        }
    }

    @Test func `a provider that requires pushed requests names the option`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            let description = "Pushed%20Authorization%20Request%20must%20be%20used"
            try await redirects.comeBack(
                "state=\(redirects.state)&error=invalid_request&error_description=\(description)&iss=\(fixture.issuer)")
            let message = try await process.outcome().failure(1, "invalid_request")
            #expect(message.contains("--par"), "\(message)")
        }
    }

    @Test func `a provider without DPoP is reported before the browser opens`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["dpop_signing_alg_values_supported"] = nil }, at: .openIDConfiguration)
            fixture.provider.fault(.editDocument { $0["token_type"] = "Bearer" }, at: .token)
            let outcome = try await fixture.login("--dpop")
            let message = try outcome.failure(1, "invalid_response")
            #expect(message.contains("leave out --dpop"), "\(message)")
            let notice = try #require(outcome.errorLines.firstIndex { $0.contains("does not mention DPoP") })
            #expect(notice < (outcome.errorLines.firstIndex { $0.hasPrefix("  http") } ?? 0), "\(outcome)")
            _ = try await fixture.login("--dpop").result()
        }
    }

    @Test(arguments: [
        ("--client-secret-file", ["login", "--client-id", "demo"]),
        ("--initial-access-token-file", ["register", "--redirect-uri", "http://127.0.0.1/a"]),
        ("--software-statement-file", ["register", "--redirect-uri", "http://127.0.0.1/a"]),
        ("--subject-token-file", ["exchange", "--client-id", "demo"]),
    ])
    func `a file that cannot be read is named with its option`(option: String, line: [String]) async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/none"
            let outcome = try await fixture.start(line + ["--issuer", fixture.issuer, option, path, "--json"]).outcome()
            let message = try outcome.failure(1, "invalid_configuration")
            #expect(message == "\(option): \(path): No such file or directory")
        }
    }

    /// A line that is wrong in one respect, and what its error must say. Nothing listens at port 9.
    private static let mistakes: [(line: String, expected: String)] = [
        ("login --redirect-port 80000", "expected a number from 0 to 65535"),
        ("login --timeout 0", "expected more than 0 and at most 1000000"),
        ("login --timeout 1000000.5", "expected more than 0 and at most 1000000"),
        ("login --max-age -1", "expected a number from 0 to 4294967295"),
        ("login --preset azure", "expected google, github or entra:TENANT"),
        ("login --store file:~/x", "use $HOME, or ./~ for that name"),
        ("login --issuer https://127.0.0.1:9 --client-id x --client-key none", "--client-key: "),
        ("login --token-endpoint https://127.0.0.1:9/ --client-id x", "'; name it with --authorization-endpoint"),
        ("device --token-endpoint https://127.0.0.1:9/ --client-id x", "'; name it with --device-endpoint"),
        ("discover https://op.example.org", "could not connect to the proxy for op.example.org:443: "),
        ("token", "and --client-id. SIGN_IN_PROFILE names it"),
    ]

    @Test(arguments: mistakes)
    fileprivate func `a mistake is named with what was expected`(line: String, expected: String) async throws {
        try await withDesk { fixture in
            let variables = ["SIGN_IN_PROFILE": "none", "https_proxy": "http://127.0.0.1:9"]
            let outcome = try await fixture.start(line.split(separator: " ").map(String.init), variables).outcome()
            #expect(outcome.errors.contains(expected), "\(outcome)")
        }
    }

    @Test func `with nothing stored, the sign-in that asks for the rest is named`() async throws {
        try await withDesk { fixture in
            for (options, words) in [
                ([], ""), (["--issuer", fixture.issuer], " --issuer \(fixture.issuer) --client-id ID"),
                (["--client-id", "demo"], " --client-id demo"),
            ] as [([String], String)] {
                let message = try await fixture.start(["token", "--json"] + options).outcome()
                    .failure(1, "sign_in_required")
                #expect(message.hasSuffix(". Sign in with: sign-in login\(words)"), "\(message)")
            }
        }
    }

    @Test func `401 from userinfo names what helps, if anything does`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.status(.unauthorized), at: .userInfo, times: nil)
            func refusal(_ line: [String]) async throws -> String {
                try await fixture.start(line).outcome().failure(1, "invalid_response")
            }
            let login = fixture.loginArguments([])
            #expect(try await refusal(login + ["--userinfo"]).hasSuffix("sign in without --userinfo"))
            let without = try await refusal(login + ["--userinfo", "--scope", "profile"])
            #expect(without.hasSuffix("with openid in --scope"), "\(without)")
            // A token that cannot be refreshed may be one that the provider has revoked.
            _ = try await fixture.start(login + ["--scope", "openid"]).outcome().result()
            let revoked = try await refusal(["userinfo", "--json"])
            let line = try #require(revoked.advised(by: ". Sign in with: "), "\(revoked)")
            _ = try await fixture.start(["sh", "-c", line], []).outcome()
            _ = try await fixture.start(login).outcome().result()
            let renewed = try await refusal(["userinfo", "--json"])
            #expect(!renewed.contains("Sign in with") && !renewed.contains("openid"), "\(renewed)")
        }
    }
}
