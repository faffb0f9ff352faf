import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// On failure nothing is stored, and a session that was stored before stays as it was.
@Suite(.timeLimit(.minutes(5)))
struct FailedLoginTests {
    struct Failure: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: String
        let endpoint: Endpoint
        let fault: Fault
        var arguments: [String] = []
    }

    private static let failures = [
        Failure(
            testDescription: "a refused code", code: "invalid_grant", endpoint: .token,
            fault: .status(.badRequest, json: ["error": "invalid_grant"])),
        Failure(
            testDescription: "an unknown client", code: "invalid_client", endpoint: .token,
            fault: .status(.unauthorized, json: ["error": "invalid_client"])),
        Failure(
            testDescription: "a server in trouble", code: "invalid_response", endpoint: .token,
            fault: .unavailable(retryAfter: 1)),
        Failure(testDescription: "a broken connection", code: "transport", endpoint: .token, fault: .reset()),
        Failure(
            testDescription: "another user’s ID token", code: "invalid_id_token", endpoint: .token,
            fault: .editIDToken { $0.claims["nonce"] = "another" }),
        Failure(
            testDescription: "an unsigned ID token", code: "invalid_id_token", endpoint: .token,
            fault: .editIDToken { $0.signature = .none }),
        Failure(testDescription: "no keys", code: "invalid_response", endpoint: .keys, fault: .htmlPage),
        Failure(
            testDescription: "no userinfo", code: "invalid_response", endpoint: .userInfo,
            fault: .status(.internalServerError), arguments: ["--userinfo"]),
        Failure(
            testDescription: "another user’s userinfo", code: "invalid_response", endpoint: .userInfo,
            fault: .editDocument { $0["sub"] = "another" }, arguments: ["--userinfo"]),
    ]

    @Test(arguments: failures)
    func `a failed sign-in changes nothing, and the page in the browser reports it`(failure: Failure) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(failure.fault, at: failure.endpoint)
            let first = try await fixture.start(fixture.loginArguments(failure.arguments)).outcome()
            try first.failure(1, failure.code)
            #expect(try await fixture.browser.page().contains("The sign-in did not succeed"))
            #expect(fixture.stored.isEmpty)

            try await fixture.signIn()
            let before = try fixture.session()
            fixture.provider.fault(failure.fault, at: failure.endpoint)
            try await fixture.start(fixture.loginArguments(failure.arguments)).outcome().failure(1, failure.code)
            #expect(try fixture.session() == before)
        }
    }
}
