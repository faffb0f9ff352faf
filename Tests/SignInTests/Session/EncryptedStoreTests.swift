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
            for command in [["token"], ["logout"], ["logout", "--discard"]] {
                let arguments = command + ["--json", "--store", store]
                let missing = try await fixture.start(arguments, [:]).outcome()
                #expect(try missing.failure(1, "invalid_configuration").contains(Self.variable))
                let wrong = try await fixture.start(arguments, [Self.variable: other]).outcome()
                #expect(try wrong.failure(1, "store").contains("is encrypted with the key"))
                let plain = ["file:\(fixture.home)/session"]
                let unencrypted = try await fixture.start(command + ["--json", "--store"] + plain, [:]).outcome()
                #expect(try unencrypted.failure(1, "store").contains("is encrypted with the key"))
            }
            #expect(try String(contentsOfFile: fixture.home + "/session", encoding: .utf8) == before)
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
            // Without the passphrase, the profile is still listed.
            let accounts = try await fixture.start(["accounts", "--json"], [:]).outcome().result()
            #expect(accounts.serialized().contains("work"))
        }
    }
}
