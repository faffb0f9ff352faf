import AppAuthConcurrency
import Foundation
import TestFixtures

/// A PostgreSQL server, on loopback or on a machine of a ``Network``. It runs as an unprivileged user, since it refuses to
/// run as root.
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
        let cluster = try Cluster(on: machine)
        let folder = cluster.folder
        let passwordFile = folder + "/password"
        try Server.password.write(toFile: passwordFile, atomically: true, encoding: .utf8)
        _ = try Program.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/server.key",
                "-out", folder + "/server.crt",
            ])
        try cluster.giveToServer(folder)
        try cluster.run(
            "initdb",
            [
                "--pgdata", folder + "/data", "--username", "app", "--pwfile", passwordFile, "--no-sync",
                "--auth-host", "scram-sha-256", "--auth-local", "trust", "--encoding", "UTF8", "--no-locale",
            ])
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: folder + "/data/pg_hba.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data("host all all samenet scram-sha-256\n".utf8))
        try file.close()
        try await cluster.start()
        return cluster
    }

    /// Starts a standby that follows this server.
    func standby(isSynchronous: Bool, on machine: Machine? = nil) async throws -> Cluster {
        let standby = try Cluster(on: machine)
        try standby.giveToServer(standby.folder)
        try await standby.follow(self, isSynchronous: isSynchronous)
        return standby
    }

    /// Starts this server, which has ended or was never started, as the standby of another one.
    ///
    /// - Parameter isSynchronous: Whether the other one, from now on, confirms a change only when this one has it.
    func follow(_ primary: Cluster, isSynchronous: Bool) async throws {
        try? FileManager.default.removeItem(atPath: folder + "/data")
        if let disk = machine?.disk { try machine?.run("find", disk, "-mindepth", "1", "-delete") }
        try run(
            "pg_basebackup",
            [
                "-h", primary.folder, "-p", String(primary.port), "-U", "app", "-D", folder + "/data", "-R", "-c",
                "fast", "--no-sync",
            ])
        try await start()
        guard isSynchronous else { return }
        try primary.setStandby("*")
        let state = "SELECT sync_state FROM pg_stat_replication"
        while try primary.sql(state, in: "postgres") != "sync" { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Makes this standby a primary, which has no standby.
    func promote() throws {
        try sql("SELECT pg_promote()", in: "postgres")
        try setStandby("")
    }

    private func setStandby(_ name: String) throws {
        for statement in ["ALTER SYSTEM SET synchronous_standby_names = '\(name)'", "SELECT pg_reload_conf()"] {
            try sql(statement, in: "postgres")
        }
    }

    private init(on machine: Machine?) throws {
        self.machine = machine
        port = freePort()
        folder = NSTemporaryDirectory() + "appauth-postgresql-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        if let machine { try giveToServer(machine.disk) }
    }

    private func giveToServer(_ folder: String) throws {
        guard geteuid() == 0 else { return }
        let command = (machine?.prefix ?? []) + ["/bin/chown", "-R", "postgres", folder]
        _ = try Program.run(command[0], Array(command.dropFirst()))
    }

    var address: String { machine?.address ?? "127.0.0.1" }

    /// The certificate of the server, for the address 127.0.0.1.
    var certificate: String { folder + "/server.crt" }

    /// Starts the server, and waits until it accepts connections.
    func start() async throws {
        var settings = [
            "listen_addresses=\(address)", "unix_socket_directories=\(folder)", "max_connections=200", "fsync=off",
            "shared_buffers=16MB", "hot_standby=on", "wal_retrieve_retry_interval=100ms",
        ]
        if FileManager.default.fileExists(atPath: certificate) {
            settings += ["ssl=on", "ssl_cert_file=\(certificate)", "ssl_key_file=\(folder)/server.key"]
        }
        let server = [Self.binary("postgres"), "-D", folder + "/data", "-p", String(port)]
        // The shell waits for the end of its input and for the server's, which it reports. A test may start the server again.
        let lifeline = #"""
            trap "" PIPE; exec 3<&0; "$@" 3<&- & server=$!; { cat <&3 >/dev/null; kill -INT "$server"; } & input=$!
            wait "$server"; echo "the server has ended"; kill "$input"; cat <&3 >/dev/null; rm -rf "$0"
            """#
        let command = (machine?.prefix ?? []) + Self.asUser(server + settings.flatMap { ["-c", $0] })
        let shell = try Program("/bin/sh", ["-c", lifeline, folder] + command, environment: Self.environment)
        shells.withLock { $0.append(shell) }
        let end = "the server has ended"
        let line = try await shell.line { $0 == end || $0.contains("ready to accept ") && $0.contains("connections") }
        guard line != end else { throw Program.Failure(description: shell.output) }
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

    private func run(_ name: String, _ arguments: [String]) throws {
        let command = (machine?.prefix ?? []) + Self.asUser([Self.binary(name)] + arguments)
        _ = try Program.run(command[0], Array(command.dropFirst()), environment: Self.environment)
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
}
