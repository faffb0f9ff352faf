import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// Sign-ins without a browser: `client-credentials` and `password`.
@Suite(.timeLimit(.minutes(5)))
struct GrantCommandTests {
    private func file(_ fixture: CommandFixture, _ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: "\(fixture.home)/\(name)"))
        return "\(fixture.home)/\(name)"
    }

    private func service(_ fixture: CommandFixture, secret: String = "service-secret-of-thirty-two-bytes") throws
        -> [String]
    {
        [
            "client-credentials", "--client-id", "demo-service", "--client-secret-file",
            try file(fixture, "secret", secret),
        ]
    }

    @Test func `a client gets a token for itself, and nothing is stored`() async throws {
        try await withDesk { fixture in
            let arguments = try service(fixture) + ["--issuer", fixture.issuer, "--scope", "api"]
            let result = try await fixture.start(arguments + ["--json"]).outcome().result()
            #expect(
                result.object?.members.map(\.name).sorted() == ["access_token", "expires_at", "scope", "token_type"])
            #expect(result["scope"]?.string == "api" && result["token_type"]?.string == "Bearer")
            #expect(fixture.stored.isEmpty)
            let text = try await fixture.start(arguments).outcome()
            #expect(text.status == 0 && text.errors.isEmpty && text.outputLines.count == 1)
        }
    }

    @Test(arguments: [
        ("\u{FEFF}", "", true), ("\u{FEFF}", "\r\n", true), ("\u{FEFF}\u{FEFF}", "", false), ("", "\u{FEFF}", false),
    ])
    func `a byte order mark before the secret is none of it`(before: String, after: String, isLeftOut: Bool)
        async throws
    {
        try await withDesk { fixture in
            let secret = before + "service-secret-of-thirty-two-bytes" + after
            let line = try service(fixture, secret: secret) + ["--issuer", fixture.issuer, "--scope", "api", "--json"]
            #expect(try await fixture.start(line).outcome().status == (isLeftOut ? 0 : 1))
        }
    }

    @Test func `with --token-endpoint no other request is made`() async throws {
        try await withDesk { fixture in
            let arguments =
                try service(fixture) + [
                    "--token-endpoint", fixture.provider.url(.token), "--resource", fixture.provider.url(.api),
                    "--client-auth", "post", "--json",
                ]
            _ = try await fixture.start(arguments).outcome().result()
            #expect(fixture.ownRequests == [.token])
            let body = String(decoding: try #require(fixture.provider.log(.token).first).body, as: UTF8.self)
            #expect(body.contains("resource=http%3A%2F%2F127.0.0.1") && body.contains("client_secret="))
        }
    }

    @Test func `a wrong secret is invalid_client, in one line without the secret`() async throws {
        try await withDesk { fixture in
            let arguments =
                try service(fixture, secret: "wrong-secret-of-thirty-two-bytes") + [
                    "--issuer", fixture.issuer, "--json",
                ]
            let outcome = try await fixture.start(arguments).outcome()
            try outcome.failure(1, "invalid_client")
            #expect(!(outcome.output + outcome.errors).contains("wrong-secret-of-thirty-two-bytes"))
        }
    }

    /// OpenSSL asks on the controlling terminal if no callback supplies the passphrase.
    @Test func `a key that is encrypted is refused, and the terminal is never asked for a passphrase`() async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/encrypted.pem"
            let openssl = try ChildProcess(
                [
                    "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-256-cbc",
                    "-pass", "pass:open sesame", "-out", path,
                ], environment: fixture.environment)
            _ = try await openssl.outcome()
            let terminal = try Pseudoterminal()
            let arguments = [
                "login", "--issuer", fixture.issuer, "--client-id", "signer", "--client-auth", "private_key_jwt",
                "--client-key", path, "--json", "--timeout", "20",
            ]
            let outcome = try await fixture.start(arguments, input: terminal.input).outcome()
            try outcome.failure(1, "invalid_configuration")
            #expect(outcome.errors.contains(path) && outcome.errors.contains("encrypted"))
            #expect(terminal.shown() == "" && fixture.ownRequests.isEmpty)
        }
    }

    @Test func `a client authenticates with its key, and the session stores the key's path`() async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = LocalProvider.Configuration.demo
        configuration.clients = [
            RegisteredClient(
                id: "signer", keys: [key.publicKey], redirectURIs: [.anyLoopback],
                grantTypes: ["client_credentials", "authorization_code", "refresh_token"])
        ]
        try await withDesk(configuration) { fixture in
            let path = try file(fixture, "key", key.pem)
            let arguments = ["--issuer", fixture.issuer, "--client-id", "signer", "--client-key", path, "--json"]
            _ = try await fixture.start(["client-credentials"] + arguments).outcome().result()
            _ = try await fixture.start(["login", "--client-auth", "private_key_jwt"] + arguments).outcome().result()
            let session = String(decoding: try fixture.session(), as: UTF8.self)
            #expect(session.contains("private_key_jwt") && !session.contains("PRIVATE KEY"))
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let forms = fixture.provider.log(.token).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(forms.count == 3 && forms.allSatisfy { $0.contains("client_assertion=") })
            // Without the key nothing is sent, and the session stays.
            try FileManager.default.removeItem(atPath: path)
            let without = try await fixture.run("token", "--force-refresh", "--json")
            #expect(try without.failure(1, "invalid_configuration").contains("\(path): No such file or directory"))
            #expect(fixture.provider.count(.token) == 3)
            _ = try file(fixture, "key", key.pem)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    /// As with a shell's `<(pass show client)`.
    @Test(arguments: ["", "\n", "\r\n"])
    func `a secret may come from a pipe, but a key may not`(
        lineEnd: String
    ) async throws {
        try await withDesk { fixture in
            let secret = try fixture.pipe("pipe", bringing: Array("service-secret-of-thirty-two-bytes\(lineEnd)".utf8))
            let arguments = ["client-credentials", "--issuer", fixture.issuer, "--client-id", "demo-service", "--json"]
            _ = try await fixture.start(arguments + ["--client-secret-file", secret]).outcome().result()
            #expect(mkfifo(fixture.home + "/key", 0o600) == 0)
            let outcome = try await fixture.start(arguments + ["--client-key", fixture.home + "/key"]).outcome()
            #expect(try outcome.failure(1, "invalid_configuration").contains("expected a regular file"))
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `reading from an idle pipe ends at the timeout`() async throws {
        try await withDesk { fixture in
            #expect(mkfifo(fixture.home + "/pipe", 0o600) == 0)
            let arguments = [
                "client-credentials", "--issuer", fixture.issuer, "--client-id", "demo-service", "--json",
                "--client-secret-file", fixture.home + "/pipe", "--timeout", "1",
            ]
            try await fixture.start(arguments).outcome().failure(1, "timeout")
            // This terminal could supply it.
            let silent = open(fixture.home + "/pipe", O_RDWR)
            defer { close(silent) }
            try await fixture.start(arguments).outcome().failure(1, "timeout")
            #expect(fixture.provider.count(.token) == 0)
        }
    }

    @Test func `client_secret_jwt does not send the secret`() async throws {
        try await withDesk { fixture in
            let arguments =
                try service(fixture) + ["--issuer", fixture.issuer, "--client-auth", "client_secret_jwt", "--json"]
            _ = try await fixture.start(arguments).outcome().result()
            let body = String(decoding: try #require(fixture.provider.log(.token).first).body, as: UTF8.self)
            #expect(body.contains("client_assertion=") && !body.contains("service-secret-of-thirty-two-bytes"))
        }
    }

    @Test func `a secret is sent by the most common method that the provider lists`() async throws {
        var configuration = LocalProvider.Configuration.demo
        for index in configuration.clients.indices where configuration.clients[index].secret != nil {
            configuration.clients[index].authentication = [.basic, .post]
        }
        try await withDesk(configuration) { fixture in
            _ = try await fixture.start(service(fixture) + ["--issuer", fixture.issuer, "--json"]).outcome().result()
            _ = try await fixture.start(passwordArguments(fixture)).outcome().result()
            let subject = try file(fixture, "subject", fixture.provider.mintSession().accessToken)
            let exchange = try [
                "exchange", "--json", "--subject-token-file", subject, "--issuer", fixture.issuer, "--client-id",
                "demo-confidential", "--client-secret-file",
                file(fixture, "secret", "s3cret: 100% äß+/= and thirty-two"),
            ]
            _ = try await fixture.start(exchange).outcome().result()
            #expect(fixture.provider.log(.token).allSatisfy { $0.headers[.authorization]?.hasPrefix("Basic ") == true })
        }
    }

    @Test(arguments: [
        [], ["--issuer", "https://op.example", "--token-endpoint", "https://op.example/token"],
        ["--issuer", "https://op.example", "--client-auth", "none"],
    ])
    func `impossible client credentials are wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(service(fixture) + arguments + ["--json"]).outcome().wrongUsage()
            let without = ["client-credentials", "--issuer", "https://op.example", "--client-id", "a", "--json"]
            try await fixture.start(without).outcome().wrongUsage()
        }
    }

    private func passwordArguments(
        _ fixture: CommandFixture, user: String = "alice", password: String = "looking-glass"
    ) throws -> [String] {
        [
            "password", "--issuer", fixture.issuer, "--client-id", "demo-confidential", "--client-secret-file",
            try file(fixture, "secret", "s3cret: 100% äß+/= and thirty-two"), "--username", user, "--password-file",
            try file(fixture, "password", password), "--json",
        ]
    }

    @Test func `password signs in with a warning, and the session is stored without the password`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(passwordArguments(fixture)).outcome()
            #expect(outcome.status == 0 && outcome.errors.contains("RFC 9700 §2.4"))
            let result = try outcome.json()
            #expect(result["id_token_claims"]?["sub"]?.string == "248289761001")
            #expect(result["has_refresh_token"] == true)
            #expect(!String(decoding: try fixture.session(), as: UTF8.self).contains("looking-glass"))
            let token = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(token["token_type"]?.string == "Bearer")
        }
    }

    @Test func `a wrong password is invalid_grant, and an earlier session stays`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.start(passwordArguments(fixture)).outcome().result()
            let before = try fixture.session()
            let outcome = try await fixture.start(passwordArguments(fixture, password: "open-sesame")).outcome()
            try outcome.failure(1, "invalid_grant")
            #expect(!(outcome.output + outcome.errors).contains("open-sesame"))
            #expect(try fixture.session() == before)
        }
    }

    @Test func `a password does not replace the session of a profile's user by another user's`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            func signIn(_ user: String, _ password: String, _ options: String...) async throws -> Outcome {
                try await fixture.start(passwordArguments(fixture, user: user, password: password) + options).outcome()
            }
            _ = try await signIn("bob", "builder", "--profile", "home").result()
            let before = try await fixture.run("token", "--profile", "home").output
            let refused = try await signIn("alice", "looking-glass", "--profile", "home").failure(1, "session_replaced")
            #expect(refused.hasSuffix("sign-in logout --profile home"), "\(refused)")
            #expect(try await fixture.run("token", "--profile", "home").output == before)
            _ = try await signIn("bob", "builder", "--profile", "home").result()
            #expect(try await fixture.run("token", "--profile", "home").output != before)
            // The profile remembers the options.
            let again = try await fixture.run("password", "--json", "--profile", "home").result()
            #expect(again["id_token_claims"]?["sub"] == "bob")
            // Without a profile, the session is that of the client, with any user.
            _ = try await signIn("bob", "builder").result()
            let count = fixture.provider.count(.revocation)
            #expect(try await signIn("alice", "looking-glass").result()["id_token_claims"]?["sub"] == "248289761001")
            #expect(fixture.provider.count(.revocation) == count + 2)
        }
    }

    @Test func `a provider that takes its time gets no profile that is another session's by then`() async throws {
        try await withDesk { fixture in
            let path = "\(fixture.sessions)/home.json"
            _ = try await fixture.login("--store", "file:\(path).other").result()
            let hold = fixture.provider.hold(.openIDConfiguration)
            let process = try fixture.start(passwordArguments(fixture) + ["--profile", "home"])
            try await hold.arrived()
            try FileManager.default.moveItem(atPath: path + ".other", toPath: path)
            hold.release()
            try await process.outcome().failure(1, "session_replaced")
            let refused = try await fixture.run("token", "--json", "--profile", "home")
                .failure(1, "invalid_configuration")
            #expect(refused.hasSuffix("has the session of another sign-in, not of the profile 'home'"), "\(refused)")
            #expect(try await fixture.run("token", "--json", "--store", "file:\(path)").result()["scope"] != nil)
        }
    }

    @Test func `a missing password file is an error without a prompt`() async throws {
        try await withDesk { fixture in
            var arguments = try passwordArguments(fixture)
            arguments[arguments.count - 2] = fixture.home + "/none"
            let outcome = try await fixture.start(arguments).outcome()
            #expect(
                try outcome.failure(1, "invalid_configuration")
                    .contains("--password-file: \(fixture.home)/none: No such file"))
            #expect(fixture.ownRequests.isEmpty)
        }
    }
}
