import AppAuth
import AppAuthPostgreSQL
import Foundation
import TestFixtures
import Testing

/// A pool between the store and the server.
@Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: Pool.isInstalled, "pgbouncer is not installed"))
struct PoolTests {
    @Test(arguments: ["transaction", "statement"], [1, 4])
    func `a pool that shares sessions between connections is refused before a sign-in`(
        mode: String, size: Int
    ) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await Pool.run(of: server, mode: mode, size: size) { connection in
                let store = try PostgreSQLDatabase(connection).store(for: "one")
                for error in await [
                    authError { try await store.prepare() }, authError { _ = try await store.refreshLock() },
                ] {
                    #expect(error?.code == .invalidConfiguration, "\(String(describing: error))")
                    #expect(error?.message.contains("pool_mode = session") == true, "\(String(describing: error))")
                }
            }
        }
    }

    @Test func `a pool of whole sessions is used`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await Pool.run(of: server, mode: "session", size: 4) { connection in
                let store = try PostgreSQLDatabase(connection).store(for: "one")
                try await store.prepare()
                try await store.refreshLock().release()
            }
        }
    }
}

/// pgbouncer on a free port of loopback.
private enum Pool {
    private static let program = "/usr/sbin/pgbouncer"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    static func run(
        of server: Server, mode: String, size: Int, _ test: (_ connection: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = freePort()
        let users = folder.appending(path: "users")
        try Data("\"app\" \"\(Server.password)\"\n".utf8).write(to: users)
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(server.port)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = plain
            auth_file = \(users.path)
            pool_mode = \(mode)
            default_pool_size = \(size)
            """
        try Data(settings.utf8).write(to: folder.appending(path: "settings"))
        if geteuid() == 0 { _ = try Program.run("/bin/chown", ["-R", "postgres", folder.path]) }
        let user = geteuid() == 0 ? ["-u", "postgres"] : []
        let pool = try Program(program, user + [folder.appending(path: "settings").path])
        defer { pool.kill(SIGTERM) }
        try await waitUntil { isListening(port) }
        try await test("postgresql://app:\(Server.password)@127.0.0.1:\(port)/\(server.name)")
    }

    private static func isListening(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
