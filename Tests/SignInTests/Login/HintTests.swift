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

    @Test func `401 from userinfo names the scope that its token needs`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.status(.unauthorized), at: .userInfo, times: nil)
            let message = try await fixture.login("--userinfo").failure(1, "invalid_response")
            #expect(message.contains("openid"), "\(message)")
            _ = try await fixture.login().result()
            #expect(
                try await fixture.run("userinfo", "--json").failure(1, "invalid_response").contains("sign in again"))
        }
    }
}
