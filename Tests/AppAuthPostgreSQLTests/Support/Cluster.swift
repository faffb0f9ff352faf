import AppAuthConcurrency
import Foundation

/// A PostgreSQL server, on loopback or on a machine of a ``Network``. It runs as an unprivileged user, since it refuses to run as root.
///
/// Its parent is a shell that ends it and removes its folder when the tests end, even if they are killed: then the shell's
/// input ends.
final class Cluster: Sendable {
    let port: Int
    /// The folder of its socket and its data.
    let folder: String
    /// The machine; nil for this one.
    let machine: Machine?
    /// The shells of the server, one for each start.
    private let shells = LockedValue<[Program]>([])

    /// The server of all tests that do not end it.
    static let shared = Task { try await Cluster.started() }

    static func started(on machine: Machine? = nil) async throws -> Cluster {
        let cluster = try Cluster(on: machine) { folder in
            let passwordFile = folder + "/password"
            try Server.password.write(toFile: passwordFile, atomically: true, encoding: .utf8)
            _ = try Program.run(
                "/usr/bin/openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/server.key",
                    "-out", folder + "/server.crt",
                ])
            if geteuid() == 0 { _ = try Program.run("/bin/chown", ["-R", "postgres", folder]) }
            try run(
                "initdb",
                [
                    "--pgdata", folder + "/data", "--username", "app", "--pwfile", passwordFile, "--no-sync",
                    "--auth-host", "scram-sha-256", "--auth-local", "trust", "--encoding", "UTF8", "--no-locale",
                ])
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/data/pg_hba.conf"))
            try file.seekToEnd()
            try file.write(contentsOf: Data("host all all samenet scram-sha-256\n".utf8))
            try file.close()
        }
        try FileManager.default.createDirectory(atPath: cluster.disk, withIntermediateDirectories: false)
        try machine?.run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", cluster.disk)
        try machine?.run("chown", "postgres", cluster.disk)
        try await cluster.start()
        return cluster
    }

    /// Starts a standby that follows this server.
    ///
    /// - Parameter isSynchronous: Whether this server, from now on, confirms a change only when the standby has it.
    func standby(isSynchronous: Bool) async throws -> Cluster {
        let standby = try Cluster(on: nil) { folder in
            if geteuid() == 0 { _ = try Program.run("/bin/chown", ["postgres", folder]) }
            try Self.run(
                "pg_basebackup",
                ["-h", self.folder, "-p", String(port), "-U", "app", "-D", folder + "/data", "-R", "-c", "fast"])
        }
        try await standby.start()
        guard isSynchronous else { return standby }
        for statement in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
            try sql(statement, in: "postgres")
        }
        let state = "SELECT sync_state FROM pg_stat_replication"
        while try sql(state, in: "postgres") != "sync" { try await Task.sleep(for: .milliseconds(5)) }
        return standby
    }

    private init(on machine: Machine?, _ fill: (_ folder: String) throws -> Void) throws {
        self.machine = machine
        port = try Self.freePort()
        folder = NSTemporaryDirectory() + "appauth-postgresql-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try fill(folder)
    }

    var address: String { machine?.address ?? "127.0.0.1" }

    /// The folder of a small disk, if the server is on a machine of a network.
    var disk: String { folder + "/disk" }

    /// The certificate of the server, for the address 127.0.0.1.
    var certificate: String { folder + "/server.crt" }

    /// Starts the server, and waits until it accepts connections.
    func start() async throws {
        var settings = [
            "listen_addresses=\(address)", "unix_socket_directories=\(folder)", "max_connections=200", "fsync=off",
            "shared_buffers=16MB", "hot_standby=on",
        ]
        if FileManager.default.fileExists(atPath: certificate) {
            settings += ["ssl=on", "ssl_cert_file=\(certificate)", "ssl_key_file=\(folder)/server.key"]
        }
        let server = [Self.binary("postgres"), "-D", folder + "/data", "-p", String(port)]
        let lifeline = #""$@" & server=$!; cat; kill -INT "$server"; wait "$server"; rm -rf "$0""#
        let command = (machine?.prefix ?? []) + Self.asUser(server + settings.flatMap { ["-c", $0] })
        let shell = try Program("/bin/sh", ["-c", lifeline, folder] + command, environment: Self.environment)
        shells.withLock { $0.append(shell) }
        _ = try await shell.line { $0.contains("ready to accept ") && $0.contains("connections") }
    }

    /// Ends the server without a shutdown, as a crash does.
    func crash() async throws {
        let file = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
        guard let id = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else { return }
        kill(id, SIGQUIT)
        while kill(id, 0) == 0 { try await Task.sleep(for: .milliseconds(2)) }
    }

    /// Ends the server and removes its folder.
    func remove() async throws {
        let shells = shells.withLock { $0 }
        for shell in shells { shell.closeInput() }
        for shell in shells { _ = try await shell.end() }
    }

    // MARK: - Programs of PostgreSQL

    private static let environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]

    private static func run(_ name: String, _ arguments: [String]) throws {
        let command = asUser([binary(name)] + arguments)
        _ = try Program.run(command[0], Array(command.dropFirst()), environment: environment)
    }

    /// Runs SQL as an operator does, and returns the values, one in a line.
    @discardableResult
    func sql(_ statement: String, in database: String) throws -> String {
        let output = try Program.run(Self.binary("psql"), console + ["-c", statement, database])
        return output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Starts a program that runs the SQL in its input, each line at once.
    func console(in database: String) throws -> Program { try Program(Self.binary("psql"), console + [database]) }

    private var console: [String] {
        ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", String(port), "-U", "app"]
    }

    private static func asUser(_ command: [String]) -> [String] {
        guard geteuid() == 0 else { return command }
        return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] + command
    }

    /// Debian keeps the programs of a server in a folder for each version.
    private static func binary(_ name: String) -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
        return "\(root)/\(versions.max() ?? 0)/bin/\(name)"
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(descriptor, address, size)
                _ = getsockname(descriptor, address, &size)
            }
            return Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
    }
}
