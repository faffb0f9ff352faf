import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

extension RealServer {
    /// RFC 7591.
    static let registrations: [RealServer] = [
        omittedMethods, chosenMethods, registeredScopes, resourceRegistrations, refusedRedirects, insufficient,
    ].flatMap(\.self)

    private static let register = ["register", "--json", "--redirect-uri", "http://127.0.0.1/callback", "--issuer"]

    /// The methods that the server lists, the one that it is asked for, whether it issues a secret, and the method at
    /// the token endpoint.
    private static let omittedMethods: [RealServer] =
        ([
            (["none"], nil, false, "none"), (["client_secret_basic"], nil, false, "none"), (nil, nil, false, "none"),
            (["client_secret_post", "client_secret_basic"], "post", true, "post"), (nil, "post", true, "post"),
            (["client_secret_basic"], "basic", true, "basic"), (["client_secret_basic"], "post", true, "basic"),
        ] as [([String]?, String?, Bool, String)]).map { listed, requested, hasSecret, used in
            RealServer(
                requested == "post" ? "LemonLDAP::NG" : "an MCP server", 2025,
                "the response omits token_endpoint_auth_method; listed: \(listed.map { "\($0)" } ?? "nothing"), asked for: \(requested ?? "default"), "
                    + "a secret: \(hasSecret)", "the client uses \(used)"
            ) {
                try await withDesk { fixture in
                    fixture.provider.fault(
                        .editDocument {
                            $0["token_endpoint_auth_methods_supported"] = listed.map { .array($0.map(JSON.string)) }
                        }, at: .openIDConfiguration, times: nil)
                    fixture.provider.fault(
                        .editDocument { document in
                            document["token_endpoint_auth_method"] = nil
                            if !hasSecret {
                                (document["client_secret"], document["client_secret_expires_at"]) = (nil, nil)
                            }
                        }, at: .clientRegistration)
                    let line = register + [fixture.issuer] + (requested.map { ["--client-auth", $0] } ?? [])
                    _ = try await fixture.start(line).outcome().result()
                    _ = try await fixture.run("login", "--json", "--issuer", fixture.issuer)
                    let sent = try #require(fixture.provider.log(.token).first)
                    let found =
                        sent.headers[.authorization] != nil
                        ? "basic" : sent.form["client_secret"] != nil ? "post" : "none"
                    #expect(found == used)
                }
            }
        }

