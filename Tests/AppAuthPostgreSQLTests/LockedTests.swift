import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing
import TestFixtures

/// Another program keeps a lock that the store needs, or the server is gone.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LockedTests {
    /// Without limits at the server, the caller gives up first, and each of its statements goes on.
    @Test func `a table that is locked is the reason in the error, and no statement goes on waiting`() async throws {
        try await Server.run { server in
            try await server.database().createTable()
            func store() throws -> PostgreSQLTokenStore {
                try server.database { $0.callTimeout = .seconds(6) }.store(for: "one")
            }
            let connected = try store()
            #expect(try await connected.load() == nil)
            let console = try server.console()
            console.write("BEGIN; LOCK TABLE appauth_session; SELECT 'locked';")
            _ = try await console.line { $0.contains("locked") }
            let new = try store()
            for call in [
                { _ = try await connected.load() }, { _ = try await new.load() },
                { _ = try await connected.refreshLock() },
            ] {
                let error = try #require(await authError(call))
                #expect(error.message.contains("lock timeout (55P03)") && error.isTemporary, "\(error)")
            }
            #expect(
                try server.sql(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database "
                        + "WHERE datname = current_database())") == "0")
            console.write("ROLLBACK; BEGIN; LOCK TABLE appauth_session IN SHARE MODE; SELECT 'readable';")
            _ = try await console.line { $0.contains("readable") }
            // It reads the row, gets the lock, and cannot write its number.
            let error = try #require(await authError { _ = try await connected.refreshLock() })
            #expect(error.message.contains("lock timeout (55P03)") && error.isTemporary, "\(error)")
            console.write("ROLLBACK; SELECT 'unlocked';")
            _ = try await console.line { $0.contains("unlocked") }
            try await connected.refreshLock().release()
            try await connected.put(.sample("later"))
            #expect(try await connected.name == "later")
        }
    }

    @Test func `a server that cannot be reached is a temporary error, after the time for a call`() async throws {
        try await Server.run(isAlone: true) { server in
            try await server.database().createTable()
            try await server.crash()
            let store = try server.database { $0 = .quick }.store(for: "one")
            for call in [{ _ = try await store.load() }, { try await store.put(.sample()) }] {
                let error = try #require(await authError(call))
                #expect(error.isTemporary && error.message.contains("cannot be reached"), "\(error)")
            }
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
}
