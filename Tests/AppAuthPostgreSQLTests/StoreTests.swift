import AppAuth
import AppAuthConcurrency
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthTestSupport
import Foundation
import Testing
import TestFixtures

@Suite(.serialized, .timeLimit(.minutes(5)))
struct StoreTests {
    @Test(arguments: [false, true])
    func `the store keeps the promises of a token store`(isEncrypted: Bool) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let keys = isEncrypted ? [try SessionEncryptionKey(id: "1", bytes: Array(repeating: 7, count: 32))] : []
            var conformance = TokenStoreConformance { try server.database(keys).store(for: $0) }
            conformance.patience = .seconds(60)
            conformance.version = { try server.sql("SELECT version FROM appauth_session WHERE key = '\($0)'") }
            let broken = await conformance.run()
            #expect(broken.isEmpty, "\(broken)")
        }
    }

    @Test func `processes that create the table at once have one table, and a later call changes nothing`() async throws
    {
        try await Server.run { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { try await server.database().createTable() } }
                try await group.waitForAll()
            }
            let store = try server.database().store(for: "one")
            try await store.put(.sample("kept"))
            try await store.database.createTable()
            #expect(try await store.name == "kept")
        }
    }

    /// A type that has the table's name is what a process finds while another one creates the table.
    @Test func `a type of the table's name is no table, and createTable ends`() async throws {
        try await Server.run { server in
            try server.sql("CREATE TYPE appauth_session AS ENUM ('other')")
            let error = try #require(await authError { try await server.database().createTable() })
            #expect(error.storeProblem == .damaged && error.message.contains("already exists"), "\(error)")
            #expect(!error.isTemporary)
        }
    }

    @Test func `a table that is something else is refused, and stays`() async throws {
        try await Server.run { server in
            try server.sql("CREATE TABLE appauth_session (name text)")
            let error = try #require(await authError { try await server.database().createTable() })
            #expect(error.storeProblem == .damaged && error.message.contains("found none"), "\(error)")
            #expect(try server.sql("SELECT count(*) FROM appauth_session") == "0")
            let store = try server.database().store(for: "one")
            #expect(await authError { try await store.load() }?.storeProblem == .unavailable)
        }
    }

    /// Another role can own a partition, or have a trigger of it.
    /// After a crash of the server, it would be empty.
    @Test func `an unlogged table is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql("ALTER TABLE appauth_session SET UNLOGGED")
            let error = try #require(await authError { _ = try await server.database().store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("unlogged"), "\(error)")
        }
    }

    @Test func `a partitioned table is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql(
                "ALTER TABLE appauth_session RENAME TO part; "
                    + "CREATE TABLE appauth_session (LIKE part INCLUDING ALL) PARTITION BY HASH (key); "
                    + "ALTER TABLE appauth_session ATTACH PARTITION part FOR VALUES WITH (MODULUS 1, REMAINDER 0)")
            let store = try server.database().store(for: "one")
            let error = try #require(await authError { try await store.load() })
            #expect(error.storeProblem == .damaged && error.message.contains("partitioned"), "\(error)")
        }
    }

    /// The trigger of a child would run with the role of this program.
    @Test func `a table from which another one inherits is refused`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: "one")
            #expect(try await store.load() == nil)
            try server.sql("CREATE TABLE child () INHERITS (appauth_session)")
            let error = try #require(await authError { try await server.database().store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("is inherited"), "\(error)")
        }
    }

    @Test func `without the table, the error says how to create it`() async throws {
        try await Server.run { server in
            let store = try server.database().store(for: "one")
            for call in [
                { _ = try await store.load() }, { try await store.prepare() }, { try await store.put(.sample()) },
            ] {
                let error = try #require(await authError(call))
                #expect(error.storeProblem == .unavailable && error.message.contains("createTable()"), "\(error)")
            }
        }
    }

    /// By default, the schema of the role's name comes first in the `search_path`.
    @Test(arguments: ["app.session", "public.session", "other.session", "session", "Session_2", "_s"])
    func `a table can have another name, and a schema`(name: String) async throws {
        try await Server.run { server in
            try server.sql("CREATE SCHEMA app; CREATE SCHEMA other")
            let database = try PostgreSQLDatabase(server.connection(), table: name)
            try await database.createTable()
            try await database.store(for: "one").put(.sample("here"))
            #expect(try await database.store(for: "one").name == "here")
            let quoted = name.split(separator: ".").map { "\"\($0)\"" }.joined(separator: ".")
            #expect(try server.sql("SELECT key FROM \(quoted)") == "one")
        }
    }

    @Test(arguments: ["", "a.b.c", "a b", "1a", "a\"b", "a;drop", ".a", "ä", String(repeating: "a", count: 64)])
    func `a name that is no identifier is refused before anything is sent`(name: String) throws {
        let error = #expect(throws: AuthError.self) { try PostgreSQLDatabase("", table: name) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: ["Robert'); DROP TABLE appauth_session;--", "$1", "ключ \u{1F511}", " "])
    func `a key is a value, whatever it contains`(key: String) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: key)
            try await store.put(.sample("kept"))
            #expect(try await server.database().store(for: key).name == "kept")
        }
    }

    @Test func `a row with a number that has no successor is the reason in the error, and can be mended`() async throws
    {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: "one")
            try await store.put(.sample())
            for column in ["version", "lock_number"] {
                try server.sql("UPDATE appauth_session SET \(column) = \(Int64.max)")
                let error = try #require(
                    await authError {
                        if column == "version" {
                            try await store.put(.sample())
                        } else {
                            _ = try await store.refreshLock()
                        }
                    })
                #expect(error.storeProblem == .damaged && error.message.contains("set its version"), "\(error)")
                try server.sql("UPDATE appauth_session SET \(column) = 0")
                try await store.put(.sample())
                try await store.refreshLock().release()
            }
        }
    }

    /// The names in messages leave out what may be a password.
    @Test func `the lock of a session is not that of another server, which messages call the same`() async throws {
        try await Server.run { server in
            try await Server.run { other in
                let stores = try [server, other].map { server in
                    try PostgreSQLDatabase(
                        "host=127.0.0.1 port=\(server.port) user=app password='\(Server.password)' dbname=\(server.name)"
                    ).store(for: "one")
                }
                #expect(stores[0].location == stores[1].location)
                for server in [server, other] { try await server.database().createTable() }
                let locks = [try await stores[0].refreshLock(), try await stores[1].refreshLock()]
                for lock in locks { lock.release() }
            }
        }
    }

    @Test func `a session that is larger than the limit is neither written nor read`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let small = try server.database { $0.largestRecord = 2000 }.store(for: "one")
            let large = try AuthStateRecord.sample(refreshToken: String(repeating: "r", count: 5000))
            #expect(await authError { try await small.put(large) }?.message.contains("only 2000") ?? false)
            try await small.put(.sample())
            try await server.database().store(for: "one").put(large)
            #expect(await authError { try await small.load() }?.storeProblem == .damaged)
        }
    }

    @Test func `a role that may only read is told so before the sign-in`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try server.sql("CREATE ROLE reader LOGIN PASSWORD 'r'; GRANT SELECT ON appauth_session TO reader")
            let reader = try PostgreSQLDatabase(server.connection(role: "reader", password: "r"))
            let error = try #require(await authError { try await reader.store(for: "one").prepare() })
            #expect(error.storeProblem == .denied && error.message.contains("INSERT"), "\(error)")
            #expect(await authError { try await reader.store(for: "one").put(.sample()) }?.storeProblem == .denied)
            try server.sql("GRANT INSERT, UPDATE ON appauth_session TO reader")
            try await reader.store(for: "one").prepare()
            try await reader.store(for: "one").put(.sample())
            try await reader.store(for: "one").refreshLock().release()
        }
    }
}
