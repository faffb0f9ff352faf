import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Another role of the database may create objects, or has made the table first. Nothing of it runs as the service.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct HostileRoleTests {
    private func withHostileRole(
        path: String? = nil, _ test: (Server, HostileRole) async throws -> Void
    ) async throws {
        try await Server.run { server in
            let role = try HostileRole(of: server, path: path)
            let result: Result<Void, any Error>
            do { result = .success(try await test(server, role)) } catch { result = .failure(error) }
            try role.remove()
            try result.get()
        }
    }

    /// Executes each kind of statement of a store.
    private func useAll(of store: PostgreSQLTokenStore) async throws {
        try await store.prepare()
        #expect(try await store.load() == nil)
        for name in ["inserted", "changed"] {
            try await store.put(.sample(name))
            #expect(try await store.name == name)
        }
        var reports = store.changes.makeAsyncIterator()
        await reports.next()
        let lock = try await store.refreshLock()
        #expect(await store.refreshLockHolder() != nil)
        try await store.update(TokenStoreCall(grant: lock.grant)) { $0 = try .sample("under the lock") }
        await reports.next()
        lock.release()
        try await store.put(nil)
    }

    // MARK: - Objects in the search_path

    /// A namesake of an exact match runs only if the path names `pg_catalog` after another schema.
    static let paths = [nil, "public", "\"$user\", public", "public, pg_catalog", "public, pg_temp, pg_catalog"]

    @Test(arguments: paths)
    func `no operator, function, type or relation of another role runs in any statement`(path: String?) async throws {
        try await withHostileRole(path: path) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service)")
            try role.layTraps()
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await store.database.createTable()
            try await store.database.createTable()
            try await useAll(of: store)
            // The table's defaults.
            try server.sql("SET ROLE \(role.service); INSERT INTO public.appauth_session (key) VALUES ('two')")
            #expect(try role.hits() == "0")
        }
    }

    @Test(arguments: paths)
    func `nothing of another role runs in schema.sql, or in the table that it creates`(path: String?) async throws {
        try await withHostileRole(path: path) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service)")
            try role.layTraps()
            let root = URL(filePath: #filePath).appending(path: "../../..").standardized
            let file = root.appending(path: "Sources/AppAuthPostgreSQL/schema.sql")
            let setting = path.map { "SET search_path = \($0);" } ?? ""
            try role.runAsService("\(setting) \(String(contentsOf: file, encoding: .utf8))")
            try await useAll(of: PostgreSQLDatabase(role.connection).store(for: "one"))
            #expect(try role.hits() == "0")
        }
    }

    /// The check of the checks above.
    @Test(arguments: [
        (nil, "SELECT 2::numeric * 2::int4"), (nil, "SELECT '2'::name = '{}'::jsonb"),
        ("public, pg_catalog", "SELECT now()"), ("public, pg_catalog", "SELECT 'a'::text"),
        ("public, pg_catalog", "SELECT count(*) FROM pg_class"), ("public, pg_catalog", "SELECT 1::int4 + 1::int4"),
        ("public, pg_catalog", "SELECT 'a'::bytea || 'b'::bytea"),
    ])
    func `the traps run in a statement that does not name the schema`(path: String?, statement: String) async throws {
        try await withHostileRole { server, role in
            try role.layTraps()
            try? role.runAsService("\(path.map { "SET search_path = \($0);" } ?? "") \(statement)")
            #expect(try role.hits() != "0")
        }
    }

    /// For `format`, `pg_catalog` has no exact match.
    @Test func `a function that fits better does not run in the statement of the article for superusers`() async throws
    {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let file = root.appending(path: "Sources/AppAuth/AppAuth.docc/Articles/SeveralMachines.md")
        let article = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(article.range(of: "SELECT pg_catalog.format(")?.lowerBound)
        // The cluster of the tests takes no prepared transactions.
        let statement = String(article[start...].prefix { $0 != "\\" }).replacing(
            "pg_prepared_xacts", with: "(SELECT 'a'::text AS gid, 'ROLE' AS owner) AS found")
        try await withHostileRole { server, role in
            try role.layTrap()
            try role.run(
                """
                CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS
                $$ BEGIN PERFORM public.hit('format'); RETURN $1; END $$
                """)
            try role.runAsService(statement)
            #expect(try role.hits() == "0")
            try role.runAsService(statement.replacing("pg_catalog.", with: ""))
            #expect(try role.hits() != "0")
        }
    }

    /// A relation in `pg_temp` comes before all others, unless the path says otherwise. An open connection does not check the
    /// table again, so it runs the administrator's function.
    @Test func `a temporary table of the same name is not used`() async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            #expect(try await store.load() == nil)
            try server.sql(
                """
                CREATE FUNCTION hide() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                CREATE TEMPORARY TABLE IF NOT EXISTS appauth_session (LIKE public.appauth_session INCLUDING ALL);
                RETURN true; END $$;
                ALTER TABLE appauth_session ADD x boolean DEFAULT hide();
                """)
            for name in ["inserted", "changed"] { try await store.put(.sample(name)) }
            #expect(try await store.name == "changed")
            #expect(try server.sql("SELECT position('changed'::bytea IN record) > 0 FROM appauth_session") == "t")
        }
    }

    // MARK: - The table

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
        try await withHostileRole { server, role in
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

    /// They lock a catalog, which the server reads for the first statement of a connection.
    @Test(arguments: ["pg_proc", "pg_namespace", "pg_depend"])
    func `a locked catalog is the reason in the error, and no statement goes on waiting`(catalog: String) async throws {
        // The lock would stop the tests of other databases, if the catalog were a shared one.
        try await Server.run(isAlone: true) { server in
            try await server.database().createTable()
            let known = try server.database { $0.callTimeout = .seconds(6) }
            #expect(try await known.store(for: "one").load() == nil)
            let console = try server.console()
            console.write("BEGIN; LOCK TABLE pg_catalog.\(catalog); SELECT 'locked';")
            _ = try await console.line { $0.contains("locked") }
            let new = try server.database { $0.callTimeout = .seconds(6) }
            for store in [known.store(for: "one"), new.store(for: "one")] {
                let error = try #require(await authError { _ = try await store.refreshLock() })
                #expect(error.message.contains("lock timeout (55P03)"), "\(error)")
            }
            console.write(
                "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND usename = 'app';"
            )
            _ = try await console.line { $0 == "0" }
            console.write("ROLLBACK;")
        }
    }

    /// In a schema of the service's path, before the one that it means.
    @Test func `a view of another role is named with its schema and its owner`() async throws {
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try server.sql("ALTER TABLE appauth_session RENAME TO base; CREATE VIEW appauth_session AS TABLE base")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(error.storeProblem == .damaged && error.message.contains("expected a table"), "\(error)")
        }
    }

    @Test func `a table may have all that has no expression and belongs to PostgreSQL itself`() async throws {
        try await withHostileRole { server, role in
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
            try await useAll(of: database.store(for: "one"))
        }
    }

    /// Without a policy, this hides all sessions from a role that does not own the table.
    @Test func `row-level security is an error, and no session that is not there`() async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            try server.sql("ALTER TABLE appauth_session ENABLE ROW LEVEL SECURITY")
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            let error = try #require(await authError { try await store.load() })
            #expect(error.storeProblem == .denied && error.message.contains("row-level security"), "\(error)")
        }
    }

    @Test func `what another role makes by itself refuses no table`() async throws {
        try await withHostileRole { server, role in
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
            try await useAll(of: PostgreSQLDatabase(role.connection).store(for: "one"))
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "f")
        }
    }

    // MARK: - Names

    @Test func `names that other roles have chosen are in quotes`() async throws {
        try await withHostileRole { server, role in
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
        try await withHostileRole(path: schema) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service); CREATE SCHEMA \(schema)")
            try server.sql("GRANT ALL ON SCHEMA \(schema) TO \(role.service)")
            let database = try PostgreSQLDatabase(role.connection)
            try await database.createTable()
            try await useAll(of: database.store(for: "one"))
            #expect(try server.sql("SELECT to_regclass('public.injected') IS NULL") == "t")
        }
    }

    /// The Kelvin sign is canonically equivalent to the letter K.
    @Test func `a trusted owner is a role of exactly that name`() async throws {
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
        try await withHostileRole { server, role in
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
