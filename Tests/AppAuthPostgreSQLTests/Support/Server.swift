import AppAuthPostgreSQL
import Foundation

/// A database of a test's own.
struct Server: Sendable {
    private let cluster: Cluster
    let name: String

    /// The password of the role `app`, which owns the databases.
    static let password = "s3cret-of-app"

    /// Runs a test with a new database.
    ///
    /// - Parameters:
    ///   - isAlone: Whether the database has a server of its own, which the test may crash.
    ///   - machine: The machine that this server is on; nil for this one.
    static func run(
        isAlone: Bool = false, on machine: Machine? = nil, _ test: (Server) async throws -> Void
    ) async throws {
        let cluster = try await isAlone ? Cluster.started(on: machine) : Cluster.shared.value
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
    var certificate: String { cluster.certificate }
    var disk: String { cluster.disk }

    func start() async throws { try await cluster.start() }
    func crash() async throws { try await cluster.crash() }

    /// Runs a test with a standby, as the database of the same name there.
    ///
    /// - Parameter isSynchronous: Whether the standby has each confirmed change.
    func withStandby(isSynchronous: Bool, _ test: (Server) async throws -> Void) async throws {
        let standby = try await cluster.standby(isSynchronous: isSynchronous)
        let result: Result<Void, any Error>
        do { result = .success(try await test(Server(cluster: standby, name: name))) } catch {
            result = .failure(error)
        }
        try await standby.remove()
        try result.get()
    }

    /// Ends the replication to this standby, as a failure of the network between the two does.
    func stopFollowing(_ primary: Server) throws {
        try sql("ALTER SYSTEM SET primary_conninfo = ''")
        try sql("SELECT pg_reload_conf()")
        // Once this has returned, the primary has ended the replication.
        try primary.sql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_replication")
    }

    /// The connection string of a role, for processes on the server's machine and network.
    func connection(role: String = "app", password: String = Server.password) -> String {
        "postgresql://\(role):\(password)@\(cluster.address):\(port)/\(name)"
    }

    /// The connection string for this process, which reaches a machine's server only through the socket in its folder.
    private var ownConnection: String {
        cluster.machine == nil ? connection() : "postgresql://app@/\(name)?host=\(cluster.folder)&port=\(port)"
    }

    func database(
        _ keys: [SessionEncryptionKey] = [], _ set: (inout PostgreSQLDatabase.Options) -> Void = { _ in }
    ) throws -> PostgreSQLDatabase {
        var options = PostgreSQLDatabase.Options()
        set(&options)
        return try PostgreSQLDatabase(ownConnection, encryptionKeys: keys, options: options)
    }

    /// Runs SQL as an operator does, and returns the values, one in a line.
    @discardableResult
    func sql(_ statement: String) throws -> String {
        try cluster.sql(statement, in: name)
    }

    /// Starts a program that runs the SQL in its input, each line at once.
    func console() throws -> Program { try cluster.console(in: name) }

    /// How many advisory locks connections hold, or wait for.
    func locks(isGranted: Bool) throws -> Int {
        let count = try sql("SELECT count(*) \(Self.locks) AND \(isGranted ? "" : "NOT") granted")
        return Int(count) ?? -1
    }

    /// Ends the connections that hold advisory locks, or wait for them, as an operator does.
    func endLockConnections(isGranted: Bool = true) throws {
        try sql("SELECT pg_terminate_backend(pid) \(Self.locks) AND \(isGranted ? "" : "NOT") granted")
    }

    private static let locks = """
        FROM pg_locks WHERE locktype = 'advisory' \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
}
