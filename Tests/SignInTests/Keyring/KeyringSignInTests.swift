import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// `sign-in --store keyring` with a real GNOME Keyring.
@Suite(.timeLimit(.minutes(5)))
struct KeyringSignInTests {
    private let keyring = ["--store", "keyring"]

    @Test func `a session in the keyring is found again, refreshed, listed and removed`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                #expect(fixture.stored.allSatisfy { $0.hasSuffix(".keyring") } && fixture.stored.count == 1)
                let note = String(decoding: try fixture.session(), as: UTF8.self)
                #expect(note == "\(fixture.issuer) demo\n")

                let whole = ["--issuer", fixture.issuer, "--client-id", "demo"]
                var tokens: Set<String> = []
                for choice in [[], whole, keyring, keyring + whole] {
                    let arguments = ["token", "--json", "--force-refresh"] + choice
                    let token = try await fixture.start(arguments, bus).outcome().result()["access_token"]?.string
                    tokens.insert(try #require(token))
                }
                #expect(tokens.count == 4)
                let kept = try await fixture.run("token", with: bus)
                #expect(tokens.contains(kept.output.replacing("\n", with: "")), "\(kept)")

                let status = try await fixture.run("status", "--json", with: bus).result()["sessions"]?.array
                #expect(status?.map { $0["store"]?.string } == ["keyring:sign-in/\(fixture.issuer) demo"])
                #expect(status?.first?["state"]?.string == "signed_in")

                _ = try await fixture.run("logout", "--json", "--revoke-only", with: bus).result()
                #expect(fixture.stored.isEmpty)
                let after = try await fixture.start(["status", "--json"] + keyring, bus).outcome().result()
                #expect(after == ["sessions": []])
                try await fixture.start(["token", "--json"] + keyring, bus).outcome().failure(1, "sign_in_required")
            }
        }
    }

    @Test func `status lists sessions of both kinds, and --store selects one`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments([]), bus).outcome().result()
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let status = try await fixture.run("status", "--json", with: bus).result()["sessions"]?.array
                let kinds = status?.compactMap { $0["store"]?.string.map { $0.prefix { $0 != ":" } } }.sorted()
                #expect(kinds == ["file", "keyring"])
                let whole = ["--issuer", fixture.issuer, "--client-id", "demo"]
                for choice in [[], whole] {
                    let refused = try await fixture.start(["token", "--json"] + choice, bus).outcome()
                    let message = try refused.wrongUsage()
                    #expect(message.contains("--store 'keyring:sign-in/\(fixture.issuer) demo'"), "\(message)")
                }
                _ = try await fixture.start(["token", "--json"] + keyring, bus).outcome().result()

                // Without the keyring the files are listed, and no word is lost about it, unless it was asked for.
                let alone = try await fixture.run("status", "--json")
                #expect(try alone.result()["sessions"]?.array?.count == 1 && alone.errors.isEmpty, "\(alone)")
                try await fixture.start(["status", "--json"] + keyring).outcome().failure(1, "store")
                // It is not taken for the only one either.
                try await fixture.run("token", "--json").wrongUsage()
            }
        }
    }

    @Test(
        .enabled("this system allows no mounts (unshare --mount)") {
            try await Namespace.isPossible(Namespace.sessionBus(at: "/dev/null"))
        })
    func `a job without the variables of the login finds the keyring`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let address = try #require(bus["DBUS_SESSION_BUS_ADDRESS"] ?? nil)
                let socket = try #require(address.firstMatch(of: /unix:path=([^,]*)/)?.1)
                let job = Namespace.sessionBus(at: String(socket)) + [try BuiltProducts.path("sign-in")]
                let runtime = ["XDG_RUNTIME_DIR": String?.none]
                _ = try await fixture.start(job, ["token", "--json"], runtime).outcome().result()
                let other = try await fixture.start(job, ["token", "--json"]).outcome().failure(1, "store")
                #expect(other.contains("XDG_RUNTIME_DIR"), "\(other)")
            }
        }
    }

    /// As after a removal with Seahorse. The advice must lead to the same place.
    @Test func `a session that is gone from the keyring is advised to be there again`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let (name, note) = (try #require(fixture.stored.first), try fixture.session())
                _ = try await fixture.run("logout", "--local", "--json", with: bus).result()
                try note.write(to: URL(filePath: "\(fixture.sessions)/\(name)"))
                let whole = ["--issuer", fixture.issuer, "--client-id", "demo"]
                let message = try await fixture.start(["token", "--json"] + whole, bus).outcome()
                    .failure(1, "sign_in_required")
                #expect(message.hasSuffix("\(whole.joined(separator: " ")) --store keyring"), "\(message)")
            }
        }
    }

    /// After a change of the login's password, a keyring may never open again.
    @Test func `a profile whose keyring does not open can be forgotten`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.login("--store", "keyring", "--profile", "work", with: bus).result()
            }
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                let way = ["logout", "--profile", "work", "--local", "--forget"]
                let refused = try await fixture.run("token", "--json", "--profile", "work", with: bus).failure(
                    1, "store")
                #expect(refused.hasSuffix("sign-in \(way.joined(separator: " "))"), "\(refused)")
                // Not without the user's word.
                try await fixture.start(way.dropLast() + ["--json"], bus).outcome().failure(1, "store")
                let outcome = try await fixture.start(way, bus).outcome()
                #expect(outcome.status == 0 && outcome.output.contains("Forgot the profile work."), "\(outcome)")
                #expect(outcome.errors.contains("stays in the keyring"), "\(outcome)")
                _ = try await fixture.login("--profile", "work", with: bus).result()
                _ = try await fixture.run("token", "--json", "--profile", "work", with: bus).result()
            }
        }
    }

    @Test func `without a session in the keyring libsecret is not loaded`() async throws {
        try await withDesk { fixture in
            let trace = ["LD_DEBUG": "files"]
            try await fixture.signIn()
            for command in [["token"], ["token", "--force-refresh"], ["status"]] {
                let outcome = try await fixture.start(command, trace).outcome()
                #expect(outcome.status == 0 && !outcome.errors.contains("libsecret"), "\(outcome.status)")
            }
            let asked = try await fixture.start(["status"] + keyring, trace).outcome()
            #expect(asked.errors.contains("libsecret-1.so.0"))
        }
    }

    @Test func `a missing library and a missing bus are errors, and no session is stored elsewhere`()
        async throws
    {
        try await withDesk { fixture in
            try Data().write(to: URL(fileURLWithPath: fixture.home + "/libsecret-1.so.0"))
            for (changes, word) in [(["LD_LIBRARY_PATH": fixture.home], "libsecret-1-0"), ([:], "session bus")] {
                for command in [fixture.loginArguments(keyring), ["token", "--json"] + keyring] {
                    let outcome = try await fixture.start(command, changes).outcome()
                    #expect(try outcome.failure(1, "store").contains(word), "\(outcome)")
                }
            }
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a locked keyring is an error, and has the session after unlocking`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
            }
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                for command in [["token"], ["userinfo"], ["logout", "--local"]] {
                    let outcome = try await fixture.start(command + ["--json"], bus).outcome()
                    #expect(try outcome.failure(1, "store").contains("locked"), "\(outcome)")
                }
                // It is not passed over, as a keyring that is not there is.
                let status = try await fixture.run("status", "--json", with: bus)
                #expect(try status.failure(1, "store").contains("locked"), "\(status)")
            }
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.run("token", "--json", "--force-refresh", with: bus).result()
            }
        }
    }

    @Test func `a sign-in without a keyring ends before the browser opens`() async throws {
        try await withDesk { fixture in
            // A user without a keyring, and no display on which to ask for one.
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                let login = try await fixture.start(fixture.loginArguments(keyring), bus).outcome()
                let message = try login.failure(1, "store")
                #expect(message.contains("keyring:sign-in/") && message.contains("there is no keyring yet"), "\(login)")
                #expect(fixture.provider.log.isEmpty)
            }
        }
    }

    /// The prompt of a keyring service may stay open for longer than the command runs.
    @Test(arguments: [["token"], ["logout", "--local"]])
    func `a keyring that is not unlocked is named before the command's timeout`(command: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
            }
            try await fixture.withKeyring(.locked(isAnswered: false)) { bus in
                let start = ContinuousClock.now
                let outcome = try await fixture.start(command + ["--json", "--timeout", "6"], bus).outcome()
                #expect(try outcome.failure(1, "store").contains("was not unlocked within 5 s"), "\(outcome)")
                // Without its own limit, a prompt would have 30 s.
                #expect(ContinuousClock.now - start < .seconds(25))
            }
        }
    }

    @Test func `a refresh that another process blocks fails before its timeout and names that process`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let folder = fixture.home + "/.local/state/swift-appauth"
                let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder).first)
                try await fixture.withHolder(of: 0, in: "\(folder)/\(name)") { _, name in
                    let arguments = ["token", "--json", "--force-refresh", "--timeout", "6"]
                    let token = try await fixture.start(arguments, bus).outcome()
                    #expect(try token.failure(1, "store").contains(name), "\(token)")
                }
                #expect(fixture.provider.count(.token) == 1)
                _ = try await fixture.run("token", "--json", "--force-refresh", with: bus).result()
            }
        }
    }

    /// As KeePassXC with no open database, if it is set not to ask for one.
    @Test func `a keyring service without a keyring is no sign-out`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
            }
            let (keyrings, aside) = (fixture.home + "/.local/share/keyrings", fixture.home + "/aside")
            try FileManager.default.moveItem(atPath: keyrings, toPath: aside)
            try await fixture.withKeyring(.locked(isAnswered: true)) { bus in
                for command in [["token"], ["status"], ["logout", "--local"]] {
                    for choice in [[], keyring] {
                        let outcome = try await fixture.start(command + choice + ["--json"], bus).outcome()
                        #expect(try outcome.failure(1, "store").contains("is unavailable"), "\(outcome)")
                    }
                }
            }
            try? FileManager.default.removeItem(atPath: keyrings)
            try FileManager.default.moveItem(atPath: aside, toPath: keyrings)
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.run("token", "--json", with: bus).result()
                _ = try await fixture.start(["logout", "--json", "--local"] + keyring, bus).outcome().result()
                // Now it is one.
                let status = try await fixture.start(["status", "--json"] + keyring, bus).outcome().result()
                #expect(status["sessions"]?.array?.isEmpty == true)
            }
        }
    }

    /// KeePassXC with no open database does not respond before the user has opened one.
    @Test func `a keyring service that does not respond is named in time, and hides no session in a file`() async throws
    {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let file = fixture.home + "/secret"
                try "s3cret: 100% äß+/= and thirty-two\n".write(toFile: file, atomically: true, encoding: .utf8)
                let other = fixture.loginArguments(
                    keyring + ["--client-secret-file", file], client: "demo-confidential")
                _ = try await fixture.start(other, bus).outcome().result()
                _ = try await fixture.login("--store", "file:\(fixture.sessions)/file.json").result()
                let stopped = try await fixture.start(["sh", "-c", Self.signal("STOP")], [], bus).outcome()
                #expect(stopped.status == 0, "\(stopped)")
                for command in [["token"], ["status"]] {
                    let outcome = try await fixture.start(command + keyring + ["--json", "--timeout", "6"], bus)
                        .outcome()
                    #expect(try outcome.failure(1, "store").contains("does not respond"), "\(outcome)")
                }
                let status = try await fixture.run("status", "--json", "--timeout", "6", with: bus).result()
                #expect(status["sessions"]?.array?.count == 1 && status["unreadable"]?.array?.count == 2, "\(status)")
                _ = try await fixture.start(["sh", "-c", Self.signal("CONT")], [], bus).outcome()
            }
        }
    }

    /// A keyring that does not respond would keep the user waiting.
    @Test func `another profile in the keyring is looked for only after a sign-in that is kept there`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                func namesAnother(_ more: [String]) async throws -> Bool {
                    let arguments = fixture.loginArguments(more).filter { $0 != "--json" }
                    return try await fixture.start(arguments, bus).outcome().output.contains("the same user")
                }
                for (more, expected) in [
                    (keyring + ["--profile", "work"], false), (keyring + ["--profile", "private"], true),
                    (["--profile", "file"], false),
                ] {
                    let names = try await namesAnother(more)
                    #expect(names == expected, "\(more)")
                }
            }
        }
    }

    @Test func `twenty processes that need a token at once see one refresh`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                fixture.provider.fault(.editDocument { $0["expires_in"] = 0 }, at: .token)
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let before = fixture.provider.count(.token)
                let processes = try (0..<20).map { _ in try fixture.start(["token", "--json"], bus) }
                var tokens: Set<String> = []
                for process in processes {
                    let token = try await process.outcome().result()["access_token"]?.string
                    tokens.insert(try #require(token))
                }
                #expect(tokens.count == 1)
                #expect(fixture.provider.count(.token) == before + 1)
            }
        }
    }

    /// The provider has rotated the refresh token meanwhile.
    @Test func `a keyring that is killed during a refresh and restarted stores the new tokens`() async throws {
        try await withDesk(.torture()) { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.start(fixture.loginArguments(keyring), bus).outcome().result()
                let hold = fixture.provider.hold(.token, before: .response)
                let refresh = try fixture.start(["token", "--json", "--force-refresh"], bus)
                try await hold.arrived()
                let killed = try await fixture.start(["sh", "-c", Self.signal("KILL")], [], bus).outcome()
                #expect(killed.status == 0, "\(killed)")
                let unlocking = KeyringSession.unlocking.replacing("--unlock", with: "--replace --unlock") + "true"
                let run = ["XDG_RUNTIME_DIR": fixture.home + "/run"]
                _ = try await fixture.start(["sh", "-c", unlocking], [], bus.merging(run) { $1 }).outcome()
                hold.release()
                let token = try await refresh.outcome().result()["access_token"]
                #expect(try await fixture.run("token", "--json", with: bus).result()["access_token"] == token)
                _ = try await fixture.run("token", "--json", "--force-refresh", with: bus).result()
            }
        }
    }

    /// A script that sends a signal to the keyring service.
    private static func signal(_ name: String) -> String {
        #"""
        call='gdbus call --session --dest org.freedesktop.DBus --object-path / --method'
        process=$($call org.freedesktop.DBus.GetConnectionUnixProcessID org.freedesktop.secrets)
        process=${process#(uint32 } && kill -\#(name) "${process%,)}"
        """#
    }
}
