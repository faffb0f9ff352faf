import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Which client signs in to a resource, and which session it may replace.
@Suite(.timeLimit(.minutes(5)))
struct ResourceClientTests {
    @Test func `a client that the user has registered at the named issuer is used, and the resource is not asked`()
        async throws
    {
        try await withResource { fixture, server, url in
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            let client = try await fixture.start(register).outcome().result()["client_id"]
            let line = ["login", "--json", "--issuer", fixture.issuer, "--resource", url]
            #expect(try await fixture.start(line).outcome().result()["client_id"] == client)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a registered client may be named, and its redirect URI stays the one of this issuer`() async throws {
        try await withResourceProvider { fixture, url in
            let login = ["login", "--json", "--resource", url]
            let id = try await fixture.start(login).outcome().result()["client_id"]?.string
            for issuer in [[], ["--issuer", fixture.issuer]] {
                let named = ["--client-id", try #require(id), "--redirect-path", "/callback"] + issuer
                _ = try await fixture.start(login + named).outcome().result()
            }
            let paths = fixture.provider.log(.authorization).compactMap { request in
                request.query["redirect_uri"].flatMap { try? SecureURL($0).path }
            }
            #expect(Set(paths).count == 1 && paths[0] != "/callback", "\(paths)")
        }
    }

    @Test(arguments: [
        (["--redirect-path", "/a"], ["127.0.0.1/*/a"]),
        (["--redirect-host", "both"], ["127.0.0.1/*/callback", "[::1]/*/callback"]),
        (["--redirect-port", "PORT"], ["127.0.0.1:PORT/*/callback"]),
    ])
    func `the redirect URIs that the options name are registered`(options: [String], expected: [String]) async throws {
        try await withResourceProvider { fixture, url in
            let port = String(freePort())
            let options = options.map { $0.replacing("PORT", with: port) }
            _ = try await fixture.start(["login", "--json", "--resource", url] + options).outcome().result()
            let sent = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            let uris = sent["redirect_uris"]?.strings?.map { $0.replacing(/\/[\w-]{22}\//, with: "/*/") }
            #expect(uris == expected.map { "http://" + $0.replacing("PORT", with: port) })
        }
    }

    @Test func `a client that the user names is used, without a registration`() async throws {
        try await withResourceProvider { fixture, url in
            let session = try await fixture.run("login", "--json", "--resource", url, "--client-id", "demo").result()
            #expect(session["client_id"] == "demo" && fixture.provider.count(.clientRegistration) == 0)
            // The user has registered the redirect URI.
            let uri = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(try SecureURL(uri).path == "/callback")
        }
    }

    @Test func `with the issuer and the client, the resource is not asked`() async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.login("--resource", url).result()
            #expect(fixture.provider.count(.api) == 0 && fixture.provider.count(.resourceMetadata) == 0)
            let process = try fixture.device("--resource", url)
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.api) == 0)
        }
    }

    @Test(arguments: ["login", "device"])
    func `a secret needs its issuer, which no resource chooses`(command: String) async throws {
        try await withResourceProvider { fixture, url in
            try "s3cret".write(toFile: fixture.home + "/secret", atomically: true, encoding: .utf8)
            let options = [
                "--resource", url, "--client-id", "demo-confidential", "--client-secret-file", fixture.home + "/secret",
            ]
            let message = try await fixture.start([command, "--json"] + options).outcome().wrongUsage()
            #expect(message.contains("name its --issuer"), "\(message)")
            #expect(fixture.provider.count(.api) == 0)
        }
    }

    @Test func `a resource has a client and a session of its own`() async throws {
        var other = LocalProvider.Configuration.demo
        other.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withLocalProvider(other) { second in
            try await withResourceProvider {
                $0.resources.append(second.url(.api))
            } _: { fixture, url in
                _ = try await fixture.run(
                    "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback"
                ).result()
                let issuer = fixture.issuer
                second.fault(
                    .editDocument { $0["authorization_servers"] = [.string(issuer)] }, at: .resourceMetadata, times: nil
                )
                let lines = [
                    ["--issuer", issuer], ["--resource", url], ["--resource", second.url(.api)], ["--resource", url],
                ]
                var ids: [JSON?] = []
                for line in lines {
                    ids.append(try await fixture.start(["login", "--json"] + line).outcome().result()["client_id"])
                }
                #expect(Set(ids).count == 3 && ids[1] == ids[3])
                #expect(fixture.provider.count(.clientRegistration) == 3)
            }
        }
    }

