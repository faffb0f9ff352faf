import AppAuthConcurrency
import AppAuthPostgreSQL
import Foundation

/// A database of a test's own.
struct Server: Sendable {
    /// The primary, and its standby if there is one.
    private let clusters: LockedValue<[Cluster]>
    let name: String

    /// The password of the role `app`, which owns the databases.
    static let password = "s3cret-of-app"

    private init(_ clusters: [Cluster], _ name: String) { (self.clusters, self.name) = (LockedValue(clusters), name) }

    /// Runs a test with a new database.
    ///
    /// - Parameters:
    ///   - isAlone: Whether the database has a server of its own, which the test may crash.
    ///   - machines: The machine that this server is on, and that of a synchronous standby; none for this machine.
    static func run(
        isAlone: Bool = false, on machines: [Machine] = [], _ test: (Server) async throws -> Void
    ) async throws {
        let cluster = try await isAlone ? Cluster.started(on: machines.first) : Cluster.shared.value
        let server = Server([cluster], "test_\(UInt64.random(in: 0...UInt64.max))")
        let result: Result<Void, any Error>
        do {
            try cluster.sql("CREATE DATABASE \(server.name)", in: "postgres")
            for machine in machines.dropFirst() {
                let standby = try await cluster.standby(isSynchronous: true, on: machine)
                server.clusters.withLock { $0.append(standby) }
            }
            result = .success(try await test(server))
        } catch { result = .failure(error) }
        if isAlone { for cluster in server.clusters.withLock({ $0 }) { try await cluster.remove() } }
        try result.get()
    }

    private var cluster: Cluster { clusters.withLock { $0[0] } }
    var port: Int { cluster.port }
    var certificate: String { cluster.certificate }
    var machine: Machine? { cluster.machine }

    func start() async throws { try await cluster.start() }
    func crash() async throws { try await cluster.crash() }

    /// Ends the primary as a crash does, and makes the standby the primary, and then the old primary its standby.
    func failOver() async throws {
        let (old, new) = clusters.withLock { clusters in
            clusters.reverse()
            return (clusters[1], clusters[0])
        }
        try await old.crash()
        try new.promote()
        try await old.follow(new, isSynchronous: true)
    }

    /// Runs a test with a standby, as the database of the same name there.
    ///
    /// - Parameter isSynchronous: Whether the standby has each confirmed change.
    func withStandby(isSynchronous: Bool, _ test: (Server) async throws -> Void) async throws {
        let standby = try await cluster.standby(isSynchronous: isSynchronous)
        let result: Result<Void, any Error>
        do { result = .success(try await test(Server([standby], name))) } catch {
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

    /// The connection string of a role, for processes on the server's machine and network. It begins with the standby.
    func connection(role: String = "app", password: String = Server.password) -> String {
        let hosts = clusters.withLock { $0.reversed().map { "\($0.address):\($0.port)" } }
        return "postgresql://\(role):\(password)@\(hosts.joined(separator: ","))/\(name)"
    }

    /// The connection string for this process, which reaches the servers on machines only through sockets in their folders.
    private var ownConnection: String {
        guard cluster.machine != nil else { return connection() }
        let clusters = clusters.withLock { $0 }
        let (folders, ports) = (clusters.map(\.folder), clusters.map { String($0.port) })
        return "postgresql://app@/\(name)?host=\(folders.joined(separator: ","))&port=\(ports.joined(separator: ","))"
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
