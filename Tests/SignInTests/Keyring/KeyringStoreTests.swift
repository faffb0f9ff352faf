import Foundation
import JOSE
import TestFixtures
import Testing

/// The library's store in a real GNOME Keyring.
@Suite(.timeLimit(.minutes(5)))
struct KeyringStoreTests {
    @Test func `the store keeps all promises`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                let found = try await fixture.keyringProgram("conformance", with: bus)
                #expect(found["violations"] == [])
            }
        }
    }

    @Test func `a session is stored, listed with a label, updated in place and removed`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                for options in [[], ["--expected"]] {
                    let load = try [BuiltProducts.path("keyring-program"), "load"] + options
                    #expect(try await fixture.start(load, [], bus).outcome().result().isNull("session"))
                }
                #expect(try await fixture.keyringProgram("stored", with: bus)["stored"] == [])
                for name in ["first", "second"] {
                    #expect(try await fixture.keyringProgram("save", name, with: bus)["session"]?.string == name)
                    let stored = try await fixture.keyringProgram("stored", with: bus)["stored"]
                    #expect(stored == [["account": "Zoë", "label": "A test's sign-in"]])
                }
                #expect(try await fixture.keyringProgram("remove", with: bus).isNull("session"))
                #expect(try await fixture.keyringProgram("stored", with: bus)["stored"] == [])
            }
        }
    }

    @Test func `only the lock file is in the home folder if the environment names another state folder`()
        async throws
    {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                for location in ["/one", "/two"] {
                    let locations = [
                        "XDG_STATE_HOME": fixture.home + location, "XDG_RUNTIME_DIR": fixture.home + location,
                    ]
                    _ = try await fixture.keyringProgram("save", with: bus.merging(locations) { $1 })
                    #expect(!FileManager.default.fileExists(atPath: fixture.home + location))
                }
                let folder = fixture.home + "/.local/state/swift-appauth"
                let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(files.count == 1 && files.allSatisfy { $0.hasSuffix(".lock") }, "\(files)")
                // The lock is free, so no holder is named.
                let holders = FileManager.default.contents(atPath: "\(folder)/\(files.first ?? "")")
                #expect(holders?.allSatisfy { [0, 10, 32].contains($0) } == true)
            }
        }
    }

    @Test func `if the lock of the keyring cannot be used, a sign-in is told before it begins`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                let ready = try await fixture.keyringProgram("prepare", with: bus)
                #expect(ready["code"] == nil, "\(ready)")
                let folder = fixture.home + "/.local/state/swift-appauth"
                try? FileManager.default.removeItem(atPath: folder)
                try FileManager.default.createDirectory(
                    atPath: fixture.home + "/.local/state", withIntermediateDirectories: true)
                try Data().write(to: URL(filePath: folder))
                let refused = try await fixture.keyringProgram("prepare", with: bus)
                #expect(refused["code"] == "store", "\(refused)")
            }
        }
    }

    @Test func `a process finds a restarted keyring again`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.keyringProgram("save", with: bus)
                let again = KeyringSession.unlocking.replacing("--unlock", with: "--replace --unlock") + "true"
                let run = ["XDG_RUNTIME_DIR": fixture.home + "/run"]
                let found = try await fixture.keyringProgram("restart", again, with: bus.merging(run) { $1 })
                #expect(found["session"]?.string == "client", "\(found)")
            }
        }
    }

    @Test(arguments: ["load", "save", "remove", "probe", "stored"])
    func `without a bus, a library or a service each call names what is missing at once`(call: String) async throws {
        try await withDesk { fixture in
            let nowhere = try await fixture.keyringProgram(call, with: [:])
            try expect(nowhere, "no_bus", isTemporary: false)
            if call != "stored" {
                let library = try await fixture.keyringProgram(call, "--library", "libnone.so.0", with: [:])
                try expect(library, "no_library", isTemporary: false)
                #expect(library["message"]?.string?.contains("libsecret-1-0") == true, "\(library)")
            }
            try await fixture.withKeyring(.empty) { bus in
                try expect(await fixture.keyringProgram(call, with: bus), "no_service", isTemporary: false)
            }
        }
    }

    @Test(arguments: ["load", "save", "probe"])
    func `a bus that denies access is reported as denied`(call: String) async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.denied) { bus in
                try expect(await fixture.keyringProgram(call, with: bus), "denied", isTemporary: false)
            }
        }
    }

    @Test(arguments: ["load", "save", "remove", "probe", "stored"])
    func `a locked keyring does not count as empty`(call: String) async throws {
        try await withDesk { fixture in
            for isEmpty in [true, false] {
                try await fixture.withKeyring(.unlocked) { bus in
                    _ = try await fixture.keyringProgram("save", with: bus)
                    if isEmpty { _ = try await fixture.keyringProgram("remove", with: bus) }
                }
                try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                    try expect(
                        await fixture.keyringProgram(call, "--no-prompt", with: bus), "locked", isTemporary: true)
                    // There is no display to ask on.
                    let asked = try await fixture.keyringProgram(call, with: bus)
                    try expect(asked, call == "stored" ? "locked" : "dismissed", isTemporary: true)
                }
            }
            try await fixture.withKeyring(.unlocked) { bus in
                let found = try await fixture.keyringProgram("load", with: bus)
                #expect(found["session"]?.string == "client")
            }
        }
    }

    @Test func `before the first keyring exists there is no session, and none can be stored`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                #expect(try await fixture.keyringProgram("load", with: bus).isNull("session"))
                for call in ["save", "probe", "prepare"] {
                    try expect(await fixture.keyringProgram(call, with: bus), "locked", isTemporary: true)
                }
                // Where a session was stored, that is no sign-out.
                for call in ["load", "save", "remove"] {
                    let found = try await fixture.keyringProgram(call, "--expected", with: bus)
                    try expect(found, "unavailable", isTemporary: true)
                }
            }
        }
    }

    @Test(arguments: ["load", "save", "probe"])
    func `an unanswered unlock dialog delays a call only until the limit`(call: String) async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { _ = try await fixture.keyringProgram("save", with: $0) }
            try await fixture.withKeyring(.locked(isAnswered: false)) { bus in
                let late = try await fixture.keyringProgram(call, "--timeout", "1", with: bus)
                try expect(late, "unanswered", isTemporary: true)
                // Without this limit it would be half a minute.
                #expect(try #require(late["seconds"]?.int) < 25, "\(late)")
                // A caller that need not wait does not prompt, and the lock is free again.
                try expect(
                    await fixture.keyringProgram(call, "--unattended", with: bus), "locked", isTemporary: true)
                try expect(
                    await fixture.keyringProgram(call, "--no-prompt", with: bus), "locked", isTemporary: true)
            }
        }
    }

    @Test func `a process asks one question at a time, however long it stays open`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { _ = try await fixture.keyringProgram("save", with: $0) }
            try await fixture.withKeyring(.locked(isAnswered: false)) { bus in
                let found = try await fixture.keyringProgram("crowd", "20", "--timeout", "2", with: bus)
                #expect(found["problems"] == ["unanswered"] && found["questions"] == 1, "\(found)")
            }
        }
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { _ = try await fixture.keyringProgram("save", with: $0) }
            // With no display to ask on the response comes at once.
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                let found = try await fixture.keyringProgram("crowd", "20", with: bus)
                #expect(found["problems"] == ["dismissed"], "\(found)")
            }
        }
    }

    @Test func `a thread that cannot be started is a store error, and later calls work`() async throws {
        try await withDesk { fixture in
            let found = try await fixture.keyringProgram("without-threads", fixture.home + "/session.json", with: [:])
            #expect(found["code"] == "store" && found["temporary"] == true, "\(found)")
            #expect(
                found["message"]?.string?.contains("session.json cannot be used: a thread could not be started")
                    == true, "\(found)")
        }
    }

    @Test func `an entry that is removed between search and read does not count as locked`() async throws {
        try await withDesk { fixture in
            let library = try await FaultInjector.library("vanishing", for: fixture, linking: "libsecret-1.so.0")
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.keyringProgram("save", with: bus)
                let found = try await fixture.keyringProgram("load", "--library", library, with: bus)
                #expect(found.isNull("session"), "\(found)")
            }
        }
    }

    @Test(arguments: ["healthy", "damaged"])
    func `a damaged entry is set aside under another label, with its secret, and a session stays`(state: String)
        async throws
    {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.keyringProgram("save", "first", with: bus)
                if state == "damaged" {
                    _ = try await fixture.keyringProgram("spoil", with: bus)
                    let found = try await fixture.keyringProgram("load", with: bus)
                    #expect(found["problem"]?.string == "damaged", "\(found)")
                    #expect(found["message"]?.string?.hasSuffix(": discard() sets it aside") == true, "\(found)")
                }
                let aside = try await fixture.keyringProgram("discard", with: bus)["aside"]
                let session = try await fixture.keyringProgram("load", with: bus)["session"]
                let other = ["--application", "keyring-program (damaged)"]
                func program(_ arguments: String...) async throws -> JSON {
                    try await fixture.start([BuiltProducts.path("keyring-program")], arguments + other, bus).outcome()
                        .result()
                }
                let all = try await program("stored")["stored"]?.array
                if state == "damaged" {
                    #expect(aside?.string?.hasPrefix("A test's sign-in (damaged, set aside ") == true)
                    #expect(session == nil)
                    #expect(all?.count == 1 && all?.first?["label"] == aside, "\(String(describing: all))")
                    let account = try #require(all?.first?["account"]?.string)
                    #expect(account.hasPrefix("Zoë "))
                    #expect(try await program("load", "--account", account)["problem"]?.string == "damaged")
                    _ = try await fixture.keyringProgram("save", "second", with: bus)
                } else {
                    #expect(aside == nil && session?.string == "first")
                    #expect(all?.isEmpty == true)
                }
                let stored = try await fixture.keyringProgram("stored", with: bus)["stored"]
                #expect(stored == [["account": "Zoë", "label": "A test's sign-in"]])
            }
        }
    }

    @Test func `new tokens are stored even if no file can be opened any more, and no refresh begins then`() async throws
    {
        try await withDesk { fixture in
            let found = try await fixture.keyringProgram(
                "without-descriptors", fixture.home + "/session.json", with: [:])
            #expect(found["session"]?.string == "stored", "\(found)")
            #expect(found["refusal"]?.string?.contains("Too many open files") == true, "\(found)")
        }
    }

    @Test(arguments: ["save", "remove"])
    func `a keyring that is locked during an update is an error without a prompt`(change: String)
        async throws
    {
        try await withDesk { fixture in
            let lock =
                "dbus-send --session --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets"
                + " org.freedesktop.Secret.Service.Lock"
                + " array:objpath:/org/freedesktop/secrets/collection/login >/dev/null"
            let arguments = ["change", lock] + (change == "remove" ? ["remove"] : [])
            let program = try BuiltProducts.path("keyring-program")
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.keyringProgram("save", with: bus)
                let found = try await fixture.start([program], arguments, bus).outcome().result()
                // A prompt ends as dismissed: there is no display.
                try expect(found, "locked", isTemporary: true)
            }
            try await fixture.withKeyring(.unlocked) { bus in
                let kept = try await fixture.keyringProgram("load", with: bus)
                #expect(kept["session"]?.string == "client")
            }
        }
    }

    private func expect(
        _ found: JSON, _ problem: String, isTemporary: Bool, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(found["problem"]?.string == problem, "\(found)", sourceLocation: sourceLocation)
        #expect(found["code"]?.string == "store", "\(found)", sourceLocation: sourceLocation)
        #expect(found["temporary"]?.bool == isTemporary, "\(found)", sourceLocation: sourceLocation)
        #expect(found["message"]?.string?.contains("keyring:keyring-program/") == true, "\(found)")
    }
}
