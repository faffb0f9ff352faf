import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

extension RealServer {
    /// The redirect.
    static let responses: [RealServer] =
        refusedDefaults + refusedPrompts + [
            RealServer("a proxy of two providers", 2025, "error_description twice", "the error is shown") {
                try await withDesk { fixture in
                    try await withRequest(at: fixture) { request in
                        let query =
                            "state=\(request.state.reveal())&error=access_denied&error_description=a&error_description=b"
                        let iss = "&iss=\(FormParameters.encode(fixture.issuer))"
                        #expect(refusal { try request.response(fromQuery: query + iss) }?.code == .accessDenied)
                        for double in ["&error=access_denied", iss] {
                            let error = refusal { try request.response(fromQuery: query + iss + double) }
                            #expect(error?.code == .invalidRedirect, "\(double)")
                        }
                        let code = "state=\(request.state.reveal())&code=a&x=1&x=2" + iss
                        #expect(refusal { try request.response(fromQuery: code) }?.code == .invalidRedirect)
                    }
                }
            },
            RealServer(
                "django-oauth-toolkit", 2026, "iss is announced, and missing beside an error",
                "refused, and the error is shown; login goes on with less, as if it were verified"
            ) {
                try await withDesk { fixture in
                    fixture.provider.fault(
                        .redirectedError("invalid_scope", nil, count: 1), at: .interaction, times: nil)
                    #expect(try await fixture.login().result()["scope"] == "openid profile")
                    fixture.provider.clearFaults()
                    try await withRequest(at: fixture) { request in
                        let query = "state=\(request.state.reveal())&error=invalid_scope&error_description=nope"
                        let error = refusal { try request.response(fromQuery: query) }
                        #expect(error?.code == .invalidRedirect)
                        #expect(
                            error?.message.hasSuffix("The response says: invalid_scope: 'nope'") == true,
                            "\(error as Any)")
                        let foreign = refusal { try request.response(fromQuery: "state=x" + query.dropFirst(6)) }
                        #expect(foreign == nil)
                    }
                }
            },
        ]

    private static let refusedPrompts: [RealServer] =
        ([
            ("Microsoft Entra", 2026, "access_denied", "access_denied&error_description=AADSTS90094:+x"),
            ("Fief", 2025, "login_required", "login_required"),
            ("a provider without a page for consent", 2026, "consent_required", "consent_required"),
        ] as [(String, Int, String, String)]).map { name, year, code, response in
            RealServer(
                name, year,
                "prompt=consent is refused (\(response.prefix { $0 != "&" })\(name == "Microsoft Entra" ? ", AADSTS90094" : ""))",
                "login goes on without it, and says so; a prompt of --prompt stays"
            ) {
                try await withDesk { fixture in
                    func refuse(_ response: String) {
                        fixture.provider.clearFaults()
                        fixture.provider.fault(
                            .redirectedError(response, fixture.issuer, count: 1), at: .interaction, times: nil)
                    }
                    refuse(response)
                    let outcome = try await fixture.login()
                    _ = try outcome.result()
                    #expect(outcome.errors.contains("Signing in again without prompt=consent"), "\(outcome)")
                    #expect(fixture.provider.log(.authorization).map { $0.query["prompt"] } == ["consent", nil])
                    refuse(response)
                    try await fixture.login("--prompt", "consent").failure(1, code)
                    // Without offline_access, the request has no prompt that could be taken back.
                    refuse(response)
                    try await fixture.login("--scope", "openid").failure(1, code)
                    guard code == "access_denied" else { return }
                    refuse(code)
                    try await fixture.login().failure(1, code)
                }
            }
        }

    /// The scopes that the provider refuses, and those of the sign-in that succeeds.
    private static let refusedDefaults: [RealServer] =
        ([
            (
                "a provider that lists scopes which this client may not have", "invalid_scope", ["offline_access"],
                "openid profile"
            ),
            (
                "a provider that lists scopes which this client may not have", "invalid_scope",
                ["offline_access", "profile"], "openid"
            ),
            (
                "Okta", "access_denied&error_description=Policy+evaluation+failed+for+this", ["offline_access"],
                "openid profile"
            ),
        ] as [(String, String, [String], String)]).map { name, response, refused, scope in
            let code = String(response.prefix { $0 != "&" })
            return RealServer(
                name, 2026, "the default scope is refused (\(code)) for \(refused.joined(separator: ", "))",
                "login goes on with \(scope), and says so; a scope of --scope stays"
            ) {
                try await withDesk { fixture in
                    fixture.provider.fault(
                        .redirectedError(response, fixture.issuer, count: refused.count), at: .interaction,
                        times: nil)
                    let outcome = try await fixture.login()
                    #expect(try outcome.result()["scope"]?.string == scope, "\(outcome)")
                    #expect(
                        outcome.errors.contains(
                            "Signing in again with the scope '\(scope)'. Another one can be named with"))
                    fixture.provider.clearFaults()
                    fixture.provider.fault(
                        .redirectedError(response, fixture.issuer), at: .interaction, times: nil)
                    try await fixture.login("--scope", "openid offline_access").failure(1, code)
                }
            }
        }

    private static func withRequest(
        at fixture: CommandFixture, _ body: (AuthorizationRequest) async throws -> Void
    ) async throws {
        let provider = try await Discovery.onLoopback.metadata(for: Issuer(fixture.issuer))
        try await body(
            AuthorizationRequest(
                client: Client(id: "demo", provider: provider), redirectURI: "http://127.0.0.1:9/callback"))
    }
}

extension Fault {
    /// Sends the browser back with an error in place of the code, so many times.
    fileprivate static func redirectedError(_ code: String, _ issuer: String?, count: Int = .max) -> Fault {
        let rest = LockedValue(count)
        return .editReply { reply in
            guard let location = reply.headers[.location], let url = try? SecureURL(location), let query = url.query,
                let state = FormParameters(decoding: query)?.values("state").first,
                rest.withLock({ rest in
                    defer { rest -= 1 }
                    return rest > 0
                })
            else { return }
            reply.headers[.location] =
                String(location.prefix { $0 != "?" })
                + "?error=\(code)&state=\(state)" + (issuer.map { "&iss=\(FormParameters.encode($0))" } ?? "")
        }
    }
}
