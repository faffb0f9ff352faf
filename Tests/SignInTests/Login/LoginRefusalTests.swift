import AppAuth
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The mistakes of a new user: one clear line, and no browser opens.
@Suite(.timeLimit(.minutes(5)))
struct LoginRefusalTests {
    private func refusal(
        _ fixture: CommandFixture, issuer: String, _ code: String, _ more: [String] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let arguments = ["login", "--json", "--issuer", issuer, "--client-id", "demo"] + more
        let outcome = try await fixture.start(arguments).outcome()
        #expect(outcome.errorLines.count == 1, "\(outcome)", sourceLocation: sourceLocation)
        #expect(fixture.browser.visits.isEmpty && fixture.stored.isEmpty, sourceLocation: sourceLocation)
        return try outcome.failure(1, code, sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ["login"], ["login", "--client-id", "a"], ["login", "--resource", "https://a.example/"],
        ["device", "--client-id", "a"], ["device", "--resource", "https://a.example/"],
    ])
    func `an issuer without a whole scheme is a failure, and the message has the right one`(
        command: [String]
    ) async throws {
        try await withDesk { fixture in
            for issuer in ["op.example", "https:/op.example"] {
                let message = try await fixture.start(command + ["--json", "--issuer", issuer]).outcome()
                    .failure(1, "invalid_configuration")
                #expect(message.hasPrefix("expected an absolute https URL, found '\(issuer)'"), "\(message)")
                #expect(message.hasSuffix("Use 'https://op.example'"), "\(message)")
            }
        }
    }

    @Test(arguments: [
        "http://op.example", "http://192.0.2.1:8080", "ftp://op.example", "op.example", "https://op.example?x=1",
        "https://user@op.example", "https://op.example#x", "https://op.exa mple",
    ])
    func `an issuer that cannot be trusted is refused`(issuer: String) async throws {
        try await withDesk { fixture in
            let message = try await refusal(fixture, issuer: issuer, "invalid_configuration")
            #expect(message.contains("op.exa") || message.contains("192.0.2.1"), "\(message)")
        }
    }

    @Test func `the issuer is no client id`() async throws {
        try await withDesk { fixture in
            for id in [fixture.issuer, fixture.issuer + "/"] {
                for command in ["login", "device"] {
                    let arguments = [
                        command, "--json", "--issuer", fixture.issuer, "--client-id", id, "--timeout", "5",
                    ]
                    let message = try await fixture.start(arguments).outcome().failure(1, "invalid_configuration")
                    #expect(message.hasPrefix("the client ID is the URL of the issuer. Expected the ID"), "\(message)")
                }
            }
            #expect(fixture.browser.visits.isEmpty && fixture.provider.log.isEmpty)
        }
    }

    @Test func `a host that does not exist is named`() async throws {
        try await withDesk { fixture in
            let message = try await refusal(fixture, issuer: "https://op.invalid", "transport")
            #expect(message.contains("could not resolve host 'op.invalid'"), "\(message)")
        }
    }

    @Test func `a refused connection names the port`() async throws {
        let issuer = "http://127.0.0.1:\(freePort())"
        try await withDesk { fixture in
            let message = try await refusal(fixture, issuer: issuer, "transport")
            #expect(message.contains("connection to \(issuer.dropFirst("http://".count)) refused"), "\(message)")
        }
    }

    @Test func `an address without metadata is refused`() async throws {
        try await withDesk { fixture in
            let message = try await refusal(fixture, issuer: fixture.issuer + "/tenant", "invalid_response")
            #expect(message.contains("/tenant/.well-known/openid-configuration (404), "), "\(message)")
            #expect(message.contains("(404). Check the issuer"), "\(message)")
        }
    }

    @Test func `metadata of another issuer is refused, and both are named`() async throws {
        try await withDesk { fixture in
            let alias = fixture.issuer.replacing("127.0.0.1", with: "localhost")
            let message = try await refusal(fixture, issuer: alias, "issuer_mismatch")
            #expect(message.contains("'\(alias)'") && message.contains("'\(fixture.issuer)'"), "\(message)")
        }
    }

    @Test(arguments: [
        ("authorization_endpoint", []), ("token_endpoint", []), ("jwks_uri", []), ("userinfo_endpoint", ["--userinfo"]),
    ])
    func `metadata that the flow needs is checked before the browser opens`(name: String, more: [String]) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0[name] = nil }, at: .openIDConfiguration, times: 2)
            fixture.provider.fault(.editDocument { $0[name] = nil }, at: .oauthMetadata)
            let message = try await refusal(fixture, issuer: fixture.issuer, "invalid_metadata", more)
            #expect(message.contains(name), "\(message)")
            // Some providers have it only there.
            _ = try await fixture.start(fixture.loginArguments(more)).outcome().result()
        }
    }

    @Test func `at a server without OpenID Connect, the error names --scope`() async throws {
        try await withDesk { fixture in
            for endpoint in [LocalProvider.Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: endpoint, times: nil)
            }
            let message = try await refusal(fixture, issuer: fixture.issuer, "invalid_metadata")
            #expect(message.contains("use --scope without openid"), "\(message)")
            _ = try await fixture.login("--scope", "profile").result()
        }
    }

    @Test func `metadata that the flow does not need may be missing`() async throws {
        try await withDesk { fixture in
            let edit = Fault.editDocument { document in
                (document["jwks_uri"], document["userinfo_endpoint"]) = (nil, nil)
            }
            fixture.provider.fault(edit, at: .openIDConfiguration)
            _ = try await fixture.login("--scope", "profile").result()
        }
    }

    @Test func `a redirect is never followed`() async throws {
        try await withDesk { fixture in
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.redirect(to: fixture.issuer + "/elsewhere"), at: location)
            }
            let message = try await refusal(fixture, issuer: fixture.issuer, "invalid_response")
            let target = "307, redirects are never followed, here to '\(fixture.issuer)/elsewhere'"
            #expect(message.contains(target), "\(message)")
            #expect(message.hasSuffix("name its URL with --metadata-url"), "\(message)")
            #expect(fixture.provider.count(.none) == 0)
        }
    }

    @Test func `a secret that cannot be read is refused, and its file is named`() async throws {
        try await withDesk { fixture in
            for file in [fixture.home + "/missing", "/dev/null"] {
                let more = ["--client-secret-file", file]
                let message = try await refusal(fixture, issuer: fixture.issuer, "invalid_configuration", more)
                #expect(message.contains(file), "\(message)")
            }
        }
    }

    @Test func `without a home folder login fails`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login(with: ["HOME": nil, "XDG_STATE_HOME": nil])
            #expect(try outcome.failure(1, "store").contains("HOME"))
        }
    }
}