    /// Some servers give every registration the same client ID, and a client ID document has one.
    @Test func `sessions of one client for two resources, and the user's own, have places of their own`() async throws {
        var other = LocalProvider.Configuration.demo
        other.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withLocalProvider(other) { second in
            try await withResourceProvider {
                $0.resources.append(second.url(.api))
            } _: { fixture, url in
                let (provider, issuer) = (fixture.provider, fixture.issuer)
                provider.fault(.editDocument { $0["client_id"] = "demo" }, at: .clientRegistration, times: nil)
                second.fault(
                    .editDocument { $0["authorization_servers"] = [.string(issuer)] }, at: .resourceMetadata, times: nil
                )
                try await fixture.signIn()
                let own = fixture.stored.filter { $0.hasSuffix(".json") }
                _ = try await fixture.start(["login", "--json", "--resource", url]).outcome().result()
                let first = try #require(fixture.stored.first { $0.hasSuffix(".json") && !own.contains($0) })
                let helper = ["--host", "git.example.org", "--store", "file:\(fixture.sessions)/\(first)", "get"]
                let request = "protocol=https\nhost=git.example.org\n\n"
                let before = try await fixture.helper("git", helper, input: request).outcome()
                #expect(before.status == 0 && before.output.contains("password="), "\(before)")
                _ = try await fixture.start(["logout", "--json", "--store", "file:\(fixture.sessions)/\(first)"])
                    .outcome().result()
                let login = ["login", "--json", "--resource", second.url(.api)]
                let client = try await fixture.start(login).outcome().result()["client_id"]
                #expect(client == "demo")
                let after = try await fixture.helper("git", helper, input: request).outcome()
                #expect(after.status == 1 && after.output.isEmpty, "\(after)")
                #expect(fixture.stored.filter { $0.hasSuffix(".json") }.count == 2)
            }
        }
    }

    /// What the registration response says, and whether the client is used again.
    enum Registered: String, CaseIterable, Sendable {
        case asRequested, withValidSecret, withExpiredSecret, withoutDeviceGrant

        var grant: String { self == .withoutDeviceGrant ? "device" : "login" }
        var isUsedAgain: Bool { self == .asRequested || self == .withValidSecret }

        func edit(_ document: inout JSON.Object) {
            switch self {
            case .asRequested: break
            case .withValidSecret: document["client_secret_expires_at"] = 4_000_000_000
            case .withExpiredSecret: document["client_secret_expires_at"] = 1_000_000_000
            case .withoutDeviceGrant: document["grant_types"] = ["authorization_code", "refresh_token"]
            }
        }
    }

    @Test(arguments: Registered.allCases)
    func `a client is used again only if it can be`(registered: Registered) async throws {
        try await withResourceProvider { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] },
                at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.editDocument(registered.edit), at: .clientRegistration)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            if registered.grant == "device" {
                let process = try fixture.start(["device", "--json", "--resource", url])
                try await DeviceCode(process).decide("allow")
                _ = try await process.outcome().result()
            } else {
                _ = try await fixture.run("login", "--json", "--resource", url).result()
            }
            #expect(fixture.provider.count(.clientRegistration) == (registered.isUsedAgain ? 1 : 2))
        }
    }

    @Test func `a registered client without the device grant is not used on a device`() async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run(
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback"
            ).result()
            let process = try fixture.start(["device", "--json", "--resource", url])
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    @Test func `a client gets a secret if the provider accepts no client without one`() async throws {
        try await withResourceProvider { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] },
                at: .openIDConfiguration)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            #expect(fixture.provider.log(.token).first?.form["client_secret"]?.isEmpty == false)
        }
    }

    @Test func `a provider without registration is named, and a client of the user suffices`() async throws {
        try await withResourceProvider {
            $0.registration = nil
        } _: { fixture, url in
            let message = try await fixture.run("login", "--json", "--resource", url).failure(1, "invalid_metadata")
            #expect(message.contains("registration_endpoint") && message.contains("--client-id"))
            _ = try await fixture.run("login", "--json", "--resource", url, "--client-id", "demo").result()
        }
    }
}
