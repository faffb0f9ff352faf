import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import Foundation
import Testing
import TestFixtures

@Suite(.serialized, .timeLimit(.minutes(5)))
struct EncryptionTests {
    private static func key(_ id: String, _ byte: UInt8 = 1) throws -> SessionEncryptionKey {
        try SessionEncryptionKey(id: id, bytes: Array(repeating: byte, count: 32))
    }

    @Test func `an encrypted row shows nothing of the session, and has the name of its key`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await server.database().store(for: "open").put(.sample())
            try await server.database([Self.key("2026")]).store(for: "closed").put(.sample())
            func finds(_ key: String) throws -> String {
                try server.sql(
                    """
                    SELECT position('the-refresh-token'::bytea IN record) > 0, key_id FROM appauth_session \
                    WHERE key = '\(key)'
                    """)
            }
            #expect(try finds("open") == "t|")
            #expect(try finds("closed") == "f|2026")
        }
    }

    @Test func `equal sessions have different rows, since each write has a nonce of its own`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database([Self.key("1")]).store(for: "one")
            var seen: Set<String> = []
            for _ in 0..<3 {
                try await store.put(.sample())
                seen.insert(try server.sql("SELECT encode(record, 'hex') FROM appauth_session"))
                try await store.put(nil)
            }
            #expect(seen.count == 3)
        }
    }

    @Test func `after a rotation, old rows are read, and the next write uses the new key`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await server.database([Self.key("old")]).store(for: "one").put(.sample("a"))
            let rotated = try server.database([Self.key("new", 2), Self.key("old")]).store(for: "one")
            #expect(try await rotated.name == "a")
            #expect(try server.sql("SELECT key_id FROM appauth_session") == "old")
            try await rotated.put(.sample("b"))
            #expect(try server.sql("SELECT key_id FROM appauth_session") == "new")
            #expect(try await server.database([Self.key("new", 2)]).store(for: "one").name == "b")
        }
    }

    /// Each row is wrong in only one respect.
    @Test(arguments: [
        ("another key under the name", "UPDATE appauth_session SET key_id = 'other' WHERE key = 'one'"),
        ("an unknown key", "UPDATE appauth_session SET key_id = 'unknown' WHERE key = 'one'"),
        (
            "another row's record",
            "UPDATE appauth_session SET record = (SELECT record FROM appauth_session WHERE key = 'two') WHERE key = 'one'"
        ),
        (
            "a changed byte",
            "UPDATE appauth_session SET record = set_byte(record, 20, get_byte(record, 20) # 1) WHERE key = 'one'"
        ),
        (
            "a changed tag",
            "UPDATE appauth_session SET record = set_byte(record, length(record) - 1, get_byte(record, length(record) - 1) # 1) WHERE key = 'one'"
        ),
        ("a record that is cut", "UPDATE appauth_session SET record = substr(record, 1, 27) WHERE key = 'one'"),
        (
            "no encryption",
            "UPDATE appauth_session SET (record, key_id) = (SELECT record, NULL FROM appauth_session WHERE key = 'open') WHERE key = 'one'"
        ),
    ])
    func `a row that is not authentic is rejected, and is not overwritten`(name: String, change: String) async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await server.database().store(for: "open").put(.sample())
            let keys = [try Self.key("1"), try Self.key("other", 2)]
            let store = try server.database(keys).store(for: "one")
            try await store.put(.sample("mine"))
            try await server.database(keys).store(for: "two").put(.sample("theirs"))
            #expect(try await store.name == "mine")
            try server.sql(change)
            let before = try server.sql("SELECT version FROM appauth_session WHERE key = 'one'")
            let problem: StoreProblem =
                switch name {
                case "an unknown key": .encryption
                case "no encryption": .notEncrypted
                default: .damaged
                }
            #expect(await authError { try await store.load() }?.storeProblem == problem)
            #expect(await authError { try await store.put(.sample()) }?.storeProblem == problem)
            #expect(try server.sql("SELECT version FROM appauth_session WHERE key = 'one'") == before)
        }
    }

    /// Where the copy of a row is: each place differs from the original's in one respect.
    enum Copy: CaseIterable { case same, otherTable, otherSchema, otherDatabase }

    @Test(arguments: Copy.allCases, [nil, "billing"])
    func `a record is not accepted in another table, schema or database, unless the app names what it is bound to`(
        copy: Copy, context: String?
    ) async throws {
        try await Server.run { server in
            try await Server.run { other in
                var options = PostgreSQLDatabase.Options()
                options.encryptionContext = context
                let original = try PostgreSQLDatabase(
                    server.connection(), encryptionKeys: [Self.key("1")], options: options)
                try await original.createTable()
                try await original.store(for: "one").put(.sample("mine"))
                let record = try server.sql("SELECT encode(record, 'hex') FROM appauth_session")
                let target = copy == .otherDatabase ? other : server
                try target.sql("CREATE SCHEMA app")
                let table =
                    switch copy {
                    case .same, .otherDatabase: "public.appauth_session"
                    case .otherTable: "public.second"
                    case .otherSchema: "app.appauth_session"
                    }
                let database = try PostgreSQLDatabase(
                    target.connection(), table: table, encryptionKeys: [Self.key("1")], options: options)
                try await database.createTable()
                try target.sql(
                    """
                    INSERT INTO \(table) (key, record, key_id) VALUES ('one', decode('\(record)', 'hex'), '1')
                    ON CONFLICT (key) DO UPDATE SET record = excluded.record
                    """)
                let store = database.store(for: "one")
                if copy == .same || context != nil {
                    #expect(try await store.name == "mine")
                } else {
                    #expect(await authError { try await store.load() }?.storeProblem == .damaged)
                }
            }
        }
    }

    @Test func `after a rename, records are read if the app names where they were`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await server.database([Self.key("1")]).store(for: "one").put(.sample("early"))
            try server.sql("ALTER TABLE appauth_session RENAME TO session")
            var options = PostgreSQLDatabase.Options()
            options.encryptionContext = "\(server.name).public.appauth_session"
            let database = try PostgreSQLDatabase(
                server.connection(), table: "session", encryptionKeys: [Self.key("1")], options: options)
            #expect(try await database.store(for: "one").name == "early")
        }
    }

    @Test func `rows of the time before the keys are read if the app says so`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await server.database().store(for: "one").put(.sample("early"))
            let store = try server.database([Self.key("1")]) { $0.readsUnencryptedSessions = true }.store(for: "one")
            #expect(try await store.name == "early")
            try await store.put(.sample("late"))
            #expect(try await server.database([Self.key("1")]).store(for: "one").name == "late")
        }
    }

    @Test(arguments: [("1", 31), ("1", 33), ("1", 0), ("", 32)])
    func `a key of another length or without a name is refused`(id: String, count: Int) throws {
        let error = #expect(throws: AuthError.self) {
            try SessionEncryptionKey(id: id, bytes: Array(repeating: 1, count: count))
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
