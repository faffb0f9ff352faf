import Foundation
import JOSE
import Testing

/// `--store encrypted:PATH`.
@Suite(.timeLimit(.minutes(5)))
struct EncryptedStoreTests {
    private static let variable = "SIGN_IN_PASSPHRASE_FILE"

    /// Runs the test after a sign-in to an encrypted file.
    private func withSession(
        _ body: (_ fixture: CommandFixture, _ store: String, _ passphrase: [String: String]) async throws -> Void
    ) async throws {
        try await withDesk { fixture in
            let passphrase = fixture.home + "/passphrase"
            try "correct horse\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
            let store = "encrypted:\(fixture.home)/session"
            _ = try await fixture.login("--store", store, with: [Self.variable: passphrase]).result()
            try await body(fixture, store, [Self.variable: passphrase])
        }
    }

    @Test func `with the passphrase, the session is used and refreshed, and the file shows nothing of it`() async throws
    {
        try await withSession { fixture, store, passphrase in
            let token = ["token", "--json", "--force-refresh", "--store", store]
            let result = try await fixture.start(token, passphrase).outcome().result()
            #expect(result["access_token"]?.string != nil)
            let text = try String(contentsOfFile: fixture.home + "/session", encoding: .utf8)
            #expect(text.contains("scrypt:") && !text.contains("refreshToken") && !text.contains("accessToken"))
            let status = try await fixture.start(["status", "--json", "--store", store], passphrase).outcome()
            #expect(try status.result()["sessions"]?.array?.count == 1)
            _ = try await fixture.start(["logout", "--json", "--revoke-only", "--store", store], passphrase)
                .outcome().result()
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/session"))
        }
    }

    @Test func `without the passphrase, or with another one, the session stays, and the error says so`() async throws {
        try await withSession { fixture, store, _ in
            let before = try String(contentsOfFile: fixture.home + "/session", encoding: .utf8)
            let other = fixture.home + "/other"
            try "battery staple".write(toFile: other, atomically: true, encoding: .utf8)
            let hint = "If the passphrase is lost, set the session aside and go on: sign-in logout --local --discard"
            for command in [["token"], ["logout"], ["status"]] {
                let arguments = command + ["--json", "--store", store]
                let missing = try await fixture.start(arguments, [:]).outcome()
                let message = try missing.failure(1, "invalid_configuration")
                #expect(message.contains(Self.variable) && message.hasSuffix("\(hint) --store \(store)"))
                let wrong = try await fixture.start(arguments, [Self.variable: other]).outcome()
                let refused = try wrong.failure(1, "store")
                #expect(refused.contains("is encrypted with a passphrase that was not given. Set \(Self.variable)"))
                #expect(refused.hasSuffix("\(hint) --store \(store)"), "\(refused)")
                let plain = ["file:\(fixture.home)/session"]
                let unencrypted = try await fixture.start(command + ["--json", "--store"] + plain, [:]).outcome()
                let named = try unencrypted.failure(1, "store")
                #expect(named.contains("use --store encrypted:PATH") && named.hasSuffix("\(hint) --store \(plain[0])"))
            }
            #expect(try String(contentsOfFile: fixture.home + "/session", encoding: .utf8) == before)
        }
    }

    @Test func `if the passphrase is lost, the session can be set aside`() async throws {
        try await withSession { fixture, store, _ in
            let before = try String(contentsOfFile: fixture.home + "/session", encoding: .utf8)
            let other = fixture.home + "/other"
            try "battery staple".write(toFile: other, atomically: true, encoding: .utf8)
            let login = fixture.loginArguments(["--replace-store", "--store", store])
            // Without a passphrase, a new session could not be stored, so nothing is set aside.
            try await fixture.start(login).outcome().failure(1, "invalid_configuration")
            #expect(try String(contentsOfFile: fixture.home + "/session", encoding: .utf8) == before)
            _ = try await fixture.start(login, [Self.variable: other]).outcome().result()
            let logout = ["logout", "--local", "--discard", "--json", "--store", store]
            let discarded = try await fixture.start(logout).outcome().result()["discarded"]?.string
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/session"))
            let aside = try FileManager.default.contentsOfDirectory(atPath: fixture.home)
                .filter { $0.contains(".damaged-") }.map { "\(fixture.home)/\($0)" }
            #expect(try aside.count == 2 && aside.contains(#require(discarded)), "\(aside)")
            #expect(try aside.contains { try String(contentsOfFile: $0, encoding: .utf8) == before })
        }
    }

