import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// The command line that is the agreement to an authorization server which a resource has named.
@Suite(.timeLimit(.minutes(5)))
struct AgreementLineTests {
    @Test func `the line that is the agreement signs in for the same, also at a server without OpenID Connect`()
        async throws
    {
        try await withHostileResource { fixture, url, _ in
            fixture.provider.fault(
                .editDocument { document in
                    document["jwks_uri"] = nil
                    document["scopes_supported"] = ["api", "offline_access"]
                }, at: .openIDConfiguration, times: nil)
            let store = "file:\(fixture.home)/a session"
            let message = try await fixture.run(
                "login", "--json", "--resource", url, "--client-id", "demo", "--store", store
            ).failure(1, "confirmation_required")
            #expect(!message.contains("whose"), "no page is elsewhere: \(message)")
            let session = try await fixture.start(["sh", "-c", try commandLine(in: message)], []).outcome().result()
            #expect(session["scope"] == "offline_access api" && session["issuer"]?.string == fixture.issuer)
            let requested = try #require(fixture.provider.log(.authorization).last?.query)
            #expect(requested.values("resource") == [url])
            #expect(FileManager.default.fileExists(atPath: fixture.home + "/a session"))
        }
    }

    @Test(arguments: [[], ["--client-id", "demo"]])
    func `without scopes, the line that is the agreement has no empty word`(client: [String])
        async throws
    {
        try await withHostileResource {
            $0.resourceDescription = ResourceDescription(scopes: [])
        } _: { fixture, url, honest in
            fixture.provider.fault(
                .editDocument { document in
                    document["jwks_uri"] = nil
                    document["scopes_supported"] = ["api"]
                    if client.isEmpty { document["authorization_endpoint"] = .string(honest.url(.authorization)) }
                }, at: .openIDConfiguration, times: nil)
            let message = try await fixture.start(["login", "--json", "--resource", url] + client).outcome()
                .failure(1, "confirmation_required")
            #expect(!message.contains("''") && message.contains(" --scope= ") == !client.isEmpty, "\(message)")
            guard !client.isEmpty else { return }
            // RFC 6749 §3.3: the provider may require a scope, as this one does.
            try await fixture.start(["sh", "-c", try commandLine(in: message)], []).outcome().failure(
                1, "invalid_scope")
            #expect(try #require(fixture.provider.log(.authorization).last).query["scope"] == nil)
        }
    }

    @Test func `the line that is the agreement has the options that the profile remembers`() async throws {
        try await withHostileResource {
            $0.sendsIssuerParameter = true
        } _: { fixture, url, _ in
            let line = ["login", "--json", "--resource", url, "--client-id", "demo", "--profile", "notes"]
            _ = try await fixture.start(line).outcome().result()
            fixture.provider.fault(
                .editDocument { $0["authorization_response_iss_parameter_supported"] = nil }, at: .openIDConfiguration,
                times: nil)
            let message = try await fixture.run("login", "--json", with: ["SIGN_IN_PROFILE": "notes"])
                .failure(1, "confirmation_required")
            let session = try await fixture.start(["sh", "-c", try commandLine(in: message)], []).outcome().result()
            #expect(session["scope"] == "offline_access api" && session["client_id"] == "demo")
            // Now the profile remembers the agreement too.
            _ = try await fixture.run("login", "--json", "--profile", "notes").result()
        }
    }

    /// With the issuer alone, the line would be the user's own choice of it.
    @Test(arguments: [["token"], ["request", "http://127.0.0.1:1"], ["userinfo"]])
    func `after a sign-out, no line names an issuer that only a resource has named`(command: [String]) async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            _ = try await fixture.run("logout", "--json").result()
            let document = "https://app.example/client.json"
            for client in [[], ["--client-id", document]] {
                let line = command + ["--json", "--issuer", fixture.issuer] + client
                let message = try await fixture.start(line).outcome().failure(1, "sign_in_required")
                #expect(!message.contains("--issuer"), "\(message)")
                #expect(message.contains("--resource \(url)") == client.isEmpty, "\(message)")
            }
        }
    }

    /// The document in which a server names the page of another one. The sign-in reads both.
    enum Document: CaseIterable { case openIDConnect, authorizationServer }

    @Test(arguments: Document.allCases)
    func `a resource with several servers names for each what the user agrees to, and the line`(
        document: Document
    ) async throws {
        try await withHostileResource { fixture, url, honest in
            let issuers = JSON.array([.string(honest.issuer), .string(fixture.issuer)])
            fixture.provider.fault(
                .editDocument { $0["authorization_servers"] = issuers }, at: .resourceMetadata, times: nil)
            fixture.provider.fault(
                .editDocument { members in
                    let page = JSON.string(honest.url(.authorization))
                    members["authorization_endpoint"] = document == .openIDConnect ? page : nil
                    members["jwks_uri"] = nil
                }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = .string(honest.url(.authorization)) },
                at: .oauthMetadata, times: nil)
            let message = try await fixture.run(
                "login", "--json", "--no-browser", "--resource", url, "--redirect-path", "/a'b", "--client-id", "demo"
            ).wrongUsage()
            let hosts = [fixture.issuer, honest.issuer].map(host(of:))
            #expect(message.contains("\(hosts[0]), which uses \(hosts[1]):"), "\(message)")
            #expect(!message.contains("\(hosts[1]), which uses"))
            let process = try fixture.start(["sh", "-c", "exec " + commandLine(in: message)], [])
            let url = try await Redirects(process).url
            #expect(url.hasPrefix(honest.url(.authorization)) && url.contains("scope=api"))
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }
}
