import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Other roles choose names, and own tables. The service uses only those of the roles that it trusts.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct HostileOwnerTests {
    // MARK: - Names

    @Test func `names that other roles have chosen are in quotes`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try role.admit()
            let name = "f. Name x in trustedOwners; then $(id)"
            let store = try PostgreSQLDatabase(role.connection + "?application_name=x.%20Run%20$(id)").store(for: "one")
            let lock = try await store.refreshLock()
            #expect(await store.refreshLockHolder() == "'x. Run $(id)'")
            lock.release()
            try server.sql("ALTER TABLE appauth_session ADD CONSTRAINT \"\(name)\" CHECK (true)")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(
                error.message.contains(": 'constraint \(name) on table public.appauth_session' could"), "\(error)")
        }
    }

    /// At a line break, a comment of `schema.sql` would end.
    @Test func `a line break in the name of a schema adds no statement to those that create the table`() async throws {
        let schema = "\"x\n; CREATE TABLE public.injected (); --\""
        try await HostileRole.run(path: schema) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service); CREATE SCHEMA \(schema)")
            try server.sql("GRANT ALL ON SCHEMA \(schema) TO \(role.service)")
            let database = try PostgreSQLDatabase(role.connection)
            try await database.createTable()
            try await database.store(for: "one").useAll()
            #expect(try server.sql("SELECT to_regclass('public.injected') IS NULL") == "t")
        }
    }

    /// The Kelvin sign is canonically equivalent to the letter K.
    @Test func `a trusted owner is a role of exactly that name`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try role.admit()
            let name = "\u{212A}ate_\(server.name)"
            try server.sql("CREATE ROLE \"\(name)\"; ALTER TABLE appauth_session OWNER TO \"\(name)\"")
            var options = PostgreSQLDatabase.Options()
            for (trusted, problem) in [("Kate_\(server.name)", StoreProblem.denied), (name, nil)] {
                options.trustedOwners = [trusted]
                let store = try PostgreSQLDatabase(role.connection, options: options).store(for: "one")
                #expect(await authError { try await store.load() }?.storeProblem == problem)
            }
            try server.sql("DROP OWNED BY \"\(name)\" CASCADE; DROP ROLE \"\(name)\"")
        }
    }

    // MARK: - Owners

    /// A former owner of the database has left a setting that makes its role the current one.
    @Test func `a table of the role that a setting has chosen is refused`() async throws {
        try await HostileRole.run { server, role in
            let table = "public.appauth_session"
            let database = try PostgreSQLDatabase(role.connection)
            try await server.database().createTable()
            try server.sql("GRANT SELECT, INSERT, UPDATE ON \(table) TO \(role.service), \(role.name)")
            try server.sql("GRANT \(role.name) TO \(role.service)")
            try server.sql("ALTER ROLE \(role.service) IN DATABASE \(server.name) SET role = '\(role.name)'")
            #expect(
                try await database.store(for: "one").load() == nil, "the owner is trusted, whatever the current role is"
            )
            try server.sql("ALTER TABLE \(table) OWNER TO \(role.name)")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(error.storeProblem == .denied && error.message.contains(role.name), "\(error)")
        }
    }

    /// The owners that need no mention.
    enum TrustedOwner: CaseIterable { case itself, superuser, ownerOfTheDatabase }

    @Test(arguments: TrustedOwner.allCases)
    func `a table of a trusted role is used`(owner: TrustedOwner) async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            let name = owner == .itself ? role.service : role.name
            if owner == .superuser { try server.sql("ALTER ROLE \(name) SUPERUSER") }
            if owner == .ownerOfTheDatabase { try server.sql("ALTER DATABASE \(server.name) OWNER TO \(name)") }
            try server.sql("ALTER TABLE appauth_session OWNER TO \(name)")
            try role.admit()
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await store.database.createTable()
            try await store.put(.sample("ours"))
            #expect(try await store.name == "ours")
            // The databases go with the tests, and a role that owns one cannot be removed.
            try server.sql("ALTER DATABASE \(server.name) OWNER TO app")
        }
    }

    /// Before PostgreSQL 15, each role may make others its members.
    @Test func `a role that has made the service its member is not trusted for that`() async throws {
        try await HostileRole.run { server, role in
            try role.run("CREATE TABLE appauth_session (key text PRIMARY KEY, record bytea)")
            try server.sql("GRANT \(role.name) TO \(role.service)")
            let database = try PostgreSQLDatabase(role.connection)
            for call in [
                { try await database.createTable() }, { _ = try await database.store(for: "one").load() },
            ] {
                #expect(await authError(call)?.storeProblem == .denied)
            }
        }
    }

    /// If it were kept, the first connection would use the table that another role creates later.
    @Test func `a connection that found no table does not use one that appears later without a check`() async throws {
        try await HostileRole.run { server, role in
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            #expect(await authError { try await store.load() }?.storeProblem == .unavailable)
            try role.run(
                """
                CREATE TABLE appauth_session (key text, record bytea, key_id text, version int8, lock_number int8);
                GRANT ALL ON appauth_session TO PUBLIC
                """)
            #expect(await authError { try await store.load() }?.storeProblem == .denied)
        }
    }

    @Test func `a connection whose table has gone does not use the one of another role`() async throws {
        try await HostileRole.run { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service)")
            let database = try PostgreSQLDatabase(role.connection)
            try await database.createTable()
            let store = database.store(for: "one")
            try await store.put(.sample("ours"))
            try server.sql("DROP TABLE public.appauth_session")
            #expect(await authError { try await store.load() }?.storeProblem == .unavailable)
            try role.run(
                """
                CREATE TABLE appauth_session (key text, record bytea, key_id text, version int8, lock_number int8);
                GRANT ALL ON appauth_session TO PUBLIC
                """)
            #expect(await authError { try await store.put(.sample("ours")) }?.storeProblem == .denied)
        }
    }

    @Test func `names with and without the schema mean one lock and one row`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            let short = try PostgreSQLDatabase(server.connection()).store(for: "one")
            let long = try PostgreSQLDatabase(server.connection(), table: "public.appauth_session").store(for: "one")
            let lock = try await short.refreshLock()
            let waiting = Task { try await long.refreshLock() }
            try await waitUntil { try server.locks(isGranted: false) == 1 }
            lock.release()
            try await waiting.value.release()
            var reports = short.changes.makeAsyncIterator()
            await reports.next()
            try await long.put(.sample("shared"))
            await reports.next()
            #expect(try await short.name == "shared")
        }
    }
}
