import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import SoftwareTPM
import TestFixtures
import Testing

/// `--dpop --key-in tpm` (RFC 9449).
@Suite(.timeLimit(.minutes(10)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct KeyDeviceTests {
    private static var strict: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].requiresDPoP = true
        return configuration
    }

    @Test func `with --key-in tpm the key of the session stays in the TPM, for several commands at once`() async throws
    {
        try await withDesk(Self.strict) { fixture in
            let tpm = try SoftwareTPM()
            defer { tpm.stop() }
            let result = try await fixture.login("--dpop", "--key-in", "tpm", with: tpm.environment).result()
            #expect(result["token_type"]?.string == "DPoP")
            #expect(String(decoding: try fixture.session(), as: UTF8.self).contains("BEGIN TSS2 PRIVATE KEY"))
            for command in [["token", "--force-refresh"], ["userinfo"]] {
                _ = try await fixture.start(command + ["--json"], tpm.environment).outcome().result()
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        let url = fixture.issuer + "/api/echo"
                        let echo = try await fixture.run("request", "GET", url, "--json", with: tpm.environment)
                        #expect(try echo.result()["status"]?.int == 200)
                    }
                }
                try await group.waitForAll()
            }
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let refused = try await fixture.run("token", "--force-refresh", "--json", with: tpm.environment)
            #expect(try refused.failure(1, "sign_in_required").contains("--dpop --key-in tpm"))
        }
    }

    @Test func `a copy of the session is worth nothing on another machine, and does not disturb the first one`()
        async throws
    {
        try await withDesk(Self.strict) { fixture in
            let own = try SoftwareTPM()
            defer { own.stop() }
            let other = try SoftwareTPM()
            defer { other.stop() }
            _ = try await fixture.login("--dpop", "--key-in", "tpm", with: own.environment).result()
            let copy = fixture.home + "/copy"
            try FileManager.default.copyItem(atPath: fixture.stateHome, toPath: copy)
            let path = "\(copy)/sign-in/\(try #require(fixture.stored.first))"
            var there: [String: String?] = ["XDG_STATE_HOME": copy]
            for (name, value) in other.environment { there[name] = value }

            let sent = fixture.provider.count(.token)
            for _ in 0..<20 {
                let message = try await fixture.run("token", "--force-refresh", "--json", with: there)
                    .failure(1, "unavailable")
                #expect(message.contains("another has made"), "\(message)")
                try CommandFixture.editSession(at: path) { $0["backoff"] = nil }
            }
            for arguments in [["userinfo"], ["request", "GET", fixture.issuer + "/api/echo"]] {
                #expect(try await fixture.start(arguments + ["--json"], there).outcome().status == 1)
            }
            #expect(fixture.provider.count(.token) == sent && fixture.provider.count(.userInfo) == 0)
            #expect(fixture.provider.count(.api) == 0)

            // The refresh token with a key of the thief's own: the server refuses it (RFC 9449 §5).
            try CommandFixture.editSession(at: path) { $0["proofKey"] = try DPoPKey(.es256).stored }
            let refused = try await fixture.run("token", "--force-refresh", "--json", with: there)
            #expect(refused.status == 1 && fixture.provider.count(.token) == sent + 1, "\(refused)")

            _ = try await fixture.run("token", "--force-refresh", "--json", with: own.environment).result()
            let claims = try await fixture.run("userinfo", "--json", with: own.environment).result()
            #expect(claims["sub"]?.string == "248289761001")
            for (variables, found) in [(own.environment, [JSON]()), (other.environment, ["key-unusable"])] {
                let doctor = try await fixture.run("doctor", "--json", with: variables)
                let findings = try JSON(parsing: Array(doctor.output.utf8))["findings"]?.array ?? []
                #expect(findings.compactMap { $0["name"] } == found, "\(doctor)")
            }
        }
    }

    /// On another machine, the same handle has another key, or none.
    @Test func `a key at a handle of the TPM is used, and no other one in its place`() async throws {
        try await withDesk(Self.strict) { fixture in
            let (own, other, empty) = (try SoftwareTPM(), try SoftwareTPM(), try SoftwareTPM())
            defer { for tpm in [own, other, empty] { tpm.stop() } }
            for (name, tpm) in [("own", own), ("other", other)] {
                let folder = "\(fixture.home)/\(name)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try tpm.makeKeys([("0x81000001", "")], in: folder)
            }
            let login = fixture.loginArguments(["--dpop", "--key-in", "handle:0x81000001"])
            let result = try await fixture.start(login, own.environment).outcome().result()
            #expect(result["token_type"]?.string == "DPoP")
            let stored = try JSON(parsing: Array(fixture.session()))
            #expect(stored["proofKey"]?["pem"]?.string == "handle:0x81000001")
            let refresh = ["token", "--force-refresh", "--json"]
            _ = try await fixture.start(refresh, own.environment).outcome().result()
            for (tpm, found) in [(other, "the device has another key instead"), (empty, "finds no such key")] {
                let sent = fixture.provider.count(.token)
                let refused = try await fixture.start(refresh, tpm.environment).outcome()
                #expect(try refused.failure(1, "unavailable").contains(found), "\(refused)")
                #expect(fixture.provider.count(.token) == sent)
                let doctor = try await fixture.start(["doctor", "--json"], tpm.environment).outcome()
                #expect(doctor.output.contains("key-unusable"), "\(doctor)")
                let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
                try CommandFixture.editSession(at: path) { $0["backoff"] = nil }
            }
            let elsewhere = try await fixture.start(login, empty.environment).outcome()
            #expect(try elsewhere.failure(1, "unavailable").contains("finds no such key"), "\(elsewhere)")
            _ = try await fixture.start(refresh, own.environment).outcome().result()
        }
    }
}

