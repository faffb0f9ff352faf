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

    /// A relation in `pg_temp` comes before all others, unless the path says otherwise.
    @Test func `a temporary table of the same name is not used`() async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            try server.sql(
                """
                CREATE FUNCTION hide() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                CREATE TEMPORARY TABLE IF NOT EXISTS appauth_session (LIKE public.appauth_session INCLUDING ALL);
                RETURN true; END $$;
                ALTER TABLE appauth_session ADD x boolean DEFAULT hide();
                """)
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            for name in ["inserted", "changed"] { try await store.put(.sample(name)) }
            #expect(try await store.name == "changed")
            #expect(try server.sql("SELECT position('changed'::bytea IN record) > 0 FROM appauth_session") == "t")
        }
    }

    // MARK: - Owners

    @Test(arguments: Intrusion.allCases)
    func `a table that lets another role run code is refused, at each connection and by createTable`(
        intrusion: Intrusion
    ) async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            try role.ownFunctions()
            let earlier = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await earlier.put(.sample("ours"))
            try server.sql(intrusion.statement.replacing("MALLORY", with: role.name))
            try role.admit()
            let database = try PostgreSQLDatabase(role.connection)
            let store = database.store(for: "one")
            for call in [
                { _ = try await store.load() }, { try await store.put(.sample()) }, { try await store.prepare() },
                { try await store.refreshLock().release() }, { try await database.createTable() },
                { try await earlier.database.createTable() },
            ] {
                let error = try #require(await authError(call))
                guard intrusion != .view else {
                    #expect(error.storeProblem == .damaged && error.message.contains("expected a table"), "\(error)")
                    continue
                }
                #expect(error.storeProblem == .denied && !error.isTemporary, "\(error)")
                for name in [intrusion.isOfAll ? "PUBLIC" : role.name, role.service] {
                    #expect(error.message.contains("'\(name)'"), "\(error)")
                }
            }
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "f")
            guard intrusion != .view, !intrusion.isOfAll else { return }
            var options = PostgreSQLDatabase.Options()
            options.trustedOwners = [role.name]
            let trusting = try PostgreSQLDatabase(role.connection, options: options)
            try await trusting.createTable()
            #expect(try await trusting.store(for: "one").name == "ours")
        }
    }

    @Test func `what another role makes by itself refuses no table, nor what is made for its types`() async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            try role.ownFunctions()
            try role.run("CREATE TYPE public.theirs AS ENUM ('a', 'b')")
            try server.sql("CREATE TYPE mood AS ENUM ('a', 'b'); ALTER TABLE appauth_session ADD x mood")
            try role.run(
                """
                CREATE FUNCTION public.theirs(text) RETURNS public.theirs LANGUAGE sql AS 'SELECT NULL::public.theirs';
                CREATE FUNCTION public.theirs(public.mood) RETURNS public.theirs LANGUAGE sql AS 'SELECT NULL::public.theirs';
                CREATE FUNCTION public.compare(public.theirs, public.theirs) RETURNS int4 IMMUTABLE LANGUAGE sql AS 'SELECT 0';
                CREATE CAST (text AS public.theirs) WITH FUNCTION public.theirs(text) AS IMPLICIT;
                CREATE CAST (public.mood AS public.theirs) WITH FUNCTION public.theirs(public.mood) AS IMPLICIT;
                CREATE OPERATOR public.!== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text, NEGATOR = ===);
                CREATE OPERATOR public.=== (FUNCTION = mallory.touch, LEFTARG = text, RIGHTARG = text, NEGATOR = !==);
                """)
            try server.sql(
                """
                CREATE OPERATOR CLASS theirs DEFAULT FOR TYPE theirs USING btree AS FUNCTION 1 compare(theirs, theirs);
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
            try role.run("CREATE FUNCTION public.\"\(name)\"() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
            let store = try PostgreSQLDatabase(role.connection + "?application_name=x.%20Run%20$(id)").store(for: "one")
            let lock = try await store.refreshLock()
            #expect(await store.refreshLockHolder() == "'x. Run $(id)'")
            lock.release()
            try server.sql("ALTER TABLE appauth_session ADD x boolean DEFAULT public.\"\(name)\"()")
            let error = try #require(
                await authError { try await PostgreSQLDatabase(role.connection).store(for: "one").load() })
            #expect(error.message.contains(": the function '\(name)' belongs to the role '"), "\(error)")
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

    // MARK: - Triggers, and owners that are trusted

    /// A trigger has no owner. This one remains when the privilege is taken back, and its condition is SQL for functions of
    /// PostgreSQL itself.
    @Test func `a table with a trigger is refused, whoever has made it`() async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.admit()
            try role.ownFunctions()
            try server.sql("GRANT TRIGGER ON appauth_session TO \(role.name)")
            try role.run(
                """
                CREATE TRIGGER left_over BEFORE INSERT OR UPDATE ON appauth_session FOR EACH ROW
                WHEN (pg_catalog.query_to_xml('SELECT mallory.touch(''d'')', true, true, '') IS NOT NULL)
                EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()
                """)
            try server.sql("REVOKE TRIGGER ON appauth_session FROM \(role.name)")
            var options = PostgreSQLDatabase.Options()
            for trusted in [[], [role.name]] as [Set<String>] {
                options.trustedOwners = trusted
                let store = try PostgreSQLDatabase(role.connection, options: options).store(for: "one")
                for call in [{ _ = try await store.load() }, { try await store.put(.sample()) }] {
                    let error = try #require(await authError(call))
                    #expect(
                        error.storeProblem == .denied && error.message.contains("the trigger 'left_over'"), "\(error)")
                }
            }
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "f")
            try server.sql("DROP TRIGGER left_over ON appauth_session")
            try await PostgreSQLDatabase(role.connection).store(for: "one").put(.sample())
        }
    }

    /// The owners that need no mention.
    enum TrustedOwner: CaseIterable { case itself, superuser, ownerOfTheDatabase }

    @Test(arguments: TrustedOwner.allCases)
    func `a table of a trusted role is used, and its defaults run`(owner: TrustedOwner) async throws {
        try await withHostileRole { server, role in
            try await server.database().createTable()
            try role.ownFunctions()
            let name =
                switch owner {
                case .itself: role.service
                case .superuser: "app"
                case .ownerOfTheDatabase: role.name
                }
            if owner == .ownerOfTheDatabase { try server.sql("ALTER DATABASE \(server.name) OWNER TO \(name)") }
            try server.sql(
                """
                ALTER TABLE appauth_session OWNER TO \(name); ALTER FUNCTION mallory.touch(text) OWNER TO \(name);
                ALTER TABLE appauth_session ADD x boolean DEFAULT mallory.touch('d');
                """)
            try role.admit()
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await store.database.createTable()
            try await store.put(.sample("ours"))
            #expect(try await store.name == "ours")
            #expect(try server.sql("SELECT is_called FROM mallory.touched") == "t")
            // The databases go with the tests, and a role that owns one cannot be removed.
            try server.sql("ALTER DATABASE \(server.name) OWNER TO app")
        }
    }

    /// Before PostgreSQL 16, each role may make others its members.
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
