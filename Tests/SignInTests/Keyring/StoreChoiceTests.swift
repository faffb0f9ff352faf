import Foundation
import JOSE
import TestFixtures
import Testing

/// "The keyring, else a file", and the way from one to the other.
@Suite(.timeLimit(.minutes(5)))
struct StoreChoiceTests {
    @Test func `the keyring is used if it works, and the trial leaves nothing behind`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            try await fixture.withKeyring(.unlocked) { bus in
                let choice = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(choice["keyring"] == true && choice.isNull("problem"), "\(choice)")
                #expect(choice["place"]?.string == "keyring:keyring-program/Zoë")
                for application in ["keyring-program", "swift-appauth trial"] {
                    let left = try await fixture.keyringProgram("stored", "--application", application, with: bus)
                    #expect(left["stored"] == [])
                }
            }
        }
    }

    @Test func `without a keyring the file is used, and the reason is reported`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            let choice = try await fixture.keyringProgram("choose", file, with: [:])
            #expect(choice["keyring"] == false && choice["problem"]?.string == "no_bus", "\(choice)")
            #expect(choice["place"]?.string == "file:\(file)")
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                let choice = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(choice["keyring"] == false && choice["problem"]?.string == "locked", "\(choice)")
            }
        }
    }

    @Test func `with a session in the file, the user is not asked for the keyring`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            _ = try await fixture.login("--store", "file:\(file)").result()
            for keyring in [KeyringSession.Kind.locked(isAnswered: true), .locked(isAnswered: false)] {
                try await fixture.withKeyring(keyring) { bus in
                    let choice = try await fixture.keyringProgram("choose", file, with: bus)
                    #expect(choice["keyring"] == false && choice.isNull("problem"), "\(choice)")
                }
            }
        }
    }

    @Test func `a session in the file stays there until it is moved`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            _ = try await fixture.login("--store", "file:\(file)").result()
            try await fixture.withKeyring(.unlocked) { bus in
                let before = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(before["keyring"] == false && before.isNull("problem"), "\(before)")
                #expect(try await fixture.keyringProgram("move", file, with: bus)["moved"] == true)
                #expect(try await fixture.keyringProgram("choose", file, with: bus)["keyring"] == true)
                #expect(try await fixture.keyringProgram("load", with: bus)["session"]?.string == "demo")
                #expect(!FileManager.default.fileExists(atPath: file))
                #expect(try await fixture.keyringProgram("move", file, with: bus)["moved"] == false)
            }
        }
    }

    @Test(arguments: 0...3)
    func `a process that is killed at any step of a move leaves one session, and the next move completes`(
        changes: Int
    ) async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            _ = try await fixture.login("--store", "file:\(file)").result()
            try await fixture.withKeyring(.unlocked) { bus in
                let move = ["move", file, "--die-after", String(changes)]
                let killed = try await fixture.start([BuiltProducts.path("keyring-program")], move, bus).outcome()
                #expect(killed.status == 128 + SIGKILL, "\(killed)")
                // Until it is on its way, the session is in the file, and can be refreshed there.
                let token = ["token", "--json", "--force-refresh", "--store", "file:\(file)"]
                let refreshed = try await fixture.start(token, bus).outcome()
                if changes < 2 {
                    _ = try refreshed.result()
                } else {
                    #expect(try refreshed.failure(1, "store").contains("is not finished"))
                }
                #expect(try await fixture.keyringProgram("move", file, with: bus)["moved"] == true)
                #expect(try await fixture.keyringProgram("load", with: bus)["session"]?.string == "demo")
                #expect(!FileManager.default.fileExists(atPath: file))
            }
        }
    }
}
