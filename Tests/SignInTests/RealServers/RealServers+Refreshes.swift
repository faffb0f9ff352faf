import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Refreshes and revocations.
extension RealServer {
    /// Refresh and revocation.
    static let refreshes: [RealServer] =
        refusedTokens + refusedScopes + failedRevocations + [
            RealServer(
                "Microsoft Entra", 2026,
                "a refresh with the resource is refused, and without the scope it gets a token for another API",
                "its version 2 is never sent the resource, and always the scope"
            ) {
                for (issuer, isSent) in [
                    ("https://login.microsoftonline.com/0b1c/v2.0", false),
                    ("https://a.ciamlogin.com/0b1c/v2.0", false),
                    ("https://login.microsoftonline.com/0b1c", true),
                    ("https://login.microsoftonline.com.a.example/v2.0", true),
                ] {
                    var provider = try ProviderMetadata(issuer: Issuer(issuer), endpoints: [:])
                    provider.servesResource = true
                    let sent = RefreshForm().parameters(
                        .session, scope: ["api://1/read"], withheld: ["openid", "offline_access", "api://2/read"],
                        resources: ["https://r.example"], at: provider)
                    #expect(sent.resources.isEmpty != isSent, "\(issuer)")
                    #expect(sent.scope == (isSent ? nil : ["api://1/read", "openid", "offline_access"]), "\(issuer)")
                    // `.default` takes no other scope of an API.
                    let all = RefreshForm().parameters(
                        .session, scope: ["api://1/read", "api://1/.default", "openid"], resources: [], at: provider)
                    #expect(all.scope == (isSent ? nil : ["api://1/.default", "openid"]), "\(issuer)")
                    // If the scopes are refused, it goes on without them, and the other way round.
                    var error = AuthError(.init(rawValue: "invalid_scope"), .refresh, "", outcome: .refused)
                    error.server = OAuthError(
                        error: "invalid_scope", errorDescription: "AADSTS70011: The scope api://1/read is not valid.")
                    let other = RefreshForm().after(error, to: sent, wanted: .session, scope: ["api://1/read"])
                    #expect(other?.hasScope == isSent, "\(issuer)")
                }
            },
            RealServer(
                "MCP servers", 2025, "a refresh must name the resource", "it does, after a sign-in for the resource"
            ) {
                try await withResource { fixture, _, url in
                    _ = try await fixture.run("login", "--json", "--resource", url, "--scope", "openid offline_access")
                        .result()
                    _ = try await fixture.run("token", "--force-refresh", "--json").result()
                    #expect(fixture.provider.log(.token).last?.form.values("resource") == [url])
                    // RFC 8707: a server that refuses it in a refresh is asked once more without.
                    fixture.provider.fault(.oauthError("invalid_target"), at: .token, grantType: "refresh_token")
                    for count in [2, 1] {
                        let before = fixture.provider.count(.token)
                        _ = try await fixture.run("token", "--force-refresh", "--json").result()
                        #expect(fixture.provider.count(.token) == before + count)
                        #expect(fixture.provider.log(.token).last?.form.values("resource") == [])
                    }
                }
            },
            RealServer(
                "any", 2025, "the user names the resource and the issuer, and the resource was not asked",
                "no resource in the refresh"
            ) {
                try await withResource { fixture, _, url in
                    _ = try await fixture.login("--resource", url).result()
                    _ = try await fixture.run("token", "--force-refresh", "--json").result()
                    #expect(fixture.provider.log(.token).last?.form.values("resource") == [])
                }
            },
            RealServer(
                "Microsoft Entra, version 1", 2025, "a refresh without scope is refused (AADSTS90009)",
                "once more with it, and from then on"
            ) {
                try await withDesk { fixture in
                    _ = try await fixture.login().result()
                    let error: JSON = [
                        "error": "invalid_request",
                        "error_description": "AADSTS90009: Application is requesting a token for itself.",
                    ]
                    fixture.provider.fault(.status(.badRequest, json: error), at: .token, grantType: "refresh_token")
                    for count in [2, 1] {
                        let before = fixture.provider.count(.token)
                        _ = try await fixture.run("token", "--force-refresh", "--json").result()
                        #expect(fixture.provider.count(.token) == before + count)
                        let scope = try #require(fixture.provider.log(.token).last?.form["scope"])
                        #expect(scope.contains("openid") && scope.contains("profile"))
                    }
                }
            },
            RealServer(
                "Salesforce, Microsoft Entra, Keycloak", 2026,
                "invalid_grant for a moment, from another network, for want of a second factor, or behind another name",
                "the session stays, and is refreshed afterwards"
            ) {
                try await withDesk { fixture in
                    _ = try await fixture.login().result()
                    for words in [
                        "token request is already being processed", "ip restricted",
                        "AADSTS53003: Access has been blocked by Conditional Access policies.",
                        "AADSTS50076: Due to a configuration change, you must use multi-factor authentication",
                        "Invalid token issuer. Expected https://op.example/realms/a",
                    ] {
                        let error: JSON = ["error": "invalid_grant", "error_description": .string(words)]
                        fixture.provider.fault(
                            .status(.badRequest, json: error), at: .token, grantType: "refresh_token")
                        let refused = try await fixture.run("token", "--force-refresh", "--json")
                        #expect(try refused.failure(1, "invalid_grant").contains(words))
                        _ = try await fixture.run("token", "--force-refresh", "--json").result()
                    }
                }
            },
            RealServer("any", 2025, "a refresh is refused with invalid_request", "not sent again") {
                try await withDesk { fixture in
                    _ = try await fixture.login().result()
                    fixture.provider.fault(.oauthError("invalid_request"), at: .token, grantType: "refresh_token")
                    try await fixture.run("token", "--force-refresh", "--json").failure(1, "invalid_request")
                    #expect(fixture.provider.count(.token) == 2)
                }
            },
            RealServer(
                "GitHub", 2026, "a dead refresh token: 200 with bad_refresh_token", "the second time, sign in again"
            ) {
                try await withDead(.status(.ok, json: ["error": "bad_refresh_token"])) { messages in
                    #expect(!messages[0].contains("Sign in with"), "\(messages[0])")
                    #expect(messages[1].contains(". Sign in with: sign-in login"), "\(messages[1])")
                }
            },
            RealServer(
                "Atlassian", 2024, "a dead refresh token: 403 with unauthorized_client",
                "the second time, sign in again"
            ) {
                try await withDead(.oauthError("unauthorized_client", .forbidden)) { messages in
                    #expect(messages[1].contains(". Sign in with: sign-in login"), "\(messages[1])")
                }
            },
            RealServer(
                "Twitch", 2026, "a dead refresh token at the first refresh: 400 with a message",
                "the second time, the hint names the sign-in"
            ) {
                let fault = Fault.status(.badRequest, json: ["status": 400, "message": "Invalid refresh token"])
                try await withDead(fault, refreshed: false) { messages in
                    #expect(!messages[0].contains("sign in with"), "\(messages[0])")
                    let hint = ". If the provider no longer accepts the session, sign in with: sign-in login"
                    #expect(messages[1].contains(hint), "\(messages[1])")
                }
            },
            RealServer("FastAPI", 2026, "a dead refresh token: 422 with a message", "the second time, sign in again") {
                let fault = Fault.status(
                    .unprocessableContent, json: ["detail": [["msg": "The refresh token has expired"]]])
                try await withDead(fault) { messages in
                    #expect(messages[1].contains("The refresh token has expired"), "\(messages[1])")
                    #expect(messages[1].contains(". Sign in with: sign-in login"), "\(messages[1])")
                }
            },
            RealServer("Glewlwyd", 2025, "a dead refresh token: 400 without a body", "the second time, sign in again") {
                try await withDead(.status(.badRequest)) { messages in
                    #expect(messages[1].contains(". Sign in with: sign-in login"), "\(messages[1])")
                }
            },
            RealServer("a firewall", 2026, "a refresh is answered with its page and 403", "the session stays, no hint")
            {
                let page = Reply(.forbidden, type: "text/html", "<title>Blocked</title>")
                try await withDead(.respond(page)) { messages in
                    #expect(messages.allSatisfy { !$0.lowercased().contains("sign in with") }, "\(messages)")
                    #expect(messages[1].contains("the session stays"), "\(messages[1])")
                }
            },
            RealServer(
                "Google", 2026, "the access token, once the refresh token is revoked: invalid_token", "revoked, too"
            ) {
                try await withDesk { fixture in
                    for isRefused in [false, true] {
                        _ = try await fixture.login().result()
                        let logout = ["logout", "--issuer", fixture.issuer, "--client-id", "demo", "--json"]
                        // The refresh token comes first.
                        if isRefused {
                            fixture.provider.fault(.oauthError("server_error"), at: .revocation)
                        } else {
                            fixture.provider.fault(.editReply { _ in }, at: .revocation)
                        }
                        fixture.provider.fault(.oauthError("invalid_token"), at: .revocation)
                        let outcome = try await fixture.start(logout).outcome()
                        let revoked: JSON = isRefused ? [] : ["refresh_token", "access_token"]
                        #expect(try outcome.json()["revoked"] == revoked, "\(outcome)")
                    }
                }
            },
            RealServer("GitLab", 2025, "revocation is answered with 204", "revoked") {
                try await withDesk { fixture in
                    _ = try await fixture.login().result()
                    fixture.provider.fault(.editReply { $0 = Reply(.noContent) }, at: .revocation, times: nil)
                    let outcome = try await fixture.run(
                        "logout", "--issuer", fixture.issuer, "--client-id", "demo", "--json")
                    #expect(try outcome.json()["revoked"] == ["refresh_token", "access_token"], "\(outcome)")
                }
            },
        ]

