import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Another role has made the table first, or may change it. Nothing of it runs as the service.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct HostileTableTests {
    @Test(arguments: Intrusion.ofOwners)
    func `a table that another role can change is refused, unless the role is trusted`(intrusion: Intrusion)
        async throws
    {
        try await withIntrusion(intrusion) { trusting in
            try await trusting.createTable()
            #expect(try await trusting.store(for: "one").name == "ours")
        }
    }

    @Test(arguments: Intrusion.ofOthers + Intrusion.ofTriggers + Intrusion.ofExpressions + Intrusion.ofUses)
    func `a table that lets another role run code is refused, whatever roles are trusted`(intrusion: Intrusion)
        async throws
    {
        try await withIntrusion(intrusion) { trusting in
            #expect(await authError { try await trusting.createTable() }?.storeProblem == .denied)
        }
    }

    /// Checks that each call refuses the table, and that nothing of the hostile role has run.
    ///
    /// - Parameter test: Gets a database that trusts the roles.
    private func withIntrusion(
        _ intrusion: Intrusion, _ test: (PostgreSQLDatabase) async throws -> Void
    ) async throws {
        try await HostileRole.run { server, role in
            let extensions = try server.sql("SELECT name FROM pg_available_extensions")
            guard !intrusion.statement.contains("EXTENSION citext") || extensions.contains("citext") else { return }
            try await server.database().createTable()
            try role.admit()
            try role.ownFunctions()
            let earlier = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await earlier.put(.sample("ours"))
            try server.sql(intrusion.statement.replacing("MALLORY", with: role.name))
            let database = try PostgreSQLDatabase(role.connection)
            let store = database.store(for: "one")
            for call in [
                { _ = try await store.load() }, { try await store.put(.sample()) }, { try await store.prepare() },
                { try await store.refreshLock().release() }, { try await database.createTable() },
                { try await earlier.database.createTable() },
            ] {
                let error = try #require(await authError(call))
                #expect(error.storeProblem == .denied && !error.isTemporary, "\(error)")
                #expect(
                    error.message.contains(intrusion.found) && error.message.contains("'\(role.service)'"), "\(error)")
            }
            var options = PostgreSQLDatabase.Options()
            options.trustedOwners = [role.name, role.service, "app", "PUBLIC"]
            try await test(PostgreSQLDatabase(role.connection, options: options))
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "f")
            // The privileges of a role cannot be taken back from a table without an owner.
            try server.sql("UPDATE pg_class SET relowner = 'app'::regrole WHERE relowner = 9999")
        }
    }

    /// In a schema of the service's path, before the one that it means.
    @Test func `a view of another role is named with its schema and its owner`() async throws {
        try await HostileRole.run { server, role in
            try role.run("CREATE VIEW public.appauth_session AS SELECT 1 AS key")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(error.storeProblem == .denied, "\(error)")
            for word in ["public.appauth_session'", "'\(role.name)'"] {
                #expect(error.message.contains(word), "\(error)")
            }
        }
    }

    @Test func `a view is refused`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try server.sql("ALTER TABLE appauth_session RENAME TO base; CREATE VIEW appauth_session AS TABLE base")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("expected a table"), "\(error)")
        }
    }

    @Test func `a table may have all that has no expression and belongs to PostgreSQL itself`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try server.sql(
                """
                ALTER TABLE appauth_session ADD tenant text COLLATE "C", ADD number int8,
                ADD times tstzrange, ADD tags text[], ADD UNIQUE (tenant, key), ADD created timestamptz DEFAULT now() NOT NULL,
                ADD EXCLUDE USING gist (times WITH &&);
                CREATE INDEX ON appauth_session USING gin (tags); CREATE INDEX ON appauth_session (key text_pattern_ops);
                CREATE STATISTICS s ON tenant, key FROM appauth_session;
                ALTER TABLE appauth_session ADD gone int4; GRANT SELECT (gone) ON appauth_session TO PUBLIC;
                ALTER TABLE appauth_session DROP gone; ALTER ROLE \(role.service) SET quote_all_identifiers = on;
                CREATE SCHEMA sessions; GRANT USAGE ON SCHEMA sessions TO \(role.service);
                """)
            try role.admit()
            try server.sql("ALTER TABLE appauth_session SET SCHEMA sessions")
            let database = try PostgreSQLDatabase(role.connection, table: "sessions.appauth_session")
            try await database.store(for: "one").useAll()
        }
    }

    /// Without a policy, this hides all sessions from a role that does not own the table.
    @Test func `row-level security is an error, and no session that is not there`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try role.admit()
            try server.sql("ALTER TABLE appauth_session ENABLE ROW LEVEL SECURITY")
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            let error = try #require(await authError { try await store.load() })
            #expect(error.storeProblem == .denied && error.message.contains("row-level security"), "\(error)")
        }
    }

    @Test func `what another role makes by itself refuses no table`() async throws {
        try await HostileRole.run { server, role in
            try await server.database().createTable()
            try role.admit()
            try role.ownFunctions()
            try role.run(
                """
                CREATE VIEW public.theirs AS SELECT * FROM appauth_session;
                CREATE FUNCTION public.theirs(appauth_session) RETURNS boolean LANGUAGE sql AS 'SELECT true';
                CREATE TABLE public.names (name regclass CHECK (name <> 'appauth_session_pkey'::regclass));
                CREATE TYPE public.mood AS ENUM ('a', 'b');
                CREATE FUNCTION public.mood(text) RETURNS public.mood LANGUAGE sql AS 'SELECT NULL::public.mood';
                CREATE CAST (text AS public.mood) WITH FUNCTION public.mood(text) AS IMPLICIT;
                CREATE FUNCTION public.mood(appauth_session) RETURNS public.mood LANGUAGE sql AS 'SELECT NULL::public.mood';
                CREATE CAST (appauth_session AS public.mood) WITH FUNCTION public.mood(appauth_session) AS IMPLICIT;
                CREATE OPERATOR public.!== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text, NEGATOR = ===);
                CREATE OPERATOR public.=== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text, NEGATOR = !==);
                """)
            try await PostgreSQLDatabase(role.connection).store(for: "one").useAll()
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "f")
        }
    }
}
