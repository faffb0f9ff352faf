import AppAuthPostgreSQL
import Foundation

/// A database of a test's own.
struct Server: Sendable {
    private let cluster: Cluster
    private let name: String

    /// The password of the role `app`, which owns the databases.
    static let password = "s3cret-of-app"

    /// Runs a test with a new database.
    ///
    /// - Parameter isAlone: Whether the database has a server of its own, which the test may crash.
    static func run(isAlone: Bool = false, _ test: (Server) async throws -> Void) async throws {
        let cluster = try await isAlone ? Cluster.started() : Cluster.shared.value
        let server = Server(cluster: cluster, name: "test_\(UInt64.random(in: 0...UInt64.max))")
        let result: Result<Void, any Error>
        do {
            try Server(cluster: cluster, name: "postgres").sql("CREATE DATABASE \(server.name)")
            result = .success(try await test(server))
        } catch { result = .failure(error) }
        if isAlone { try await cluster.remove() }
        try result.get()
    }

    var port: Int { cluster.port }

    func start() async throws { try await cluster.start() }
    func crash() async throws { try await cluster.crash() }

    /// The connection string of a role.
    func connection(port: Int? = nil, role: String = "app", password: String = Server.password) -> String {
        "postgresql://\(role):\(password)@127.0.0.1:\(port ?? self.port)/\(name)"
    }

    func database(
        _ keys: [SessionEncryptionKey] = [], _ set: (inout PostgreSQLDatabase.Options) -> Void = { _ in }
    ) throws -> PostgreSQLDatabase {
        var options = PostgreSQLDatabase.Options()
        set(&options)
        return try PostgreSQLDatabase(connection(), encryptionKeys: keys, options: options)
    }

    /// Runs SQL as an operator does, and returns the values, one in a line.
    @discardableResult
    func sql(_ statement: String) throws -> String {
        let output = try Program.run(
            Cluster.binary("psql"),
            [
                "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", cluster.folder, "-p", String(port), "-U", "app",
                "-c", statement, name,
            ])
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// How many advisory locks connections hold, or wait for.
    func locks(isGranted: Bool) throws -> Int {
        let count = try sql("SELECT count(*) \(Self.locks) AND \(isGranted ? "" : "NOT") granted")
        return Int(count) ?? -1
    }

    /// Ends the connections that hold advisory locks, as an operator does.
    func endLockConnections() throws {
        try sql("SELECT pg_terminate_backend(pid) \(Self.locks) AND granted")
    }

    private static let locks = """
        FROM pg_locks WHERE locktype = 'advisory' \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
}