    private static let chosenMethods: [RealServer] = [
        RealServer("laravel/mcp", 2025, "client_id is a number", "its digits are the client ID") {
            try await withDesk { fixture in
                fixture.provider.fault(.editDocument { $0["client_id"] = 4711 }, at: .clientRegistration)
                let client = try await fixture.start(register + [fixture.issuer]).outcome().result()
                #expect(client["client_id"] == "4711")
            }
        },
        RealServer("SATOSA", 2025, "only client_secret_basic is listed", "register asks for it") {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_basic"] },
                    at: .openIDConfiguration, times: nil)
                let client = try await fixture.start(register + [fixture.issuer]).outcome().result()
                #expect(client["token_endpoint_auth_method"] == "client_secret_basic")
                _ = try await fixture.run("login", "--json", "--issuer", fixture.issuer).result()
            }
        },
        RealServer("LemonLDAP::NG", 2025, "Basic is not decoded", "login --client-auth post uses the registered secret")
        {
            try await withDesk { fixture in
                _ = try await fixture.start(register + [fixture.issuer, "--client-auth", "basic"]).outcome().result()
                _ = try await fixture.run("login", "--json", "--issuer", fixture.issuer, "--client-auth", "post")
                let sent = try #require(fixture.provider.log(.token).first)
                #expect(sent.headers[.authorization] == nil && sent.form["client_secret"]?.isEmpty == false)
            }
        },
        RealServer(
            "SATOSA", 2026, "the client is registered for client_secret_basic, the user says --client-auth post",
            "the hint says to leave it out, which helps"
        ) {
            try await withDesk { fixture in
                _ = try await fixture.start(register + [fixture.issuer, "--client-auth", "basic"]).outcome().result()
                fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
                let login = ["login", "--json", "--issuer", fixture.issuer]
                let message = try await fixture.start(login + ["--client-auth", "post"]).outcome()
                    .failure(1, "invalid_client")
                #expect(message.contains("leave out --client-auth") && !message.contains("rm "), "\(message)")
                _ = try await fixture.start(login).outcome().result()
                // Without the option, the registration is what can be replaced.
                fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
                let refused = try await fixture.start(login).outcome().failure(1, "invalid_client")
                #expect(!refused.contains("leave out") && refused.contains("replace it with: mv "), "\(refused)")
            }
        },
        RealServer("Fief", 2026, "registration_endpoint is a page, where users register", "the error says so") {
            try await withDesk { fixture in
                fixture.provider.fault(.htmlPage, at: .clientRegistration)
                let message = try await fixture.start(register + [fixture.issuer]).outcome()
                    .failure(1, "invalid_response")
                #expect(message.contains("is a page") && message.contains("--client-id"), "\(message)")
                fixture.provider.fault(.editReply { $0.body = [] }, at: .clientRegistration)
                let empty = try await fixture.start(register + [fixture.issuer]).outcome()
                    .failure(1, "invalid_response")
                #expect(!empty.contains("is a page"), "\(empty)")
            }
        },
        RealServer("any", 2026, "--client-auth post without any secret", "wrong usage") {
            try await withDesk { fixture in
                let message = try await fixture.login("--client-auth", "post").wrongUsage()
                #expect(message.contains("--client-secret-file"))
            }
        },
    ]

    private static let registeredScopes: [RealServer] =
        ([
            ("django-allauth", "openid", "openid"), ("a server of OAuth", "user", "user"),
            ("Keycloak", "profile email address", "openid profile"), ("any", "", "openid profile offline_access"),
        ] as [(String, String, String)]).map { server, registered, requested in
            RealServer(
                server, 2025, "the client is registered for the scope '\(registered)'", "login requests '\(requested)'"
            ) {
                try await withDesk { fixture in
                    fixture.provider.fault(.editDocument { $0["scope"] = .string(registered) }, at: .clientRegistration)
                    _ = try await fixture.start(register + [fixture.issuer]).outcome().result()
                    _ = try await fixture.run("login", "--json", "--issuer", fixture.issuer)
                    #expect(fixture.provider.log(.authorization).first?.query["scope"] == requested)
                    // The user's own scope counts.
                    _ = try await fixture.run("login", "--json", "--issuer", fixture.issuer, "--scope", "openid email")
                    #expect(fixture.provider.log(.authorization).last?.query["scope"] == "openid email")
                }
            }
        }

    private static let resourceRegistrations: [RealServer] = [
        RealServer(
            "MCP servers", 2025, "the resource names no scopes, the server lists offline_access",
            "no scope is requested or registered"
        ) {
            try await withResource { fixture, _, url in
                _ = try await fixture.run("login", "--json", "--resource", url)
                let sent = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
                #expect(sent["scope"] == nil && sent["application_type"] == "native")
                let requested = try #require(fixture.provider.log(.authorization).first?.query)
                #expect(requested["scope"] == nil && requested["prompt"] == nil)
            }
        },
        RealServer(
            "FastMCP with Google", 2026, "no jwks_uri, and the resource demands the scope openid",
            "the scope is requested, no ID token is expected"
        ) {
            try await withResource { fixture, server, url in
                server["/mcp"] = .challenge(#"scope="openid profile""#)
                for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    fixture.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: endpoint, times: nil)
                }
                fixture.provider.fault(
                    .editDocument { $0["id_token"] = nil }, at: .token, grantType: "authorization_code")
                let session = try await fixture.run("login", "--json", "--resource", url).result()
                #expect(session["scope"]?.string?.contains("openid") == true)
                #expect(session.isNull("id_token_claims"))
                _ = try await fixture.run("token", "--force-refresh", "--json").result()
            }
        },
    ]

    /// How the server refuses the redirect URI that the library has chosen.
    private static let refusedRedirects: [RealServer] =
        ([
            ("RevenueCat", "invalid_redirect_uri", .oauthError("invalid_redirect_uri")),
            ("a firewall that lets no 127.0.0.1 pass", "403", .status(.forbidden)),
        ] as [(String, String, Fault)]).map { server, how, fault in
            RealServer(
                server, 2026, "the registration with a path of the issuer's is refused (\(how))",
                "two lines register the usual redirect URI and sign in"
            ) {
                try await withResource { fixture, server, url in
                    server["/mcp"] = .challenge(#"scope="profile""#)
                    fixture.provider.fault(fault, at: .clientRegistration)
                    let outcome = try await fixture.run("login", "--json", "--resource", url)
                    let message = try #require(outcome.json()["error"]?["message"]?.string, "\(outcome)")
                    let lines = try #require(message.advised(by: "to what you have there: "), "\(message)")
                    let parts = lines.components(separatedBy: ". Then sign in with: ")
                    // Another test can have the port.
                    let port = freePort()
                    for line in parts {
                        let line = line.replacing("8765", with: "\(port)")
                        let run = try await fixture.start(["sh", "-c", line], []).outcome()
                        #expect(run.status == 0, "\(line): \(run)")
                    }
                    #expect(fixture.provider.log(.token).count == 1)
                }
            }
        }

    private static let insufficient: [RealServer] = [
        RealServer("any", 2026, "no jwks_uri, and the user asks for openid", "refused, and no client is registered") {
            try await withResource { fixture, _, url in
                for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    fixture.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: endpoint, times: nil)
                }
                let message = try await fixture.run("login", "--json", "--resource", url, "--scope", "openid")
                    .failure(1, "invalid_metadata")
                #expect(message.contains("jwks_uri") && fixture.provider.count(.clientRegistration) == 0)
            }
        },
        RealServer("any", 2026, "no token_endpoint", "refused, and no client is registered") {
            try await withResource { fixture, _, url in
                for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    fixture.provider.fault(.editDocument { $0["token_endpoint"] = nil }, at: endpoint, times: nil)
                }
                let message = try await fixture.run("login", "--json", "--resource", url).failure(1, "invalid_metadata")
                #expect(message.contains("token_endpoint") && fixture.provider.count(.clientRegistration) == 0)
            }
        },
        RealServer(
            "any", 2026, "the resource demands openid, the server has jwks_uri and issues no ID token", "refused"
        ) {
            try await withResource { fixture, server, url in
                server["/mcp"] = .challenge(#"scope="openid""#)
                fixture.provider.fault(.editDocument { $0["id_token"] = nil }, at: .token)
                try await fixture.run("login", "--json", "--resource", url).failure(1, "invalid_id_token")
            }
        },
    ]
}