    private static let failedRevocations: [RealServer] =
        ([
            ("an error", .status(.ok, json: ["error": "unsupported_token_type"]), "unsupported_token_type"),
            ("an error object", .status(.ok, json: ["error": ["message": "No such app"]]), "No such app"),
            ("a list of errors", .status(.ok, json: ["errors": [["detail": "Not now"]]]), "Not now"),
            (
                "a page",
                .editReply { ($0.headers[.contentType], $0.body) = ("text/html", Array("<!doctype html>".utf8)) },
                "found a page"
            ),
        ] as [(String, Fault, String)]).map { what, fault, message in
            RealServer("an API gateway", 2025, "revocation is answered with 200 and \(what)", "not revoked") {
                try await withDesk { fixture in
                    _ = try await fixture.login().result()
                    fixture.provider.fault(fault, at: .revocation, times: nil)
                    let outcome = try await fixture.run(
                        "logout", "--issuer", fixture.issuer, "--client-id", "demo", "--json")
                    #expect(try outcome.json()["revoked"] == [] && outcome.errors.contains(message), "\(outcome)")
                }
            }
        }

    /// Refreshes twice at a provider that refuses the refresh token, and passes on the messages.
    private static func withDead(
        _ fault: Fault, refreshed hasRefreshed: Bool = true, _ body: ([String]) throws -> Void
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let refresh = ["token", "--force-refresh", "--json"]
            if hasRefreshed { _ = try await fixture.start(refresh).outcome().result() }
            fixture.provider.fault(fault, at: .token, times: 2)
            var messages: [String] = []
            for _ in 0..<2 {
                let error = try await fixture.start(refresh).outcome().json()["error"]
                messages.append(try #require(error?["message"]?.string))
            }
            try body(messages)
            // The session stays.
            _ = try await fixture.start(refresh).outcome().result()
        }
    }
}
