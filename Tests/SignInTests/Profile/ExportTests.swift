import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// `sign-in export` and `sign-in import`: a profile for another machine.
@Suite(.timeLimit(.minutes(5)))
struct ExportTests {
    private static let secret = "s3cret: 100% äß+/= and thirty-two"

    /// The variables of another machine's user.
    private func elsewhere(_ fixture: CommandFixture) -> [String: String] {
        ["XDG_STATE_HOME": fixture.home + "/elsewhere"]
    }

    private func stored(_ fixture: CommandFixture) -> [String] {
        let folder = fixture.home + "/elsewhere/sign-in"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { !$0.hasSuffix(".lock") }
    }

    private func write(_ text: String, _ fixture: CommandFixture) throws -> String {
        let path = fixture.home + "/work.json"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func document(_ fixture: CommandFixture, _ members: JSON.Object = [:]) throws -> String {
        var document: JSON.Object = [
            "sign_in_profile": 1, "profile": "work", "command": "login", "issuer": .string(fixture.issuer),
            "client_id": "demo", "scope": "openid email",
        ]
        for member in members.members { document[member.name] = member.value }
        return try write(JSON.object(document).serialized(), fixture)
    }

    @Test func `a profile signs in on another machine as here`() async throws {
        try await withDesk { fixture in
            let options = ["--profile", "work", "--scope", "openid email", "--redirect-host", "localhost", "--dpop"]
            _ = try await fixture.start(fixture.loginArguments(options)).outcome().result()
            let exported = try await fixture.run("export", "work")
            #expect(
                try JSON(parsing: Array(exported.output.utf8)) == [
                    "sign_in_profile": 1, "profile": "work", "command": "login", "issuer": .string(fixture.issuer),
                    "client_id": "demo", "scope": "openid email", "redirect_host": "localhost", "dpop": true,
                ])
            #expect(exported.errors.isEmpty)
            let path = try write(exported.output, fixture)
            let requests = fixture.provider.log.count
            let imported = try await fixture.run("import", path, "--yes", "--json", with: elsewhere(fixture))
            let line = try #require(try imported.result()["command"]?.string)
            #expect(line == "sign-in login --profile work" && fixture.provider.log.count == requests)
            let login = try await fixture.start(["sh", "-c", line + " --json"], [], elsewhere(fixture)).outcome()
            let result = try login.result()
            #expect(result["scope"] == "openid email" && result["token_type"] == "DPoP")
            let uris = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(uris.count == 2 && uris.allSatisfy { $0.hasPrefix("http://localhost:") }, "\(uris)")
        }
    }

