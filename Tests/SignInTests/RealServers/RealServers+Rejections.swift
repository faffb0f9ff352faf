import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// How servers reject a token or a client.
extension RealServer {
    /// How a server says that it no longer accepts the access token, and whether only the userinfo endpoint may say it
    /// so.
    static let refusedTokens: [RealServer] =
        ([
            (
                "django-oidc-provider", "in a challenge without a scheme", false,
                .status(.unauthorized, [.wwwAuthenticate: #"error="invalid_token", error_description="x""#])
            ),
            (
                "LemonLDAP::NG", "in a challenge without quotes", false,
                .status(.unauthorized, [.wwwAuthenticate: "Bearer error=invalid_token"])
            ),
            (
                "SATOSA", "in the body, beside a challenge without an error", true,
                .status(.unauthorized, [.wwwAuthenticate: "Bearer"], json: ["error": "invalid_token"])
            ),
            ("idpyoidc", "with the status 400", true, .oauthError("invalid_token")),
            ("Fief", "with 401 and no reason", true, .status(.unauthorized, json: ["detail": "Unauthorized"])),
        ] as [(String, String, Bool, Fault)]).map { server, how, isOnlyUserInfo, fault in
            RealServer(
                server, 2026, "\(isOnlyUserInfo ? "userinfo" : "an API") reports a dead token \(how)", "one refresh"
            ) {
                try await withDesk { fixture in
                    try await fixture.signIn()
                    fixture.provider.fault(fault, at: .userInfo)
                    _ = try await fixture.run("userinfo", "--json").result()
                    #expect(fixture.provider.count(.userInfo) == 2 && fixture.provider.count(.token) == 2)
                    fixture.provider.fault(fault, at: .api)
                    let api = try await fixture.run("request", fixture.provider.url(.api))
                    #expect(api.status == (isOnlyUserInfo ? 1 : 0), "\(api)")
                    #expect(fixture.provider.count(.token) == (isOnlyUserInfo ? 2 : 3))
                }
            }
        }

    static let refusedScopes: [RealServer] = [
        RealServer(
            "Salesforce", 2026,
            "no expires_in, and a dead token is reported without a reason: 401 by an API, 403 by userinfo",
            "one refresh"
        ) {
            try await withDesk { fixture in
                let refused = Fault.status(
                    .unauthorized, json: [["message": "Session expired", "errorCode": "INVALID_SESSION_ID"]])
                fixture.provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token)
                try await fixture.signIn()
                fixture.provider.fault(refused, at: .api)
                #expect(try await fixture.run("request", fixture.provider.url(.api)).status == 0)
                #expect(fixture.provider.count(.token) == 2)
                // The end of the new token is known.
                fixture.provider.fault(refused, at: .api)
                #expect(try await fixture.run("request", fixture.provider.url(.api)).status == 1)
                #expect(fixture.provider.count(.token) == 2)
                fixture.provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token)
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
                fixture.provider.fault(
                    .respond(Reply(.forbidden, type: "text/plain", "Bad_OAuth_Token")), at: .userInfo)
                _ = try await fixture.run("userinfo", "--json").result()
                #expect(fixture.provider.count(.token) == 4)
            }
        },
        RealServer("any", 2026, "userinfo refuses a token with 403, or for its scope", "no refresh") {
            try await withDesk { fixture in
                try await fixture.signIn()
                let scope = #"Bearer error="insufficient_scope""#
                for fault in [Fault.status(.forbidden), .status(.unauthorized, [.wwwAuthenticate: scope])] {
                    fixture.provider.fault(fault, at: .userInfo)
                    #expect(try await fixture.run("userinfo", "--json").status == 1)
                }
                #expect(fixture.provider.count(.token) == 1)
            }
        },
    ]

    /// What the provider answers to a client that does not authenticate, or not as it should, with the methods that its
    /// metadata lists.
    static let clientErrors: [RealServer] = [
        RealServer(
            "Glewlwyd", 2026, "unauthorized_client without the secret", "the hint names --client-secret-file"
        ) {
            try await withClientError("unauthorized_client", methods: nil, hint: "--client-secret-file")
        },
        RealServer(
            "idpyoidc", 2026, "invalid_request without the secret, and no public clients are listed",
            "the hint names --client-secret-file"
        ) {
            try await withClientError("invalid_request", methods: listed, hint: "--client-secret-file")
        },
        RealServer("any", 2026, "invalid_request, and public clients are listed", "no hint about a secret") {
            for methods in [nil, ["none"] + listed] {
                try await withClientError("invalid_request", methods: methods, hint: nil)
            }
        },
        RealServer(
            "SATOSA", 2026, "invalid_client with Basic, the only method that is listed", "no hint about another"
        ) {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_basic"] },
                    at: .openIDConfiguration, times: nil)
                try Data("wrong".utf8).write(to: URL(filePath: fixture.home + "/wrong"))
                let options = ["--client-secret-file", fixture.home + "/wrong"]
                let message = try await fixture.start(fixture.loginArguments(options, client: "demo-confidential"))
                    .outcome().failure(1, "invalid_client")
                #expect(message.hasSuffix("; check the client’s secret"), "\(message)")
            }
        },
        RealServer(
            "idpyoidc", 2026, "invalid_request for an assertion whose audience is the issuer",
            "the hint names --assertion-audience, which helps"
        ) {
            let key = try SigningKey.generate(.es256)
            var configuration = LocalProvider.Configuration.demo
            configuration.requiresTokenEndpointAudience = true
            configuration.clients.append(
                RegisteredClient(id: "keyed", keys: [key.publicKey], redirectURIs: [.anyLoopback]))
            try await withDesk(configuration) { fixture in
                try Data(key.pem.utf8).write(to: URL(filePath: fixture.home + "/key"))
                fixture.provider.fault(.oauthError("invalid_request"), at: .token)
                let line = fixture.loginArguments(["--client-key", fixture.home + "/key"], client: "keyed")
                let message = try await fixture.start(line).outcome().failure(1, "invalid_request")
                #expect(message.contains("--assertion-audience token-endpoint"), "\(message)")
                _ = try await fixture.start(line + ["--assertion-audience", "token-endpoint"]).outcome().result()
            }
        },
    ]

    private static let listed = ["client_secret_basic", "client_secret_post"]

    /// Signs in without the client's secret, and then with it.
    private static func withClientError(_ code: String, methods: [String]?, hint: String?) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument {
                    $0["token_endpoint_auth_methods_supported"] = methods.map { .array($0.map(JSON.string)) }
                }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.oauthError(code), at: .token)
            let message = try await fixture.login(client: "demo-confidential").failure(1, code)
            guard let hint else { return #expect(!message.contains("--"), "\(message)") }
            #expect(message.contains(hint), "\(message)")
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            try Data(secret.utf8).write(to: URL(filePath: fixture.home + "/secret"))
            _ = try await fixture.login(hint, fixture.home + "/secret", client: "demo-confidential").result()
        }
    }
}
