import AppAuth
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `sign-in register`, and the sign-in with the registered client.
@Suite(.timeLimit(.minutes(5)))
struct RegisterTests {
    private static let redirect = "http://127.0.0.1/callback"

    private func register(_ fixture: CommandFixture, _ arguments: [String] = []) async throws -> Outcome {
        try await fixture.start(
            ["register", "--json", "--issuer", fixture.issuer, "--redirect-uri", Self.redirect] + arguments
        ).outcome()
    }

    private func login(_ fixture: CommandFixture, _ arguments: [String] = []) async throws -> Outcome {
        try await fixture.start(["login", "--json", "--issuer", fixture.issuer] + arguments).outcome()
    }

    @Test func `the line that signs in has the options for the network`() async throws {
        try await withDesk { fixture in
            let options = ["--redirect-uri", Self.redirect, "--proxy-auth", "digest"]
            let outcome = try await fixture.start(["register", "--issuer", fixture.issuer] + options).outcome()
            let line = try #require(outcome.outputLines.last { $0.hasPrefix("Sign in with: ") }, "\(outcome)")
            #expect(line.hasSuffix(" --proxy-auth digest"))
            let command = line.dropFirst("Sign in with: ".count)
            _ = try await fixture.start(["sh", "-c", "\(command) --json"], []).outcome().result()
        }
    }