/// `--client-key` with a key in a TPM (`private_key_jwt`).
@Suite(.timeLimit(.minutes(10)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct ClientKeyInDeviceTests {
    private static func jwk(of pem: String) throws -> JWK {
        let base64 = pem.split(separator: "\n").dropFirst().dropLast().joined()
        // SubjectPublicKeyInfo (RFC 5480 §2.1): the uncompressed point is at the end.
        let point = Array(try #require(Data(base64Encoded: base64))).suffix(64)
        return JWK(.ec(.p256, x: Array(point.prefix(32)), y: Array(point.suffix(32))), use: "sig", alg: "ES256")
    }

    @Test func `a URI names the client's key, a file has its PIN, and a wrong PIN is tried once`() async throws {
        try await Self.withKeys { tpm, folder, fixture in
            try Data("1234\n".utf8).write(to: URL(filePath: folder + "/right"))
            try Data("4321\n".utf8).write(to: URL(filePath: folder + "/wrong"))
            func login(_ client: String, _ key: String, pin: String? = nil) async throws -> Outcome {
                var variables: [String: String?] = tpm.environment
                if let pin { variables["SIGN_IN_KEY_PIN_FILE"] = "\(folder)/\(pin)" }
                let arguments = ["--client-key", key, "--store", "file:\(fixture.home)/\(client).json"]
                return try await fixture.start(fixture.loginArguments(arguments, client: client), variables).outcome()
            }
            _ = try await login("open", "handle:0x81000001").result()
            let stored = try String(contentsOfFile: fixture.home + "/open.json", encoding: .utf8)
            #expect(stored.contains("\"handle:0x81000001\""))
            let options = ["token", "--force-refresh", "--json", "--store", "file:\(fixture.home)/open.json"]
            _ = try await fixture.start(options, tpm.environment).outcome().result()

            for key in ["handle:0x81000002", "handle:0x81000002?pass"] {
                _ = try await login("locked", key, pin: "right").result()
                let locked = try String(contentsOfFile: fixture.home + "/locked.json", encoding: .utf8)
                #expect(!locked.contains("1234"))
            }
            #expect(try tpm.wrongPINs() == "0x0")
            let wrong = try await login("locked", "handle:0x81000002", pin: "wrong")
            #expect(try wrong.failure(1, "invalid_configuration").contains("PIN may be wrong"), "\(wrong)")
            #expect(try tpm.wrongPINs() == "0x1")
        }
    }

    @Test func `the PIN is asked for on the terminal, where it stays hidden, and a wrong one is tried once`()
        async throws
    {
        try await Self.withKeys { tpm, _, fixture in
            func login(typing pin: String) async throws -> Outcome {
                let terminal = try Pseudoterminal()
                let arguments = fixture.loginArguments(["--client-key", "handle:0x81000002?pass"], client: "locked")
                let process = try fixture.start(arguments, tpm.environment, input: terminal.input)
                _ = try await process.line { $0.contains("asks for its PIN") }
                try await terminal.wait(for: .bytes)
                terminal.type(pin + "\r")
                let outcome = try await process.outcome()
                #expect(terminal.shown().contains("asks for its PIN") && !terminal.shown().contains(pin))
                #expect(terminal.mode == .lines && !outcome.errorLines.joined().contains(pin))
                return outcome
            }
            _ = try await login(typing: "1234").result()
            #expect(try tpm.wrongPINs() == "0x0")
            let wrong = try await login(typing: "4321")
            #expect(try wrong.failure(1, "invalid_configuration").contains("PIN may be wrong"), "\(wrong)")
            #expect(try tpm.wrongPINs() == "0x1")

            // A command without a terminal says what to do, and gives the device no PIN.
            let refused = try await fixture.run("token", "--force-refresh", "--json", with: tpm.environment)
            let message = try refused.failure(1, "invalid_configuration")
            #expect(message.contains("Write it to a file, and set SIGN_IN_KEY_PIN_FILE to its path"), "\(message)")
            #expect(try tpm.wrongPINs() == "0x1")
        }
    }

    /// Runs the body with a TPM that has a key without a PIN for the client `open`, and one with the PIN 1234 for `locked`.
    private static func withKeys(
        _ body: @Sendable (SoftwareTPM, _ folder: String, CommandFixture) async throws -> Void
    ) async throws {
        let tpm = try SoftwareTPM()
        defer { tpm.stop() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try tpm.makeKeys([("0x81000001", ""), ("0x81000002", "1234")], in: folder)
        var configuration = LocalProvider.Configuration.demo
        for (id, handle) in [("open", "0x81000001"), ("locked", "0x81000002")] {
            let key = try jwk(of: String(contentsOfFile: "\(folder)/\(handle).pem", encoding: .utf8))
            configuration.clients.append(RegisteredClient(id: id, keys: [key], redirectURIs: [.anyLoopback]))
        }
        try await withDesk(configuration) { fixture in try await body(tpm, folder, fixture) }
    }

    @Test func `a file has the key as the TPM has wrapped it`() async throws {
        let tpm = try SoftwareTPM()
        defer { tpm.stop() }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try tpm.run(
            "sh", "-ec",
            """
            cd \(folder)
            openssl genpkey -provider tpm2 -algorithm EC -pkeyopt group:P-256 -out key.pem
            openssl pkey -provider tpm2 -provider base -in key.pem -pubout -out public.pem
            """)
        let key = try Self.jwk(of: String(contentsOfFile: folder + "/public.pem", encoding: .utf8))
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "wrapped", keys: [key], redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            let arguments = fixture.loginArguments(["--client-key", folder + "/key.pem"], client: "wrapped")
            _ = try await fixture.start(arguments, tpm.environment).outcome().result()
            _ = try await fixture.run("token", "--force-refresh", "--json", with: tpm.environment).result()
            let other = try SoftwareTPM()
            defer { other.stop() }
            let elsewhere = try await fixture.run("token", "--force-refresh", "--json", with: other.environment)
            #expect(try elsewhere.failure(1, "invalid_configuration").contains("another has made"), "\(elsewhere)")
        }
    }
}

/// What is missing for `--key-in tpm`, without a TPM.
@Suite(.timeLimit(.minutes(5)))
struct MissingKeyDeviceTests {
    @Test(arguments: [
        (
            ["OPENSSL_MODULES": "/nonexistent", "TPM2OPENSSL_TCTI": "device:/nonexistent"],
            "Install the package tpm2-openssl"
        ),
        (["TPM2OPENSSL_TCTI": "device:/nonexistent"], "OpenSSL’s provider 'tpm2' does not start"),
    ])
    func `what is missing is named before the browser opens`(variables: [String: String], what: String) async throws {
        guard what.contains("Install") || SoftwareTPM.isInstalled else { return }
        try await withDesk { fixture in
            let words = fixture.loginArguments(["--dpop", "--key-in", "tpm"]).drop { $0 != "--issuer" }
            let doctor = try await fixture.start(["doctor", "--json"] + words, variables).outcome()
            let findings = try JSON(parsing: Array(doctor.output.utf8))["findings"]?.array ?? []
            #expect(findings.map { $0["name"] } == ["key-unusable"], "\(doctor)")
            #expect(findings.first?["seen"]?.string?.contains(what) == true, "\(doctor)")
            let outcome = try await fixture.login("--dpop", "--key-in", "tpm", with: variables)
            #expect(try outcome.failure(1, "unavailable").contains(what), "\(outcome)")
            #expect(outcome.errorLines.count == 1 && fixture.browser.visits.isEmpty, "\(outcome)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test(.enabled(if: access("/dev/tpmrm0", F_OK) != 0, "this machine has a TPM"))
    func `a machine without a TPM is named`() async throws {
        try await withDesk { fixture in
            let message = try await fixture.login("--dpop", "--key-in", "tpm").failure(1, "unavailable")
            #expect(message.contains("there is no /dev/tpmrm0"), "\(message)")
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test(arguments: [["--key-in", "tpm"], ["--dpop", "--key-in", "safe"], ["--dpop", "--key-in"]])
    func `--key-in needs --dpop and the name of a device`(options: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(fixture.loginArguments(options)).outcome().wrongUsage()
        }
    }
}

/// `--dpop --key-in pkcs11:…` where it cannot work. Packaging/test-token tests it with a token.
@Suite(.timeLimit(.minutes(5)))
struct TokenUsageTests {
    @Test func `without OpenSSL's provider, the error names its package, and no browser opens`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login(
                "--dpop", "--key-in", "pkcs11:token=Work", with: ["OPENSSL_MODULES": "/nonexistent"])
            let message = try outcome.failure(1, "unavailable")
            #expect(message.contains("Install the package pkcs11-provider"), "\(message)")
            #expect(fixture.provider.count(.authorization) == 0 && fixture.stored.isEmpty)
        }
    }

    @Test(arguments: ["pkcs11:", "pkcs11:object=a", "pkcs11:token=Work?pin-value=1234", "smartcard"])
    func `another value of --key-in is wrong usage`(value: String) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login("--dpop", "--key-in", value)
            #expect(outcome.status == 2 && outcome.errorLines.joined().contains("for example pkcs11:token=Work"))
        }
    }
}
