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

    @Test func `the user is asked to unlock the keyring, unless the file has a session`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            try await fixture.withKeyring(.unlocked) { _ = try await fixture.keyringProgram("save", with: $0) }
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                let silent = try await fixture.keyringProgram("choose", file, "--unattended", with: bus)
                #expect(silent["keyring"] == false && silent["problem"]?.string == "locked", "\(silent)")
                // There is no display to ask on.
                let asked = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(asked["keyring"] == false && asked["problem"]?.string == "dismissed", "\(asked)")
                _ = try await fixture.login("--store", "file:\(file)").result()
                let choice = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(choice["keyring"] == false && choice.isNull("problem"), "\(choice)")
            }
        }
    }

    @Test func `a session in the file stays there`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/session"
            _ = try await fixture.login("--store", "file:\(file)").result()
            try await fixture.withKeyring(.unlocked) { bus in
                let choice = try await fixture.keyringProgram("choose", file, with: bus)
                #expect(choice["keyring"] == false && choice.isNull("problem"), "\(choice)")
            }
        }
    }
}
