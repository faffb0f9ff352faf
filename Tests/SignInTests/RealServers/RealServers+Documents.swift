import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

extension RealServer {
    /// Documents that are not there, and members that are not needed.
    static let documents: [RealServer] = [
        missingDocuments, missingEverywhere, splitDocuments, unusedMembers, trustedMembers, usedMembers,
    ].flatMap(\.self)

    private static let missingDocuments: [RealServer] =
        ([
            ("Auth0 behind a page for applications", "an HTML page", SimpleResponse.html),
            ("a proxy for MCP", "an empty object", .json([:])),
            ("a server whose URL is not set", "an object with an empty issuer", .json(["issuer": ""])),
            ("an MCP server of 2025", "302", .status("302 Found", [("Location", "/")])),
            ("a serverless function", "204", .status("204 No Content")),
            ("Supabase", "501", .status("501 Not Implemented")),
            ("a gateway", "503", .status("503 Service Unavailable")),
            ("a gateway", "a page in place of JSON", .status("200 OK", [("Content-Type", "application/json")])),
        ] as [(String, String, SimpleResponse)]).map { server, found, response in
            RealServer(
                server, 2025, "openid-configuration is \(found), and the document of RFC 8414 is good", "it is used"
            ) {
                let server = try WrittenServer()
                server[WrittenServer.openID] = response
                server[WrittenServer.oauth] = server.metadata()
                #expect(try await Discovery.onLoopback.metadata(for: Issuer(server.origin))[.token] != nil)
                // RFC 8414 §3.3.
                server[WrittenServer.oauth] = server.metadata("https://other.example")
                let error = await authError { try await Discovery.onLoopback.metadata(for: Issuer(server.origin)) }
                #expect(error?.code == .issuerMismatch)
            }
        }

    private static let missingEverywhere: [RealServer] = [
        RealServer("any", 2025, "no document at all", "the error names each location and its response") {
            let server = try WrittenServer()
            server["/a" + WrittenServer.openID] = .html
            server[WrittenServer.openID + "/a"] = .json([:])
            server[WrittenServer.oauth + "/a"] = .status("501 Not Implemented")
            let issuer = try Issuer(server.origin + "/a")
            let error = try #require(await authError { try await Discovery.onLoopback.metadata(for: issuer) })
            for (location, found) in [
                ("/a" + WrittenServer.openID, "text/html"), (WrittenServer.openID + "/a", "'issuer'"),
                (WrittenServer.oauth + "/a", "501"), ("/a" + WrittenServer.oauth, "404"),
            ] {
                let rest = error.message.components(separatedBy: server.origin + location + " (").dropFirst().first
                #expect(rest?.prefix { $0 != ")" }.contains(found) == true, "\(error)")
            }
            #expect(!error.isTemporary && error.message.hasSuffix("Check the issuer"), "\(error)")
        },
        RealServer("any", 2025, "404, and 503 at another location", "try again later") {
            let server = try WrittenServer()
            server[WrittenServer.oauth] = .status("503 Service Unavailable", [("Retry-After", "7")])
            let issuer = try Issuer(server.origin)
            let error = try #require(await authError { try await Discovery.onLoopback.metadata(for: issuer) })
            #expect(error.isTemporary && error.retryAfter == 7 && error.message.contains("later"), "\(error)")
        },
    ]

    private static let splitDocuments: [RealServer] = [
        RealServer(
            "Kubernetes behind an authorization server", 2026,
            "openid-configuration has only issuer and jwks_uri; the rest is in the document of RFC 8414",
            "both are used"
        ) {
            try await withDesk { fixture in
                fixture.provider.fault(
                    .editDocument { document in
                        for name in document.members.map(\.name) where !["issuer", "jwks_uri"].contains(name) {
                            document[name] = nil
                        }
                    }, at: .openIDConfiguration, times: nil)
                _ = try await fixture.login().result()
                let examined = try await fixture.run(
                    "doctor", "--json", "--issuer", fixture.issuer, "--client-id", "demo")
                #expect(try examined.result()["findings"] == [], "\(examined)")
                // Only the second document promises that each response has `iss`.
                fixture.provider.fault(
                    .editReply { reply in
                        let location = reply.headers[.location]
                        reply.headers[.location] = location?.replacing(/&iss=[^&]*/, with: "")
                    }, at: .interaction, times: nil)
                try await fixture.login().failure(1, "invalid_redirect")
                // Only what is missing is looked for there.
                fixture.provider.clearFaults()
                fixture.provider.fault(
                    .editDocument { $0["token_endpoint"] = "/token" }, at: .openIDConfiguration, times: nil)
                try await fixture.login().failure(1, "invalid_metadata")
            }
        }
    ]

    private static let unusedMembers: [RealServer] =
        ([
            ("device_authorization_endpoint", "/device" as JSON), ("registration_endpoint", ""),
            ("registration_endpoint", "http://r.example"), ("end_session_endpoint", 1),
            ("introspection_endpoint", "x y"),
            ("mtls_endpoint_aliases", ["token_endpoint": "/t"]), ("token_endpoint_auth_methods_supported", "none"),
            ("scopes_supported", "openid"), ("response_types_supported", [1]),
            ("code_challenge_methods_supported", "S256"),
        ] as [(String, JSON)]).map { name, value in
            RealServer("a server whose metadata are written by hand", 2026, "\(name) is \(value)", "login succeeds") {
                try await withDesk { fixture in
                    fixture.provider.fault(.editDocument { $0[name] = value }, at: .openIDConfiguration, times: nil)
                    _ = try await fixture.login().result()
                }
            }
        }

    private static let trustedMembers: [RealServer] =
        ([
            ("issuer", "https://other.example" as JSON), ("jwks_uri", "http://op.example/keys"), ("jwks_uri", "/keys"),
            ("id_token_signing_alg_values_supported", "RS256"), ("token_endpoint", "/token"),
            ("authorization_endpoint", "http://op.example/authorize"),
        ] as [(String, JSON)]).map { name, value in
            RealServer("any", 2026, "\(name) is \(value)", "login is refused") {
                try await withDesk { fixture in
                    fixture.provider.fault(.editDocument { $0[name] = value }, at: .openIDConfiguration, times: nil)
                    let outcome = try await fixture.login()
                    #expect(outcome.status == 1 && outcome.errors.contains(name == "issuer" ? "calls itself" : name))
                    #expect(fixture.browser.visits.isEmpty)
                }
            }
        }

    private static let usedMembers: [RealServer] = [
        RealServer(
            "a server whose metadata are written by hand", 2026, "device_authorization_endpoint is relative",
            "device says so"
        ) {
            try await withDesk { fixture in
                for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    fixture.provider.fault(
                        .editDocument { $0["device_authorization_endpoint"] = "/device" }, at: endpoint, times: nil)
                }
                let error = try await fixture.device().outcome().failure(1, "invalid_metadata")
                #expect(error.contains("device_authorization_endpoint"), "\(error)")
            }
        },
        RealServer("any", 2026, "revocation_endpoint is relative", "logout says that nothing was revoked") {
            try await withDesk { fixture in
                for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                    fixture.provider.fault(
                        .editDocument { $0["revocation_endpoint"] = "/revoke" }, at: endpoint, times: nil)
                }
                _ = try await fixture.login().result()
                let outcome = try await fixture.run(
                    "logout", "--issuer", fixture.issuer, "--client-id", "demo", "--json")
                #expect(outcome.errors.contains("'revocation_endpoint'"), "\(outcome)")
            }
        },
    ]
}
