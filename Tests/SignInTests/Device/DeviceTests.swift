import AppAuth
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `sign-in device`, with a user who enters the code in another browser (RFC 8628).
@Suite(.timeLimit(.minutes(5)))
struct DeviceTests {
    @Test func `a code that is approved on another device signs in, and the session refreshes itself`() async throws {
        try await withDesk(.device) { fixture in
            let process = try fixture.device("--verbose")
            let shown = try await DeviceCode(process)
            #expect(shown.page == fixture.provider.url(.deviceVerification))
            #expect(shown.pageWithCode == "\(shown.page)?user_code=\(shown.userCode)")
            #expect(try await shown.decide("allow").contains("The device is connected"))
            let outcome = try await process.outcome()
            let result = try outcome.result()
            #expect(
                result.object?.members.map(\.name).sorted() == [
                    "access_token_expires_at", "client_id", "has_refresh_token", "id_token_claims", "issuer", "scope",
                    "token_type",
                ])
            #expect(result["issuer"]?.string == fixture.issuer)
            #expect(result["client_id"]?.string == "demo")
            #expect(result["id_token_claims"]?["sub"]?.string == "248289761001")
            #expect(result["scope"]?.string == "openid profile offline_access")
            #expect(result["token_type"]?.string == "Bearer")
            #expect(result["has_refresh_token"]?.bool == true)
            // It was no terminal: a line, and no picture.
            #expect(outcome.errorLines.contains("Waiting: 5:00 left."))
            #expect(!outcome.errors.contains("\u{1B}") && !outcome.errors.contains("\r"))
            let code = try #require(fixture.provider.log(.token).first?.form["device_code"])
            #expect(!outcome.errors.contains(code) && !outcome.output.contains(code))
            let token = try await fixture.run("token", "--json").result()["access_token"]?.string
            #expect(fixture.provider.isAlive(try #require(token)))
            #expect(fixture.stored.count == 1 && fixture.browser.visits.isEmpty)
        }
    }

    /// The member of the response that names another provider's page; none for the provider's own pages.
    @Test(arguments: [nil, "verification_uri", "verification_uri_complete"])
    func `a code is shown with where it was requested, and another provider's page with a warning`(member: String?)
        async throws
    {
        try await withDesk(.device) { fixture in
            if let member {
                fixture.provider.fault(
                    .editDocument { $0[member] = "https://other.example/device?user_code=A" }, at: .deviceAuthorization)
            }
            let process = try fixture.device()
            let host = fixture.issuer.replacing("http://", with: "")
            _ = try await process.line { $0.hasPrefix("Waiting: ") }
            process.send(SIGINT)
            let lines = try await process.outcome().errorLines.prefix { !$0.hasPrefix("Waiting: ") }
            // Last, so that a long page does not push them off the screen.
            let last = lines.suffix(member == nil ? 1 : 2)
            let sentence = try #require(last.first)
            #expect(sentence.contains("requested the code at \(host).") && sentence.contains("Never enter a code"))
            let warning = lines.first { $0.hasPrefix("Warning: ") }
            #expect(warning == (member == nil ? nil : last.last))
            if let warning { #expect(warning.contains("other.example") && warning.contains(host)) }
        }
    }

    @Test func `without json it names the signed-in user`() async throws {
        try await withDesk(.device) { fixture in
            let process = try fixture.start(["device", "--issuer", fixture.issuer, "--client-id", "demo"])
            try await DeviceCode(process).decide("allow")
            let outcome = try await process.outcome()
            #expect(outcome.status == 0)
            #expect(outcome.outputLines.first?.hasPrefix("Signed in at \(fixture.issuer) as 'Alice Liddell', ") == true)
        }
    }

    @Test func `a client with a secret authenticates, and requests the given scope`() async throws {
        try await withDesk(.device) { fixture in
            let file = fixture.home + "/secret"
            try Data(try #require(RegisteredClient.demoConfidential.secret).utf8).write(to: URL(filePath: file))
            let process = try fixture.device(
                "--client-secret-file", file, "--client-auth", "post", "--scope", "openid email",
                client: "demo-confidential")
            try await DeviceCode(process).decide("allow")
            let result = try await process.outcome().result()
            #expect(result["scope"]?.string == "openid email")
            #expect(result["id_token_claims"]?["email"]?.string == "alice@example.com")
            #expect(result["has_refresh_token"]?.bool == false)
        }
    }

    @Test func `a denial is access_denied, and an earlier session stays`() async throws {
        try await withDesk(.device) { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            let process = try fixture.device()
            try await DeviceCode(process).decide("deny")
            #expect(
                try await process.outcome().failure(1, "access_denied").contains("you or the provider denied access"))
            #expect(try fixture.session() == before)
        }
    }

    @Test func `an unused code expires`() async throws {
        try await withDesk(.device { $0.deviceCodeLifetime = 1 }) { fixture in
            let outcome = try await fixture.device().outcome()
            #expect(try outcome.failure(1, "expired_token").contains("Start a new sign-in"))
            #expect(outcome.errorLines.contains("Waiting: 0:01 left."))
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `the command's limit ends it before the code does`() async throws {
        try await withDesk(.device { $0.devicePollingInterval = 60 }) { fixture in
            let outcome = try await fixture.device("--timeout", "5").outcome()
            try outcome.failure(1, "timeout")
            #expect(outcome.errorLines.contains { $0.hasPrefix("Waiting: 0:0") }, "\(outcome)")
            #expect(fixture.provider.count(.token) == 0 && fixture.stored.isEmpty)
        }
    }

    @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated")] as [(CInt, CInt, String)])
    func `a signal ends the wait at once`(signal: CInt, status: CInt, code: String) async throws {
        // The pause would be longer than the command's own limit, which would end it by another code.
        try await withDesk(.device { $0.devicePollingInterval = 500 }) { fixture in
            let process = try fixture.device("--timeout", "120")
            _ = try await DeviceCode(process)
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `temporary errors are reported and do not end the wait`() async throws {
        try await withDesk(.device) { fixture in
            fixture.provider.fault(.reset(), at: .token)
            let process = try fixture.device()
            let shown = try await DeviceCode(process)
            let line = try await process.line { $0.contains("Trying again") }
            #expect(line.hasSuffix(". Trying again."), "\(line)")
            try await shown.decide("allow")
            _ = try await process.outcome().result()
        }
    }

    /// They could push the address and the warning off the screen.
    @Test func `the words of errors while the user decides are not shown`() async throws {
        try await withDesk(.device) { fixture in
            for code in ["server_error", "temporarily_unavailable"] {
                let error: JSON = [
                    "error": .string(code), "error_description": .string("Enter \(code) at evil.example"),
                ]
                fixture.provider.fault(.status(.serviceUnavailable, json: error), at: .token)
            }
            let process = try fixture.device()
            let shown = try await DeviceCode(process)
            try await waitUntil { fixture.provider.count(.token) == 2 }
            try await shown.decide("allow")
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(outcome.errorLines.filter { $0 == "The provider cannot answer now. Trying again." }.count == 1)
            #expect(!outcome.errors.contains("evil"), "\(outcome)")
        }
    }

    @Test func `slow_down makes the polling slower`() async throws {
        try await withDesk(.device) { fixture in
            fixture.provider.fault(.status(.badRequest, json: ["error": "slow_down"]), at: .token)
            let process = try fixture.device()
            let line = try await process.line { $0.contains("fewer requests") }
            #expect(line == "The provider wants fewer requests. Asking less often now.")
            process.send(SIGINT)
            try await process.outcome().failure(130, "interrupted")
        }
    }

    @Test func `a provider without the flow is named before anything is shown`() async throws {
        try await withDesk(.device) { fixture in
            for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.editDocument { $0["device_authorization_endpoint"] = nil }, at: endpoint)
            }
            let outcome = try await fixture.device().outcome()
            #expect(try outcome.failure(1, "invalid_metadata").contains("device_authorization_endpoint"))
            #expect(outcome.errorLines.count == 1)
        }
    }

    @Test func `a client that may not use the flow keeps the server's code`() async throws {
        try await withDesk(.device { $0.clients = [RegisteredClient(id: "demo")] }) { fixture in
            try await fixture.device().outcome().failure(1, "unauthorized_client")
        }
    }
}