    @Test func `a session that is not encrypted is refused and stays, and the error names the store that reads it`()
        async throws
    {
        try await withDesk { fixture in
            let (plain, passphrase) = ("file:\(fixture.home)/session", fixture.home + "/passphrase")
            try "correct horse".write(toFile: passphrase, atomically: true, encoding: .utf8)
            _ = try await fixture.login("--store", plain).result()
            let before = try String(contentsOfFile: fixture.home + "/session", encoding: .utf8)
            let store = ["--store", "encrypted:\(fixture.home)/session"]
            for command in [
                ["token", "--json"], ["logout", "--local", "--discard", "--json"],
                fixture.loginArguments(["--replace-store"]),
            ] {
                let outcome = try await fixture.start(command + store, [Self.variable: passphrase]).outcome()
                #expect(try outcome.failure(1, "store").hasSuffix("To read it, use --store file:PATH"), "\(outcome)")
            }
            #expect(try String(contentsOfFile: fixture.home + "/session", encoding: .utf8) == before)
            _ = try await fixture.run("token", "--json", "--store", plain).result()
        }
    }

    @Test func `the store is listed as --store names it, even without the passphrase`() async throws {
        try await withDesk { fixture in
            let passphrase = fixture.home + "/passphrase"
            try "correct horse\n".write(toFile: passphrase, atomically: true, encoding: .utf8)
            let store = "encrypted:\(fixture.home)/session"
            let environment = [Self.variable: passphrase]
            _ = try await fixture.login("--profile", "work", "--store", store, with: environment).result()
            let status = try await fixture.run("status", "--json", with: environment).result()
            #expect(status["sessions"]?.array?.first?["store"]?.string == store)
            #expect(try await fixture.run("status", with: environment).output.hasSuffix("\(store)\n"))
            // The hint names the session, which the arguments do not.
            let only = try await fixture.run("status", "--json").failure(1, "invalid_configuration")
            #expect(only.hasSuffix("go on: sign-in logout --local --discard --store \(store)"), "\(only)")
            // Of all sessions, none is set aside by mistake.
            let signOut = try await fixture.run("logout", "--all", "--local", "--discard", "--json")
            #expect(signOut.status == 1, "\(signOut)")
            #expect(FileManager.default.fileExists(atPath: fixture.home + "/session"))
            try await fixture.signIn()
            let unreadable = try await fixture.run("status", "--json").result()["unreadable"]?.array?.first
            #expect(unreadable?["store"]?.string == store)
            #expect(unreadable?["reason"]?.string?.contains(Self.variable) == true)
            #expect(unreadable?["profile"] == "work")
            let all = try await fixture.run("logout", "--all", "--json", "--local", with: environment).result()
            #expect(all["sessions"]?.array?.contains { $0["store"]?.string == store } == true)
        }
    }

    @Test func `the passphrase can be a systemd credential, and a profile remembers the store`() async throws {
        try await withDesk { fixture in
            let credential = fixture.home + "/sign-in-passphrase"
            try "correct horse".write(toFile: credential, atomically: true, encoding: .utf8)
            let environment = ["CREDENTIALS_DIRECTORY": fixture.home]
            let store = "encrypted:\(fixture.home)/session"
            _ = try await fixture.login("--profile", "work", "--store", store, with: environment).result()
            let token = try await fixture.start(["token", "--json", "--profile", "work"], environment).outcome()
            #expect(try token.result()["access_token"]?.string != nil)
            // Without the passphrase, the profile is not taken for one that is signed out.
            try await fixture.run("status", "--json").failure(1, "invalid_configuration")
        }
    }
}
