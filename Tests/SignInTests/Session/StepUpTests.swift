import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// `request --step-up` at an API that may not be the session's.
@Suite(.timeLimit(.minutes(5)))
struct StepUpTests {
    private static let challenge = #"Bearer error="insufficient_scope", scope="admin payments:write""#

    private func run(
        resource: (CommandFixture) -> [String] = { _ in [] }, challenge: String = challenge,
        _ body: (_ fixture: CommandFixture, _ api: String) async throws -> Void
    ) async throws {
        try await withDesk { fixture in
            _ = try await fixture.start(fixture.loginArguments(resource(fixture))).outcome().result()
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api)
            try await body(fixture, fixture.provider.url(.api))
        }
    }

    @Test func `an API that is not the session's resource gets no token with more scopes`() async throws {
        try await run { fixture, api in
            let message = try await fixture.run("request", "GET", api, "--step-up", "--json")
                .failure(1, "confirmation_required")
            #expect(
                message.contains("the scopes 'admin payments:write'") && message.contains("--step-up-at"), "\(message)")
            #expect(fixture.provider.count(.authorization) == 1 && fixture.browser.visits.count == 1)
        }
    }

    @Test func `the question says what else the resource demands`() async throws {
        try await run { fixture, api in
            fixture.provider.clearFaults()
            let challenge =
                #"Bearer error="insufficient_user_authentication", acr_values="gold silver", max_age=60"#
            fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            let message = try await fixture.run("request", "GET", api, "--step-up", "--json")
                .failure(1, "confirmation_required")
            #expect(message.contains("the class 'gold' or 'silver', a sign-in that is at most 60 s old"), "\(message)")
        }
    }

    @Test func `an option names the resource that may demand scopes`() async throws {
        try await run { fixture, api in
            let other = try await fixture.run("request", "GET", api, "--step-up-at", api + "/more", "--json")
            try other.failure(1, "confirmation_required")
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: Self.challenge]), at: .api)
            let outcome = try await fixture.run("request", "GET", api, "--step-up-at", fixture.issuer, "--json")
            #expect(try outcome.result()["status"] == 200)
            let scope = fixture.provider.log(.authorization).last?.query["scope"]
            #expect(scope?.hasSuffix("admin payments:write") == true)
        }
    }

    /// Otherwise, the last of many scopes could be one that the user does not see.
    @Test(arguments: [(40, true), (60, false)])
    func `all scopes are shown, or none are requested`(count: Int, isShown: Bool) async throws {
        let scopes = (0..<count).map { "notes.read.\($0)" } + ["admin"]
        let challenge = #"Bearer error="insufficient_scope", scope="\#(scopes.joined(separator: " "))""#
        try await run(challenge: challenge) { fixture, api in
            let message = try await fixture.run("request", "GET", api, "--step-up", "--json")
                .failure(1, isShown ? "confirmation_required" : "invalid_response")
            #expect(message.contains(isShown ? " admin'. It is not" : "\(count + 1) scopes, too many"), "\(message)")
            #expect(message.contains("notes.read.7") == isShown)
        }
    }

    @Test(arguments: [(9, true), (60, false)])
    func `all classes are shown, and the resource to name is whole, or none are requested`(count: Int, isShown: Bool)
        async throws
    {
        let classes = (0..<count).map { "urn:class:\($0)" }.joined(separator: " ")
        try await run { fixture, api in
            fixture.provider.clearFaults()
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="\#(classes)""#
            fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            let message = try await fixture.run("request", "GET", api, "--step-up", "--json")
                .failure(1, isShown ? "confirmation_required" : "invalid_response")
            let end = isShown ? "name it with --step-up-at \(api)" : "--client-id demo"
            #expect(message.hasSuffix(end) && message.contains("urn:class:7") == isShown, "\(message)")
            #expect(message.contains("\(count) classes of authentication, too many") != isShown, "\(message)")
        }
    }

    @Test(arguments: [(400, true), (700, false)])
    func `a class, and claims, are shown to their end, or not requested`(length: Int, isShown: Bool) async throws {
        let text = String(repeating: "x", count: length)
        let claims: JSON = ["access_token": [.init("payments_\(text)"): nil]]
        let base64 = Data(claims.serialized().utf8).base64EncodedString()
        try await run { fixture, api in
            for (challenge, shown) in [
                (#"error="insufficient_user_authentication", acr_values="urn:\#(text)""#, "'urn:\(text)'"),
                (#"error="insufficient_claims", claims="\#(base64)""#, "the claims '\(claims.serialized())'"),
            ] {
                fixture.provider.clearFaults()
                fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: "Bearer " + challenge]), at: .api)
                let message = try await fixture.run("request", "GET", api, "--step-up", "--json")
                    .failure(1, isShown ? "confirmation_required" : "invalid_response")
                #expect(message.contains(shown) == isShown, "\(message)")
                #expect(message.contains(" to show. Name") != isShown, "\(message)")
            }
        }
    }

    /// What is shown must be what is requested.
    @Test(arguments: [
        ("urn:x", true), ("urn:x\u{200B}y", false), ("urn:x'y", false), ("urn:x\\y", false), ("urn:x\u{E0126}", false),
        ("urn:x\u{34F}", false),
    ])
    func `a class that cannot be shown as it is, is not requested`(value: String, isShown: Bool) async throws {
        try await run { fixture, api in
            fixture.provider.clearFaults()
            let quoted = value.replacing("\\", with: "\\\\")
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="\#(quoted)""#
            fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            try await fixture.run("request", "GET", api, "--step-up", "--json")
                .failure(1, isShown ? "confirmation_required" : "invalid_response")
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `on a terminal, the question names who demands which scopes`(isOwn: Bool, agrees: Bool) async throws {
        try await run { fixture in
            isOwn ? ["--resource", fixture.provider.url(.api)] : []
        } _: { fixture, api in
            let terminal = try Pseudoterminal()
            let process = try fixture.start(["request", "GET", api, "--step-up", "--json"], input: terminal.input)
            let host = fixture.issuer.replacing("http://", with: "")
            let demand = "\(host)/api/echo requires another sign-in: the scopes 'admin payments:write'."
            _ = try await process.line { $0 == demand }
            let question = try await process.line { $0.contains("Sign in again for it?") }
            #expect(question.contains("not a resource of this session") == !isOwn)
            try await terminal.wait(for: .bytes)
            terminal.type(agrees ? "y\n" : "n\n")
            let outcome = try await process.outcome()
            #expect(try outcome.json()["status"] == (agrees ? 200 : 403))
            #expect(fixture.provider.count(.authorization) == (agrees ? 2 : 1))
            if !agrees { #expect(outcome.errorLines.last == "You did not sign in again.") }
        }
    }

    @Test(arguments: [true, false])
    func `a step-up does not take the refresh token away`(bringsOne: Bool) async throws {
        try await run { fixture, api in
            if !bringsOne {
                fixture.provider.fault(
                    .editDocument { $0["refresh_token"] = nil }, at: .token, grantType: "authorization_code")
            }
            let before = try fixture.record().id
            let outcome = try await fixture.run("request", "GET", api, "--step-up-at", api, "--json")
            if bringsOne {
                #expect(try outcome.result()["status"] == 200)
            } else {
                #expect(try outcome.failure(1, "session_replaced").contains("no refresh token"))
            }
            let after = try fixture.record()
            #expect(after.hasRefreshToken && (after.id != before) == bringsOne)
        }
    }
}