    @Test func `at a server without OpenID Connect, the line asks for no ID token`() async throws {
        try await withDesk { fixture in
            for endpoint in [LocalProvider.Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: endpoint, times: nil)
            }
            fixture.provider.fault(.editDocument { $0["scope"] = "openid profile" }, at: .clientRegistration)
            let options = ["--issuer", fixture.issuer, "--redirect-uri", Self.redirect]
            let outcome = try await fixture.start(["register"] + options).outcome()
            let line = try #require(outcome.output.advised(by: "Sign in with: "), "\(outcome)")
            let login = try await fixture.start(["sh", "-c", line], []).outcome()
            #expect(login.status == 0, "\(login)")
            #expect(fixture.provider.log(.authorization).first?.query["scope"] == "profile")
        }
    }

    @Test(arguments: [(401, "--initial-access-token-file"), (403, "--client-id"), (404, "--client-id")])
    func `if the server registers no clients, the error says what helps`(status: Int, option: String) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.status(.init(code: status)), at: .clientRegistration)
            let message = try await register(fixture).failure(1, "invalid_response")
            #expect(message.contains(option), "\(message)")
        }
    }

    @Test func `a public client is registered and signs in without --client-id`() async throws {
        try await withDesk { fixture in
            let registration = try await register(fixture, ["--client-name", "My App"]).result()
            let id = try #require(registration["client_id"]?.string)
            #expect(registration["redirect_uris"]?.strings == [Self.redirect])
            #expect(registration["client_name"] == "My App" && registration["token_endpoint_auth_method"] == "none")
            #expect(registration["registration_client_uri"] != nil && registration["client_secret"] == nil)
            // A registration is no session.
            #expect(try await fixture.run("status", "--json").result()["sessions"] == [])
            let signedIn = try await login(fixture).result()
            #expect(signedIn["client_id"]?.string == id)
            let name = try #require(fixture.stored.first { $0.hasSuffix(".json") })
            let session = try String(contentsOfFile: "\(fixture.sessions)/\(name)", encoding: .utf8)
            #expect(session.contains(try #require(registration["registration_access_token"]?.string)))
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test func `the document for a client ID that is a URL is printed, and nothing is sent`() async throws {
        try await withDesk { fixture in
            let line = ["register", "--json", "--redirect-uri", Self.redirect, "--client-document"]
            let document = try await fixture.start(line + ["https://app.example/client.json"]).outcome().result()
            #expect(document["client_id"] == "https://app.example/client.json")
            #expect(document["redirect_uris"]?.strings == [Self.redirect] && document["client_secret"] == nil)
            #expect(fixture.provider.log.isEmpty && fixture.stored.isEmpty)
            try await fixture.start(line + ["https://app.example"]).outcome().failure(1, "invalid_configuration")
            let issuers = ["--issuer", "https://a.example", "--issuer", "https://b.example"]
            let separate = try await fixture.start(line + ["https://app.example/c"] + issuers).outcome().result()
            let uris = separate["redirect_uris"]?.strings ?? []
            #expect(Set(uris).count == 2 && !uris.contains(Self.redirect))
            #expect(uris.allSatisfy { $0.hasPrefix("http://127.0.0.1/") && $0.hasSuffix("/callback") })
            #expect(separate["post_logout_redirect_uris"]?.strings == uris)
            let single = ["register", "--json", "--redirect-uri", Self.redirect] + issuers
            try await fixture.start(single).outcome().wrongUsage()
            for more in [["--client-auth", "basic"], ["--registration-endpoint", "https://a.example/r"]] {
                try await fixture.start(line + ["https://app.example/c"] + more).outcome().wrongUsage()
            }
        }
    }

    /// The provider has made the client by the time its response is read: nothing in the response may lose it.
    @Test func `a response with a malformed time still registers the client`() async throws {
        try await withDesk { fixture in
            let edit = Fault.editDocument { document in
                (document["client_id_issued_at"], document["client_secret_expires_at"]) = ("1700000000", "soon")
            }
            fixture.provider.fault(edit, at: .clientRegistration)
            let registration = try await register(fixture, ["--client-auth", "basic"]).result()
            #expect(registration["client_id_issued_at"] == 1_700_000_000)
            #expect(try await login(fixture).result()["client_id"] == registration["client_id"])
        }
    }

    @Test func `a client with an unusable authentication method is kept, and login reports why`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_method"] = "guess" }, at: .clientRegistration)
            let outcome = try await register(fixture)
            let id = try #require(try outcome.result()["client_id"]?.string)
            #expect(outcome.errors.contains("'guess'"), "\(outcome)")
            let message = try await login(fixture, ["--client-id", id]).failure(1, "invalid_response")
            #expect(message.contains("'guess'") && fixture.browser.visits.isEmpty)
        }
    }

    @Test func `a client that cannot be stored is printed, with a note`() async throws {
        try await withDesk { fixture in
            try FileManager.default.createDirectory(atPath: fixture.sessions, withIntermediateDirectories: true)
            try "".write(toFile: fixture.sessions + "/clients", atomically: true, encoding: .utf8)
            let outcome = try await register(fixture)
            #expect(try outcome.result()["client_id"]?.string?.isEmpty == false)
            #expect(outcome.errors.contains("the client is registered, but could not be stored here: "), "\(outcome)")
        }
    }

    @Test func `no line is printed that cannot sign in, but why`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["redirect_uris"] = ["vscode:/callback"] }, at: .clientRegistration)
            let outcome = try await fixture.run(
                "register", "--issuer", fixture.issuer, "--redirect-uri", Self.redirect)
            #expect(outcome.status == 0 && !outcome.output.contains("Sign in with"), "\(outcome)")
            #expect(outcome.errors.contains("'vscode:/callback', not '\(Self.redirect)'"), "\(outcome)")
        }
    }

    @Test func `a redirect URI that login cannot receive is named, and no line is printed`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["redirect_uris"] = ["https://app.example/cb"] }, at: .clientRegistration)
            let outcome = try await fixture.run(
                "register", "--issuer", fixture.issuer, "--redirect-uri", "https://app.example/cb")
            #expect(outcome.status == 0 && !outcome.output.contains("Sign in with"), "\(outcome)")
            #expect(outcome.errorLines.count == 1, "\(outcome)")
            #expect(
                outcome.errors.contains(
                    "'sign-in login' cannot use it: it can receive no redirect to https://app.example"),
                "\(outcome)")
            // Of several, the one that it can receive is used.
            fixture.provider.fault(
                .editDocument { $0["redirect_uris"] = ["https://app.example/cb", .string(Self.redirect)] },
                at: .clientRegistration)
            let line = ["register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "https://app.example/cb"]
            let both = try await fixture.start(line + ["--redirect-uri", Self.redirect]).outcome().result()
            let id = try #require(both["client_id"]?.string)
            _ = try await login(fixture, ["--client-id", id]).result()
        }
    }

    /// Some servers give every registration the same client ID.
    @Test(arguments: [[], ["--store", "keyring"]])
    func `a client that a sign-in registers for a resource does not replace the user's with the same ID`(
        store: [String]
    ) async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = .init(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            fixture.provider.fault(
                .editDocument { $0["client_id"] = "demo" }, at: .clientRegistration, times: nil)
            _ = try await register(fixture).result()
            try await fixture.withKeyring(.unlocked) { bus in
                for _ in 1...2 {
                    let line = ["device", "--json", "--resource", fixture.provider.url(.api)] + store
                    let process = try fixture.start(line, bus)
                    try await DeviceCode(process).decide("allow")
                    #expect(try await process.outcome().result()["client_id"] == "demo")
                }
                // Nor does the user's take the place of the session, which the client names until then.
                let named = ["--json", "--issuer", fixture.issuer, "--client-id", "demo"] + store
                let token = ["token"] + named
                let first = try await fixture.start(token, bus).outcome().result()["access_token"]
                let own = try await fixture.start(["login"] + named, bus).outcome()
                #expect(try own.result()["client_id"] == "demo")
                #expect(try await fixture.start(token, bus).outcome().result()["access_token"] != first)
                _ = try await fixture.start(["logout"] + named, bus).outcome().result()
                #expect(try await fixture.start(token, bus).outcome().result()["access_token"] == first)
            }
            #expect(fixture.provider.count(.clientRegistration) == 2, "each is kept")
        }
    }

    @Test(arguments: ["basic", "post", "client_secret_jwt"])
    func `a registered client with a secret needs no secret file`(method: String) async throws {
        try await withDesk { fixture in
            let registration = try await register(fixture, ["--client-auth", method]).result()
            let (id, secret) = (registration["client_id"]?.string, registration["client_secret"]?.string)
            let outcome = try await login(fixture, ["--client-id", try #require(id)])
            #expect(try outcome.result()["has_refresh_token"] == true)
            let token = try await fixture.run("token", "--force-refresh", "--verbose")
            #expect(token.status == 0)
            let texts = outcome.output + outcome.errors + token.errors
            #expect(!texts.contains(try #require(secret)))
        }
    }

    @Test func `a client with a key is registered with its public half`() async throws {
        try await withDesk { fixture in
            let path = "\(fixture.home)/key"
            try Data(SigningKey.generate(.es256).pem.utf8).write(to: URL(filePath: path))
            let registration = try await register(fixture, ["--client-auth", "private_key_jwt", "--client-key", path])
                .result()
            #expect(
                registration["jwks"]?["keys"]?.array?.count == 1 && registration["jwks"]?["keys"]?.array?[0]["d"] == nil
            )
            _ = try await login(fixture).result()
            let body = String(decoding: try #require(fixture.provider.log(.token).first).body, as: UTF8.self)
            #expect(body.contains("client_assertion="))
        }
    }

    @Test func `with several clients, --client-id chooses one`() async throws {
        try await withDesk { fixture in
            let ids = [try await register(fixture).result(), try await register(fixture).result()]
                .compactMap { $0["client_id"]?.string }
            let usage = try await login(fixture).wrongUsage()
            #expect(ids.allSatisfy(usage.contains))
            #expect(try await login(fixture, ["--client-id", ids[1]]).result()["client_id"]?.string == ids[1])
        }
    }

    @Test(arguments: [false, true])
    func `a client's damaged file matters only at its own issuer`(isHere: Bool) async throws {
        try await withDesk { fixture in
            _ = try await register(fixture).result()
            let folder = fixture.sessions + "/clients"
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            let name = try #require(files.first { $0.hasSuffix(".json") })
            let damaged = isHere ? name : "https%3A%2F%2Fother.example+id.json"
            try Data("{".utf8).write(to: URL(filePath: "\(folder)/\(damaged)"))
            let outcome = try await login(fixture)
            if isHere {
                #expect(try outcome.failure(1, "store").contains(name))
            } else {
                _ = try outcome.result()
            }
        }
    }

    @Test func `an initial access token is read from its file, and a refusal is the server's own`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration = DynamicRegistration(initialAccessToken: "let-me-in-please")
        try await withDesk(configuration) { fixture in
            #expect(try await register(fixture).failure(1, "invalid_token").contains("initial access token"))
            let path = "\(fixture.home)/token"
            try Data("let-me-in-please\n".utf8).write(to: URL(filePath: path))
            _ = try await register(fixture, ["--initial-access-token-file", path]).result()
            try await fixture.start(
                [
                    "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://app.example/",
                    "--initial-access-token-file", path,
                ]
            ).outcome().failure(1, "invalid_redirect_uri")
        }
    }

    @Test func `the text output holds no secret`() async throws {
        try await withDesk { fixture in
            let arguments = [
                "register", "--issuer", fixture.issuer, "--redirect-uri", Self.redirect, "--client-auth", "basic",
            ]
            let outcome = try await fixture.start(arguments).outcome()
            let id = try #require(outcome.output.firstMatch(of: #/ as (\S+)\.\n/#)).1
            #expect(outcome.status == 0)
            #expect(
                outcome.output.contains("sign-in login --issuer \(fixture.issuer) --client-id \(id)\n"), "\(outcome)")
            #expect(!outcome.output.contains("registration_access_token") && !outcome.output.contains("client_secret:"))
        }
    }

    @Test func `the scope is part of the registration, and of the command to sign in with`() async throws {
        try await withDesk { fixture in
            let arguments = [
                "register", "--issuer", fixture.issuer, "--redirect-uri", Self.redirect, "--scope", "openid email",
            ]
            let outcome = try await fixture.start(arguments).outcome()
            #expect(outcome.output.hasSuffix(" --scope 'openid email'\n"), "\(outcome)")
            let sent = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            #expect(sent["scope"] == "openid email")
            _ = try await register(fixture).result()
            let plain = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).last).body)
            #expect(plain["scope"] == nil)
        }
    }

    /// A provider that compares ports would refuse any other.
    @Test func `of several redirect URIs the one with a port is used`() async throws {
        try await withDesk { fixture in
            let redirectURI = "http://127.0.0.1:\(freePort())/fixed"
            _ = try await register(fixture, ["--redirect-uri", redirectURI]).result()
            _ = try await login(fixture).result()
            let used = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(used == redirectURI)
        }
    }

    @Test(arguments: [
        [], ["--redirect-uri", "http://127.0.0.1/", "--client-auth", "private_key_jwt"],
        ["--redirect-uri", "http://127.0.0.1/", "--client-key", "/tmp/x"], ["--redirect-uri"],
        ["--redirect-uri", "http://127.0.0.1:8400"], ["--redirect-uri", "http://127.0.0.1/cb?x=1"],
    ])
    func `an impossible registration is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["register", "--json", "--issuer", fixture.issuer] + arguments).outcome()
                .wrongUsage()
            #expect(fixture.provider.log.isEmpty)
        }
    }
}