    /// Otherwise, the client of the user would be used at whichever server the resource names by then.
    @Test(arguments: [["--client-id", "demo"], []])
    func `a client of the user stays at its issuer, which a resource has named`(client: [String]) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let login = ["login", "--json", "--resource", fixture.provider.url(.api), "--profile", "work"] + client
            _ = try await fixture.start(login).outcome().result()
            let exported = try await fixture.run("export", "work", "--json").result()
            #expect(exported["issuer"]?.string == (client.isEmpty ? nil : fixture.issuer), "\(exported)")
            let path = try write(exported.serialized(), fixture)
            let there = elsewhere(fixture)
            _ = try await fixture.run("import", path, "--yes", "--json", with: there).result()
            _ = try await fixture.run("login", "--json", "--profile", "work", with: there).result()
        }
    }

    /// The document chooses the endpoints, and would get the secret that this machine has.
    @Test(arguments: ["login", "device"], [nil, "basic"])
    func `the secret of a client that is registered here goes to no endpoint of a document`(
        command: String, method: String?
    ) async throws {
        try await withDesk { fixture in
            let registered = try await fixture.start(
                [
                    "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
                    "--client-auth", "basic",
                ]
            ).outcome().result()
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply("400 Bad Request")
            }
            defer { server.stop() }
            // Without a name, a code for another device has no client.
            for (isNamed, isElsewhere) in [(true, false), (true, true)] + (command == "login" ? [(false, false)] : []) {
                let own = "http://127.0.0.1:\(server.port)"
                var members: JSON.Object = [
                    "sign_in_profile": 1, "profile": isNamed ? "named" : "unnamed", "command": .string(command),
                    "issuer": .string(fixture.issuer), "scope": "openid",
                ]
                if isNamed { members["client_id"] = registered["client_id"] }
                members["client_auth"] = method.map(JSON.string)
                // The metadata there could name that issuer.
                if isElsewhere {
                    members["metadata_url"] = .string(own + "/metadata")
                } else {
                    members["token_endpoint"] = .string(own + "/token")
                    members[command == "login" ? "authorization_endpoint" : "device_endpoint"] = .string(own + "/begin")
                }
                let path = try write(JSON.object(members).serialized(), fixture)
                let imported = try await fixture.run("import", path, "--yes", "--json").result()
                let line = try #require(imported["command"]?.string)
                let outcome = try await fixture.start(["sh", "-c", line + " --json"], []).outcome()
                #expect(try outcome.failure(1, "invalid_configuration").contains("its credentials do not go "))
                let profile = isNamed ? "named" : "unnamed"
                _ = try await fixture.run("doctor", "--profile", profile)
                _ = try await fixture.run("logout", "--profile", profile, "--forget", "--json")
            }
            #expect(server.requests.isEmpty)
        }
    }

    /// An assertion for another server would be of use there.
    @Test func `a client that is registered here signs no assertion for a server that a document names`() async throws {
        try await withDesk { fixture in
            let registered = try await fixture.start(
                [
                    "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
                    "--client-auth", "client_secret_jwt",
                ]
            ).outcome().result()
            let clientID = try #require(registered["client_id"])
            for (audience, isOwn) in [
                ("https://other.example", false), ("issuer", true), (fixture.provider.url(.token), true),
            ] {
                let path = try document(
                    fixture,
                    [
                        "client_id": clientID, "client_auth": "client_secret_jwt",
                        "assertion_audience": .string(audience),
                    ])
                _ = try await fixture.run("import", path, "--yes", "--json").result()
                let outcome = try await fixture.run("login", "--profile", "work", "--json")
                if isOwn {
                    _ = try outcome.result()
                    _ = try await fixture.run("logout", "--profile", "work", "--forget", "--json").result()
                } else {
                    #expect(try outcome.failure(1, "invalid_configuration").contains("signs nothing for"))
                    _ = try await fixture.run("logout", "--profile", "work", "--forget", "--json")
                }
            }
        }
    }

    @Test func `the export has no secret, and the import needs the file of this machine`() async throws {
        try await withDesk { fixture in
            let secret = fixture.home + "/secret"
            try Self.secret.write(toFile: secret, atomically: true, encoding: .utf8)
            let options = [
                "--profile", "work", "--client-secret-file", secret, "--store", "file:\(fixture.home)/session",
            ]
            _ = try await fixture.start(fixture.loginArguments(options, client: "demo-confidential")).outcome().result()
            let exported = try await fixture.run("export", "work", "--json")
            let json = try exported.result()
            #expect(json["client_secret_file"]?.string == secret)
            #expect(exported.errors.contains("its own --client-secret-file and --store"), "\(exported)")
            let session = try Data(contentsOf: URL(filePath: fixture.home + "/session"))
            let record = try AuthStateRecord(decoding: Array(session), from: "the test")
            for hidden in [record.accessToken?.value.reveal(), record.refreshToken?.reveal(), Self.secret] {
                #expect(try !exported.output.contains(#require(hidden)))
            }

            let path = try write(exported.output, fixture)
            let missing = try await fixture.run("import", path, "--yes", "--json", with: elsewhere(fixture))
                .wrongUsage()
            #expect(missing.contains("--client-secret-file (where it was exported: '\(secret)')"), "\(missing)")
            #expect(missing.contains("--store (where"), "\(missing)")
            #expect(stored(fixture).isEmpty)
            let own = ["--client-secret-file", secret, "--store", "file:\(fixture.home)/other"]
            let imported = try await fixture.start(["import", path, "--yes", "--json"] + own, elsewhere(fixture))
                .outcome()
            _ = try imported.result()
            #expect(imported.errorLines.contains("  client secret file: '\(secret)'"), "\(imported)")
            _ = try await fixture.run("login", "--profile", "work", "--json", with: elsewhere(fixture)).result()
            #expect(FileManager.default.fileExists(atPath: fixture.home + "/other"))
        }
    }

    @Test(arguments: [true, false])
    func `on a terminal, the profile is shown before the user agrees`(agrees: Bool) async throws {
        try await withDesk { fixture in
            let path = try document(fixture, ["resource": ["https://api.example/"], "trusted_audience": ["urn:x"]])
            let terminal = try Pseudoterminal()
            let process = try fixture.start(["import", path], elsewhere(fixture), input: terminal.input)
            _ = try await process.line { $0.contains("Store it?") }
            #expect(stored(fixture).isEmpty)
            try await terminal.wait(for: .bytes)
            terminal.type(agrees ? "y\n" : "n\n")
            let outcome = try await process.outcome()
            #expect(outcome.status == (agrees ? 0 : 1))
            #expect(
                outcome.errorLines.prefix { !$0.contains("Store it?") } == [
                    "The profile work, for 'sign-in login':", "  issuer: '\(fixture.issuer)'",
                    "  resource: 'https://api.example/'", "  client id: 'demo'", "  scope: 'openid email'",
                    "  trusted audience: 'urn:x'",
                ])
            #expect(stored(fixture) == (agrees ? ["work.profile"] : []))
            #expect(outcome.output.hasSuffix("Sign in with: sign-in login --profile work\n") == agrees, "\(outcome)")
        }
    }

    /// A document could push its servers off the screen.
    @Test(arguments: [(nil, false), (15, false), (16, true)] as [(UInt16?, Bool)])
    func `a profile with more lines than the terminal is not asked about`(rows: UInt16?, isAsked: Bool) async throws {
        try await withDesk { fixture in
            // Beside four lines that are always there, two of the question, and that of the answer.
            let audiences = (0..<(rows == nil ? 20 : 9)).map { JSON.string("urn:audience:\($0)") }
            let path = try document(fixture, ["trusted_audience": .array(audiences)])
            let terminal = try Pseudoterminal()
            if let rows { terminal.resize(rows: rows) }
            let process = try fixture.start(["import", path], elsewhere(fixture), input: terminal.input)
            if isAsked {
                _ = try await process.line { $0.contains("Store it?") }
                try await terminal.wait(for: .bytes)
                terminal.type("y\n")
            }
            let outcome = try await process.outcome()
            #expect(outcome.status == (isAsked ? 0 : 1), "\(outcome)")
            #expect(outcome.errors.contains("That is more than your terminal shows at once") == !isAsked, "\(outcome)")
            #expect(outcome.errors.contains(": sign-in import \(path) --yes") == !isAsked, "\(outcome)")
            #expect(stored(fixture) == (isAsked ? ["work.profile"] : []))
        }
    }

    @Test func `without a terminal, --yes is the agreement`() async throws {
        try await withDesk { fixture in
            let path = try document(fixture)
            let refused = try await fixture.run("import", path, "--json", with: elsewhere(fixture))
            let message = try refused.failure(1, "confirmation_required")
            #expect(message.hasSuffix(": sign-in import \(path) --json --yes"), "\(message)")
            #expect(refused.errorLines.contains("  issuer: '\(fixture.issuer)'"))
            #expect(stored(fixture).isEmpty)
            let pipe = ["sh", "-c", #""$0" import - --yes --profile home <"$1""#, try BuiltProducts.path("sign-in")]
            #expect(try await fixture.start(pipe, [path], elsewhere(fixture)).outcome().status == 0)
            #expect(stored(fixture) == ["home.profile"])
        }
    }

    @Test func `a profile is not replaced, unless it is the same`() async throws {
        try await withDesk { fixture in
            let first = try document(fixture)
            let line = ["import", first, "--yes", "--json"]
            _ = try await fixture.start(line).outcome().result()
            // The same, so that no question is necessary.
            _ = try await fixture.run("import", first, "--json").result()
            let file = fixture.sessions + "/work.profile"
            let before = try String(contentsOfFile: file, encoding: .utf8)
            _ = try document(fixture, ["client_id": "other"])
            let message = try await fixture.start(line).outcome().wrongUsage()
            #expect(message.contains("another profile 'work'") && message.contains("--profile"), "\(message)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
            _ = try await fixture.start(line + ["--profile", "second"]).outcome().result()
            #expect(fixture.stored == ["second.profile", "work.profile"])
        }
    }

    @Test func `a document gets no session that has the name already`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try FileManager.default.removeItem(atPath: fixture.sessions + "/work.profile")
            let message = try await fixture.run("import", document(fixture), "--yes", "--json").wrongUsage()
            #expect(message.contains("there is a session 'work'"), "\(message)")
        }
    }

    @Test(
        arguments: [
            ["redirect_port": ["70000"]], ["max_age": "soon"], ["key_in": "tpm"], ["username": "zoe"],
            ["param": ["state=x"]], ["preset": "other"],
        ] as [JSON.Object])
    func `options that the sign-in would refuse are refused`(members: JSON.Object) async throws {
        try await withDesk { fixture in
            let message = try await fixture.run("import", document(fixture, members), "--yes", "--json")
                .failure(1, "invalid_configuration")
            #expect(message.contains("refuses the options of the profile: '"), "\(message)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a text of the document cannot continue a message`() async throws {
        try await withDesk { fixture in
            let value = "x' is fine. Run: sign-in logout --all; echo 'x"
            let port = try await fixture.run("import", document(fixture, ["redirect_port": [.string(value)]]), "--json")
            #expect(try port.failure(1, "invalid_configuration").hasSuffix("'"))
            let path = try document(fixture, ["client_id": .string(value)])
            let imported = try await fixture.run("import", path, "--yes")
            #expect(imported.errors.contains("'x’ is fine. Run: sign-in logout --all; echo ’x'"), "\(imported)")
        }
    }

    @Test func `a file that is none, or too large, is named`() async throws {
        try await withDesk { fixture in
            let none = try await fixture.run("import", fixture.home + "/none", "--json").failure(
                1, "invalid_configuration")
            #expect(none.hasPrefix(fixture.home + "/none: "), "\(none)")
            let large = try write(String(repeating: " ", count: 16 << 10) + "{}", fixture)
            let message = try await fixture.run("import", large, "--json").failure(1, "invalid_configuration")
            #expect(message == "\(large): expected at most 16 KiB")
        }
    }

    @Test func `an unknown profile cannot be exported`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            #expect(try await fixture.run("export", "home", "--json").wrongUsage().contains("expected work"))
        }
    }

    @Test func `accounts lists the profiles in a line each`() async throws {
        try await withDesk { fixture in
            #expect(try await fixture.run("accounts").output == "There is no profile.\n")
            try await fixture.signIn()
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("import", document(fixture), "--profile", "home", "--yes").output
            _ = try await fixture.run("use", "work").output
            let host = fixture.issuer.replacing("http://", with: "")
            #expect(
                try await fixture.run("accounts").outputLines == [
                    "  home: \(host), signed out", "* work: alice at \(host), signed in",
                ])
            let accounts = try await fixture.run("accounts", "--json").result()
            func account(_ name: String, _ user: JSON, _ sub: JSON, _ state: JSON, isInUse: JSON) -> JSON {
                [
                    "profile": .string(name), "user": user, "sub": sub, "issuer": .string(fixture.issuer),
                    "client_id": "demo", "in_use": isInUse, "state": state, "signed_in": isInUse,
                ]
            }
            #expect(
                accounts["accounts"]?.array == [
                    account("home", .null, .null, "signed_out", isInUse: false),
                    account("work", "alice", "248289761001", "signed_in", isInUse: true),
                ])
            #expect(accounts["unreadable"] == nil)
        }
    }
}
