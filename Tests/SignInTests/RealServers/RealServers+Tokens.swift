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
    /// The token response of a sign-in.
    static let tokens: [RealServer] = [statuses, members, gateways, idTokens, lifetimes, hints, clientErrors].flatMap(
        \.self)

    private static let members: [RealServer] = [
        RealServer("Canaille", 2025, "auth_time has a fraction", "accepted") {
            try await withDesk { fixture in
                let time = try JSON(parsing: Array("\(Int(Date().timeIntervalSince1970) - 9).5".utf8))
                fixture.provider.fault(.editIDToken { $0.claims["auth_time"] = time }, at: .token)
                _ = try await fixture.login("--max-age", "3600").result()
                fixture.provider.fault(.editIDToken { $0.claims["auth_time"] = "now" }, at: .token)
                try await fixture.login("--max-age", "3600").failure(1, "invalid_id_token")
            }
        },
        RealServer("LinkedIn", 2026, "token_type is missing", "it is Bearer, unless a key is bound") {
            try await withDesk { fixture in
                fixture.provider.fault(.editDocument { $0["token_type"] = nil }, at: .token, times: nil)
                _ = try await fixture.login().result()
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
                try await fixture.login("--dpop").failure(1, "invalid_response")
            }
        },
        RealServer("Apigee", 2026, "token_type is BearerToken", "it is Bearer, unless a key is bound") {
            try await withDesk { fixture in
                fixture.provider.fault(.editDocument { $0["token_type"] = "BearerToken" }, at: .token, times: nil)
                _ = try await fixture.login().result()
                try await fixture.login("--dpop").failure(1, "invalid_response")
            }
        },
        RealServer("CAS", 2026, "the token response has the type of a text, of a page, or none", "accepted") {
            try await withDesk { fixture in
                for type in ["text/plain", "text/html; charset=utf-8", nil] {
                    fixture.provider.fault(.editReply { $0.headers[.contentType] = type }, at: .token, times: nil)
                    _ = try await fixture.login().result()
                    fixture.provider.clearFaults()
                }
            }
        },
        RealServer("any", 2026, "token_type is another one, or the response is a page", "refused") {
            try await withDesk { fixture in
                fixture.provider.fault(.editDocument { $0["token_type"] = "mac" }, at: .token)
                try await fixture.login().failure(1, "invalid_response")
                fixture.provider.fault(.htmlPage, at: .token)
                try await fixture.login().failure(1, "invalid_response")
            }
        },
        RealServer("Twitch", 2026, "scope is an array", "accepted") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["scope"] = ["openid", "offline_access"] }, at: .token, times: nil)
                #expect(try await fixture.login().result()["scope"] == "openid offline_access")
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
            }
        },
        RealServer("several servers", 2026, "expires_in is in milliseconds, or the largest number", "accepted") {
            try await withDesk { fixture in
                for lifetime in [31_536_000_000, 9_223_372_036_854_775_807] as [JSON] {
                    fixture.provider.fault(.editDocument { $0["expires_in"] = lifetime }, at: .token, times: nil)
                    _ = try await fixture.login().result()
                    _ = try await fixture.run("token", "--force-refresh", "--json").result()
                }
            }
        },
        RealServer("a server on IIS", 2026, "a byte order mark before each document", "ignored") {
            try await withDesk { fixture in
                for endpoint in [.openIDConfiguration, .keys, .token] as [LocalProvider.Endpoint] {
                    fixture.provider.fault(
                        .editReply { $0.body = [0xEF, 0xBB, 0xBF] + $0.body }, at: endpoint, times: nil)
                }
                _ = try await fixture.login().result()
                #expect(fixture.provider.count(.oauthMetadata) == 0)
            }
        },
    ]

    private static let statuses: [RealServer] = [
        RealServer("an API gateway", 2025, "the token response has the status 201", "accepted") {
            try await withDesk { fixture in
                fixture.provider.fault(.editReply { $0.status = .created }, at: .token, times: nil)
                _ = try await fixture.login().result()
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
            }
        },
        RealServer("any", 2025, "the token response has the status 202", "refused") {
            try await withDesk { fixture in
                fixture.provider.fault(.editReply { $0.status = .accepted }, at: .token)
                try await fixture.login().failure(1, "invalid_response")
            }
        },
    ]

    private static let gateways: [RealServer] = [
        RealServer(
            "a gateway", 2026, "a page with 403, or a redirect, in place of an answer to a poll", "the wait goes on"
        ) {
            let page = Reply(.forbidden, type: "text/html", "<title>Blocked</title>")
            for fault in [.respond(page), .htmlPage, .redirect(to: "https://portal.example/")] as [Fault] {
                try await withDesk(.device) { fixture in
                    fixture.provider.fault(fault, at: .token)
                    let process = try fixture.device()
                    try await DeviceCode(process).decide("allow")
                    _ = try await process.outcome().result()
                }
            }
        },
        RealServer("Twitch", 2026, "a poll: 400, with authorization_pending as the message", "the wait goes on") {
            try await withDesk(.device) { fixture in
                let answer: JSON = ["status": 400, "message": "authorization_pending"]
                fixture.provider.fault(.status(.badRequest, json: answer), at: .token)
                let process = try fixture.device()
                try await DeviceCode(process).decide("allow")
                _ = try await process.outcome().result()
            }
        },
        RealServer("a server on PHP", 2026, "an OAuth error with the type of a page", "it is the error") {
            for status in [.ok, .forbidden] as [HTTPResponse.Status] {
                try await withDesk { fixture in
                    try await fixture.signIn()
                    let reply = Reply(status, type: "text/html", #"{"error":"invalid_grant"}"#)
                    fixture.provider.fault(.respond(reply), at: .token)
                    let refresh = try await fixture.run("token", "--force-refresh", "--json")
                    try refresh.failure(1, "sign_in_required")
                }
            }
        },
        RealServer("any", 2026, "a status without a page, or invalid JSON, in place of an answer to a poll", "refused")
        {
            for fault in [.status(.forbidden), .status(.badRequest), .status(.ok, json: ["a": 1])] as [Fault] {
                try await withDesk(.device) { fixture in
                    fixture.provider.fault(fault, at: .token)
                    let process = try fixture.device()
                    try await DeviceCode(process).decide("allow")
                    try await process.outcome().failure(1, "invalid_response")
                }
            }
        },
        RealServer(
            "several servers", 2026, "verification_uri_complete or interval of a device cannot be used", "left out"
        ) {
            try await withDesk(.device) { fixture in
                for (name, value) in [("verification_uri_complete", "/v?c=1"), ("interval", "5s")] as [(String, JSON)] {
                    fixture.provider.fault(.editDocument { $0[name] = value }, at: .deviceAuthorization)
                    let process = try fixture.device()
                    let page = try await process.line { $0.hasSuffix("/device") }
                    let code = try await process.line { $0.wholeMatch(of: /\s+Code: [A-Z]{4}-[A-Z]{4}/) != nil }
                    #expect(page.contains(fixture.issuer) && !code.isEmpty)
                    process.send(SIGTERM)
                    let outcome = try await process.outcome()
                    #expect(!outcome.errors.contains("/v?c=1"), "\(outcome)")
                }
            }
        },
    ]

    private static let idTokens: [RealServer] = [
        RealServer("Oracle IDCS", 2025, "aud has an API besides the client, azp is the client", "--trusted-audience") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editIDToken { draft in
                        draft.claims["aud"] = ["demo", "https://api.example"]
                        draft.claims["azp"] = "demo"
                    }, at: .token, times: nil)
                let message = try await fixture.login().failure(1, "invalid_id_token")
                #expect(message.contains("--trusted-audience"), "\(message)")
                _ = try await fixture.login("--trusted-audience", "https://api.example").result()
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
                let other = try await fixture.login("--trusted-audience", "https://other.example")
                try other.failure(1, "invalid_id_token")
            }
        },
        RealServer(
            "Zitadel", 2026, "aud gets an API at a refresh, azp is the client",
            "the access token is used, and status names --trusted-audience"
        ) {
            try await withDesk { fixture in
                try await fixture.signIn()
                fixture.provider.fault(
                    .editIDToken { draft in
                        draft.claims["aud"] = ["demo", "https://api.example"]
                        draft.claims["azp"] = "demo"
                    }, at: .token)
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
                let status = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
                #expect(status?["id_token_error"]?.string?.hasSuffix("name it with --trusted-audience") == true)
            }
        },
        RealServer("any", 2025, "aud has an API besides the client, azp is missing", "refused, without a hint") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editIDToken { draft in
                        draft.claims["aud"] = ["demo", "https://api.example"]
                        draft.claims["azp"] = nil
                    }, at: .token, times: nil)
                let message = try await fixture.login().failure(1, "invalid_id_token")
                #expect(!message.contains("--trusted-audience"), "\(message)")
                let trusting = try await fixture.login("--trusted-audience", "https://api.example")
                #expect(try trusting.failure(1, "invalid_id_token").contains("azp"))
            }
        },
        RealServer("a proxy", 2025, "Date is an hour behind, iat agrees with the local clock", "accepted") {
            try await withDesk { fixture in
                fixture.provider.fault(.editReply { $0.headers[.date] = date(-3600) }, at: .token, times: nil)
                _ = try await fixture.login().result()
            }
        },
        RealServer("any", 2025, "Date agrees with the local clock, iat is an hour ahead", "refused") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editIDToken { $0.claims["iat"] = .number(.init(Int(Date().timeIntervalSince1970) + 3600)) },
                    at: .token)
                try await fixture.login().failure(1, "clock_skew")
            }
        },
        RealServer("any", 2025, "Date is an hour behind, the token of two hours ago has expired", "refused") {
            try await withDesk { fixture in
                let now = Int(Date().timeIntervalSince1970)
                fixture.provider.fault(
                    .all([
                        .editIDToken { draft in
                            draft.claims["iat"] = .number(.init(now - 9000))
                            draft.claims["exp"] = .number(.init(now - 7200))
                        }, .editReply { $0.headers[.date] = date(-3600) },
                    ]), at: .token)
                try await fixture.login().failure(1, "clock_skew")
            }
        },
    ]

    private static func date(_ offset: TimeInterval) -> String {
        let format = DateFormatter()
        (format.locale, format.timeZone) = (Locale(identifier: "en_US_POSIX"), TimeZone(identifier: "GMT"))
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date() + offset)
    }

    private static let lifetimes: [RealServer] = ([0, -1, -3600] as [JSON]).map { lifetime in
        RealServer("a server of OAuth 1 style", 2025, "expires_in is \(lifetime)", "one refresh for each use") {
            try await withDesk { fixture in
                fixture.provider.fault(.editDocument { $0["expires_in"] = lifetime }, at: .token, times: nil)
                _ = try await fixture.login().result()
                for count in 2...3 {
                    let token = try await fixture.run("token", "--json").result()
                    #expect(token["access_token"]?.string?.isEmpty == false)
                    #expect(fixture.provider.count(.token) == count)
                }
            }
        }
    }

    private static let hints: [RealServer] = [
        RealServer("JupyterHub", 2025, "invalid_client with Basic", "the hint names --client-auth post, which helps") {
            var configuration = LocalProvider.Configuration.demo
            configuration.clients.append(
                RegisteredClient(id: "posting", secret: "s3cret", redirectURIs: [.anyLoopback], authentication: [.post])
            )
            try await withDesk(configuration) { fixture in
                try Data("s3cret".utf8).write(to: URL(filePath: fixture.home + "/secret"))
                let options = ["--client-secret-file", fixture.home + "/secret"]
                let line = fixture.loginArguments(options, client: "posting")
                let message = try await fixture.start(line).outcome().failure(1, "invalid_client")
                #expect(message.contains("--client-auth post"), "\(message)")
                _ = try await fixture.start(line + ["--client-auth", "post"]).outcome().result()
                fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
                let refused = try await fixture.start(line + ["--client-auth", "post"]).outcome()
                #expect(try !refused.failure(1, "invalid_client").contains("--client-auth"))
            }
        },
        RealServer(
            "Keycloak", 2026, "offline tokens are not allowed: not_allowed, at the token endpoint",
            "login goes on without offline_access, and says so"
        ) {
            try await withDesk { fixture in
                fixture.provider.fault(.oauthError("not_allowed"), at: .token)
                #expect(try await fixture.login().result()["scope"] == "openid profile")
                fixture.provider.fault(.oauthError("not_allowed"), at: .token)
                try await fixture.login("--scope", "openid offline_access").failure(1, "not_allowed")
            }
        },
        RealServer(
            "Keycloak", 2026, "the client must use DPoP by now: invalid_request, at the sign-in and at a refresh",
            "the hint names --dpop"
        ) {
            try await withDesk { fixture in
                let refused: JSON = ["error": "invalid_request", "error_description": "DPoP proof is missing"]
                let fault = Fault.status(.badRequest, json: refused)
                fixture.provider.fault(fault, at: .token)
                #expect(try await fixture.login().failure(1, "invalid_request").hasSuffix("; use --dpop"))
                _ = try await fixture.login().result()
                fixture.provider.fault(fault, at: .token)
                let message = try await fixture.run("token", "--force-refresh", "--json").failure(1, "invalid_request")
                #expect(message.hasSuffix("; sign in again with --dpop"), "\(message)")
            }
        },
        RealServer("Slack", 2026, "200 with bad_client_secret, for Basic", "the hint names --client-auth post") {
            try await withDesk { fixture in
                try Data("s3cret".utf8).write(to: URL(filePath: fixture.home + "/secret"))
                let options = ["--client-secret-file", fixture.home + "/secret"]
                func refusal(_ more: [String]) async throws -> String {
                    let refused: JSON = ["ok": false, "error": "bad_client_secret"]
                    fixture.provider.fault(.respond(.json(refused)), at: .token)
                    let line = fixture.loginArguments(options + more)
                    return try await fixture.start(line).outcome().failure(1, "bad_client_secret")
                }
                #expect(try await refusal([]).hasSuffix("use --client-auth post"))
                #expect(try await !refusal(["--client-auth", "post"]).contains("--client-auth"))
            }
        },
        RealServer("Azure AD B2C", 2026, "only an ID token, unless --scope has an API's", "the hint names --scope") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["access_token"] = nil }, at: .token)
                let message = try await fixture.login().failure(1, "invalid_response")
                #expect(message.contains("found only an ID token; add a scope of an API to --scope"), "\(message)")
                fixture.provider.fault(
                    .editDocument { ($0["access_token"], $0["id_token"]) = (nil, nil) }, at: .token)
                let neither = try await fixture.login().failure(1, "invalid_response")
                #expect(!neither.contains("--scope"), "\(neither)")
            }
        },
        RealServer("django-allauth", 2025, "a device sign-in without an ID token", "the hint names --scope") {
            try await withDesk(.device) { fixture in
                func device(_ options: String...) async throws -> Outcome {
                    fixture.provider.fault(
                        .editDocument { $0["id_token"] = nil }, at: .token,
                        grantType: "urn:ietf:params:oauth:grant-type:device_code", times: nil)
                    let process = try fixture.start(
                        ["device", "--json", "--issuer", fixture.issuer, "--client-id", "demo"] + options)
                    try await DeviceCode(process).decide("allow")
                    return try await process.outcome()
                }
                let message = try await device().failure(1, "invalid_id_token")
                #expect(message.contains("--scope") && message.contains("without openid"), "\(message)")
                _ = try await device("--scope", "profile offline_access").result()
            }
        },
        RealServer(
            "django-allauth", 2025, "userinfo needs openid, for which a device sign-in gets no ID token",
            "the hints lead to sign-in login, which gets one"
        ) {
            try await withDesk(.device) { fixture in
                fixture.provider.fault(
                    .editDocument { $0["id_token"] = nil }, at: .token,
                    grantType: "urn:ietf:params:oauth:grant-type:device_code", times: nil)
                let first = try fixture.device("--scope", "profile email")
                try await DeviceCode(first).decide("allow")
                _ = try await first.outcome().result()
                let message = try await fixture.run("userinfo", "--json").failure(1, "insufficient_scope")
                let line = try #require(message.advised(by: ". Sign in with: "))
                let device = try fixture.start(["sh", "-c", "exec \(line) --json"], [])
                try await DeviceCode(device).decide("allow")
                let refused = try await device.outcome().failure(1, "invalid_id_token")
                let login = try #require(refused.advised(by: "or sign in with the browser: "), "\(refused)")
                _ = try await fixture.start(["sh", "-c", login], []).outcome().result()
                #expect(try await fixture.run("userinfo", "--json").result()["email"] == "alice@example.com")
                // In the browser, there is no other way than without openid.
                fixture.provider.fault(.editDocument { $0["id_token"] = nil }, at: .token)
                let missing = try await fixture.login().failure(1, "invalid_id_token")
                #expect(missing.hasSuffix("use --scope without openid"), "\(missing)")
            }
        },
    ]
}
