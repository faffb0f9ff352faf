import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The location of sessions without --store.
@Suite(.timeLimit(.minutes(5)))
struct StateFolderTests {
    @Test func `a session file and its folders are accessible only to their owner`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let name = try #require(fixture.stored.first)
            #expect(fixture.stored.count == 1)
            #expect(name == "http%3A%2F%2F127.0.0.1%3A\(try #require(URL(string: fixture.issuer)?.port))+demo.json")
            #expect(try mode("\(fixture.sessions)/\(name)") == 0o600)
            #expect(try mode(fixture.sessions) == 0o700)
            #expect(try mode(fixture.stateHome) == 0o700)
        }
    }

    @Test func `existing folders are not changed`() async throws {
        try await withDesk { fixture in
            for folder in [fixture.stateHome, fixture.sessions] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
                try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
            }
            try await fixture.signIn()
            #expect(try mode(fixture.stateHome) == 0o755)
            #expect(try mode(fixture.sessions) == 0o755)
        }
    }

    @Test(arguments: [nil, "", "relative/path"])
    func `without a usable XDG_STATE_HOME the state is in the home folder`(variable: String?) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login(with: ["XDG_STATE_HOME": variable]).result()
            for folder in ["/.local", "/.local/state", "/.local/state/sign-in"] {
                #expect(try mode(fixture.home + folder) == 0o700)
            }
            let outcome = try await fixture.run("token", "--json", with: ["XDG_STATE_HOME": variable])
            _ = try outcome.result()
        }
    }

    @Test func `each client has a file of its own, and a new sign-in replaces the old one`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            let first = try fixture.session()
            try await fixture.signIn()
            #expect(try fixture.session() != first)
            try await fixture.signIn(client: "second")
            #expect(fixture.stored.count == 2)
        }
    }

    @Test func `clients whose names are too long for a file have files of their own`() async throws {
        var configuration = LocalProvider.Configuration.demo
        let clients = ["a", "b"].map { String(repeating: "x", count: 250) + $0 }
        configuration.clients += clients.map { RegisteredClient(id: $0, redirectURIs: [.anyLoopback]) }
        try await withDesk(configuration) { fixture in
            for client in clients { _ = try await fixture.login(client: client).result() }
            #expect(fixture.stored.count == 2)
            for client in clients {
                let choice = ["--issuer", fixture.issuer, "--client-id", client]
                let status = try await fixture.start(["status", "--json"] + choice).outcome().result()
                #expect(status["sessions"]?.array?.map { $0["client_id"]?.string } == [client])
                _ = try await fixture.start(["token", "--json"] + choice).outcome().result()
            }
        }
    }

    @Test func `a folder that cannot be read is named, with the reason`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            #expect(chmod(fixture.sessions, 0o300) == 0)
            for command in ["token", "status", "userinfo"] {
                let outcome = try await fixture.startWithoutPrivileges([command, "--json"]).outcome()
                let message = try outcome.failure(1, "store")
                let remedy = "To restore its mode: chmod 700 \(fixture.sessions)"
                #expect(message == "\(fixture.sessions) cannot be read: Permission denied. \(remedy)")
            }
            #expect(chmod(fixture.sessions, 0o700) == 0)
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test func `a file in the folder's location is named, with the reason`() async throws {
        try await withDesk { fixture in
            try FileManager.default.createDirectory(atPath: fixture.stateHome, withIntermediateDirectories: false)
            try Data().write(to: URL(fileURLWithPath: fixture.sessions))
            let message = try await fixture.run("status", "--json").failure(1, "store")
            #expect(message == "\(fixture.sessions) cannot be read: Not a directory")
            try await fixture.login().failure(1, "store")
        }
    }

    @Test func `memory stores nothing`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--store", "memory").result()
            #expect(fixture.stored.isEmpty)
            try await fixture.run("token", "--json", "--store", "memory").failure(1, "sign_in_required")
        }
    }

    @Test func `a file named by --store is used by every command`() async throws {
        try await withDesk { fixture in
            let store = ["--store", "file:\(fixture.home)/new/-session"]
            _ = try await fixture.start(fixture.loginArguments(store)).outcome().result()
            #expect(try mode("\(fixture.home)/new") == 0o700)
            #expect(try mode("\(fixture.home)/new/-session") == 0o600)
            #expect(fixture.stored.isEmpty)
            for command in [["token"], ["userinfo"], ["request", "GET", fixture.provider.url(.api)], ["status"]] {
                _ = try await fixture.start(command + ["--json"] + store).outcome().result()
            }
            _ = try await fixture.start(["logout", "--json", "--revoke-only"] + store).outcome().result()
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(fixture.home)/new") == ["-session.lock"])
        }
    }
}

func mode(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
}
