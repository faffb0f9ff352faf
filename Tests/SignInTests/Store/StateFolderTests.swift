import Foundation
import JOSE
import LocalProvider
import Testing

/// Where sessions go that nobody named a place for.
@Suite(.timeLimit(.minutes(5)))
struct StateFolderTests {
    @Test func `a session is a file of its owner alone, in folders that are`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            let name = try #require(desk.stored.first)
            #expect(desk.stored.count == 1 && name.hasPrefix("127.0.0.1-") && name.hasSuffix(".json"), "\(desk.stored)")
            #expect(try mode("\(desk.sessions)/\(name)") == 0o600)
            #expect(try mode(desk.sessions) == 0o700)
            #expect(try mode(desk.stateHome) == 0o700)
        }
    }

    @Test func `folders that are there stay as they are`() async throws {
        try await withDesk { desk in
            for folder in [desk.stateHome, desk.sessions] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
            }
            _ = try await desk.login().result()
            #expect(try mode(desk.stateHome) == 0o755)
            #expect(try mode(desk.sessions) == 0o755)
        }
    }

    @Test(arguments: [nil, "", "relative/path"])
    func `without a usable XDG_STATE_HOME it is in the home`(variable: String?) async throws {
        try await withDesk { desk in
            _ = try await desk.login(with: ["XDG_STATE_HOME": variable]).result()
            for folder in ["/.local", "/.local/state", "/.local/state/sign-in"] {
                #expect(try mode(desk.home + folder) == 0o700)
            }
            let outcome = try await desk.run("token", "--json", with: ["XDG_STATE_HOME": variable])
            _ = try outcome.result()
        }
    }

    @Test func `each client has a file of its own, and a new sign-in replaces the old one`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { desk in
            _ = try await desk.login().result()
            let first = try desk.session()
            _ = try await desk.login().result()
            #expect(try desk.session() != first)
            _ = try await desk.login(client: "second").result()
            #expect(desk.stored.count == 2)
        }
    }

    @Test func `a folder that cannot be read is named, with the reason`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            #expect(chmod(desk.sessions, 0o300) == 0)
            for command in ["token", "status", "userinfo"] {
                let outcome = try await desk.startWithoutPrivileges([command, "--json"]).outcome()
                #expect(try outcome.failure(1, "store") == "\(desk.sessions) cannot be read: Permission denied")
            }
            #expect(chmod(desk.sessions, 0o700) == 0)
            _ = try await desk.run("token", "--json").result()
        }
    }

    @Test func `a file in the folder's place is named, with the reason`() async throws {
        try await withDesk { desk in
            try FileManager.default.createDirectory(atPath: desk.stateHome, withIntermediateDirectories: false)
            try Data().write(to: URL(fileURLWithPath: desk.sessions))
            let message = try await desk.run("status", "--json").failure(1, "store")
            #expect(message == "\(desk.sessions) cannot be read: Not a directory")
            try await desk.login().failure(1, "store")
        }
    }

    @Test func `memory stores nothing`() async throws {
        try await withDesk { desk in
            _ = try await desk.login("--store", "memory").result()
            #expect(desk.stored.isEmpty)
            try await desk.run("token", "--json", "--store", "memory").failure(1, "sign_in_required")
        }
    }

    @Test func `a file that is named is used, by every command`() async throws {
        try await withDesk { desk in
            let store = ["--store", "file:\(desk.home)/new/-session"]
            _ = try await desk.start(desk.loginArguments(store)).outcome().result()
            #expect(try mode("\(desk.home)/new") == 0o700)
            #expect(try mode("\(desk.home)/new/-session") == 0o600)
            #expect(desk.stored.isEmpty)
            for command in [["token"], ["userinfo"], ["request", "GET", desk.provider.url(.api)], ["status"]] {
                _ = try await desk.start(command + ["--json"] + store).outcome().result()
            }
            _ = try await desk.start(["logout", "--json", "--revoke-only"] + store).outcome().result()
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(desk.home)/new") == ["-session.lock"])
        }
    }
}

func mode(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
}
