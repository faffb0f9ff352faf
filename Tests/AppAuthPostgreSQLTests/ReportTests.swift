import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Testing
import TestFixtures

/// The report of a change (NOTIFY) is not part of the change.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ReportTests {
    /// Every role can fill the queue of the server, which then refuses all notifications. Here, the role may not send any.
    @Test func `a refreshed session is stored although its change cannot be reported`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            try await withLocalProvider(.demo) { provider in
                let signedIn = try await provider.signIn(store: server.database().store(for: "one"))
                let before = await signedIn.record
                try await server.database().store(for: "one").put(before.expired())
                try server.sql(
                    """
                    CREATE ROLE silent_\(server.name) LOGIN PASSWORD 's';
                    GRANT SELECT, INSERT, UPDATE ON appauth_session TO silent_\(server.name);
                    REVOKE EXECUTE ON FUNCTION pg_catalog.pg_notify(text, text) FROM PUBLIC;
                    """)
                let log = LogCapture()
                var options = PostgreSQLDatabase.Options()
                options.logger = log.logger
                let connection = server.connection(role: "silent_\(server.name)", password: "s")
                let store = try PostgreSQLDatabase(connection, options: options).store(for: "one")
                let session = try #require(await AuthState(restoring: store, environment: .live))
                let token = try await session.freshAccessToken().value
                let after = try #require(await server.database().store(for: "one").load())
                #expect(after.accessToken?.value == token)
                #expect(after.refreshToken != nil && after.refreshToken != before.refreshToken)
                #expect(
                    log.lines.contains {
                        $0.contains("warning") && $0.contains("is written, but") && $0.contains("pg_notify")
                    },
                    "\(log.lines)")
                // The connection goes on.
                try await store.put(.sample("later"))
                #expect(try await store.name == "later")
                try server.sql("DROP OWNED BY silent_\(server.name); DROP ROLE silent_\(server.name)")
            }
        }
    }

    /// Every role can send so many that its transaction takes half a minute to end, and all others with a notification wait for
    /// that. Here, it waits for a standby that there is not.
    @Test func `a change is stored although others keep the queue of the server`() async throws {
        try await Server.run(isAlone: true) { server in
            try await server.database().createTable()
            let log = LogCapture()
            var options = PostgreSQLDatabase.Options()
            options.logger = log.logger
            let connection = server.connection() + "?options=-c%20synchronous_commit%3Dlocal"
            let store = try PostgreSQLDatabase(connection, options: options).store(for: "one")
            try await store.put(.sample("before"))
            for statement in ["ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"] {
                try server.sql(statement)
            }
            let console = try server.console()
            console.write("BEGIN; CREATE TABLE own (); NOTIFY own; COMMIT;")
            try await waitUntil {
                try server.sql(
                    "SELECT count(*) FROM pg_locks WHERE classid = 'pg_database'::regclass AND objid = 0 AND granted")
                    == "1"
            }
            for name in ["one", "two"] {
                try await store.put(.sample(name))
                #expect(try await store.name == name)
            }
            let warnings = log.lines.filter { $0.contains("is written, but") && $0.contains("55P03") }
            #expect(warnings.count == 2, "\(log.lines)")
            let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            #expect(try server.sql(waiting) == "0")
        }
    }

    /// Such a failure comes after the rows, with the end of the transaction. An open connection does not check the table again,
    /// so it accepts the foreign key.
    @Test func `a change that fails when it is committed is not taken for stored`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            let store = try server.database().store(for: "one")
            #expect(try await store.load() == nil)
            try server.sql(
                """
                CREATE TABLE tenant (key text PRIMARY KEY);
                ALTER TABLE appauth_session ADD CONSTRAINT known FOREIGN KEY (key) REFERENCES tenant
                DEFERRABLE INITIALLY DEFERRED;
                """)
            let error = try #require(await authError { try await store.put(.sample("lost")) })
            #expect(error.message.contains("23503"), "\(error)")
            #expect(try await store.load() == nil)
            try server.sql("INSERT INTO tenant VALUES ('one')")
            try await store.put(.sample("stored"))
            #expect(try await store.name == "stored")
        }
    }
}
