import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Another role of the database may create objects that fit better. Nothing of it runs as the service.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SearchPathTests {
    /// A namesake of an exact match runs only if the path names `pg_catalog` after another schema.
    static let paths = [nil, "public", "\"$user\", public", "public, pg_catalog", "public, pg_temp, pg_catalog"]

    @Test(arguments: paths)
    func `no operator, function, type or relation of another role runs in any statement`(path: String?) async throws {
        try await HostileRole.run(path: path) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service)")
            try role.layTraps()
            let store = try PostgreSQLDatabase(role.connection).store(for: "one")
            try await store.database.createTable()
            try await store.database.createTable()
            try await store.useAll()
            // The table's defaults.
            try server.sql("SET ROLE \(role.service); INSERT INTO public.appauth_session (key) VALUES ('two')")
            #expect(try role.hits() == "0")
        }
    }

    @Test(arguments: paths)
    func `nothing of another role runs in schema.sql, or in the table that it creates`(path: String?) async throws {
        try await HostileRole.run(path: path) { server, role in
            try server.sql("GRANT CREATE ON SCHEMA public TO \(role.service)")
            try role.layTraps()
            let root = URL(filePath: #filePath).appending(path: "../../..").standardized
            let file = root.appending(path: "Sources/AppAuthPostgreSQL/schema.sql")
            let setting = path.map { "SET search_path = \($0);" } ?? ""
            try role.runAsService("\(setting) \(String(contentsOf: file, encoding: .utf8))")
            try await PostgreSQLDatabase(role.connection).store(for: "one").useAll()
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
        try await HostileRole.run { server, role in
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
        try await HostileRole.run { server, role in
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
        try await HostileRole.run { server, role in
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
}
