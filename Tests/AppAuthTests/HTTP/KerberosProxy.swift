import Foundation
import TestFixtures

/// A Kerberos realm, and a Squid that requires its tickets, both on loopback and as an unprivileged user. They end when
/// this object is released, or with this process.
///
/// Only for a process of its own: libcurl and the programs read the realm's configuration from the environment.
final class KerberosProxy: Sendable {
    /// The proxy reaches it at 127.0.0.1. Nothing else knows this name.
    static let host = "server.example"

    let url: String
    private let folder: String
    private let services: [Service]

    static let isInstalled = ["krb5kdc", "kdb5_util", "kadmin.local", "kinit", "squid"].allSatisfy { name in
        ["/usr/sbin/", "/usr/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + name) }
    }

    /// Starts both. A free port may be taken before its server starts: then with others.
    static func start() throws -> KerberosProxy {
        for _ in 0..<2 { if let proxy = try? KerberosProxy() { return proxy } }
        return try KerberosProxy()
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/kerberos-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let (kdc, proxy) = (freePort(), freePort())
        url = "http://localhost:\(proxy)"
        // Squid does not run as root.
        let asUser = geteuid() == 0 ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
        do {
            for (name, text) in Self.files(folder, kdc, proxy) {
                try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            }
            if geteuid() == 0 { try run("chown", "-R", "nobody:nogroup", folder) }
            for (name, value) in [
                "KRB5_CONFIG": "\(folder)/krb5.conf", "KRB5_KDC_PROFILE": "\(folder)/kdc.conf",
                "KRB5CCNAME": "FILE:\(folder)/tickets", "KRB5RCACHENAME": "file2:\(folder)/replays",
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            ] { setenv(name, value, 1) }
            try run("env", asUser + ["kdb5_util", "create", "-s", "-P", "master"])
            let principals = """
                add_principal -pw looking-glass alice
                add_principal -randkey HTTP/localhost
                ktadd -k \(folder)/proxy.keytab HTTP/localhost

                """
            try run("env", asUser + ["kadmin.local"], input: Data(principals.utf8))
            services = [
                try Service(asUser + ["krb5kdc", "-n"], isReady: "starting..."),
                try Service(
                    asUser + ["squid", "-N", "-d", "1", "-f", "\(folder)/squid.conf"],
                    isReady: "Accepting HTTP Socket connections"),
            ]
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    deinit {
        for service in services { service.stop() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Gets alice's ticket.
    func kinit() throws { try run("kinit", "alice", input: Data("looking-glass\n".utf8)) }

    /// The status, the target and the user of each connection that has ended, for example
    /// `200 server.example:443 alice@EXAMPLE.TEST`.
    func log() throws -> [String] {
        try String(contentsOfFile: folder + "/access.log", encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private static func files(_ folder: String, _ kdc: Int, _ proxy: Int) -> [String: String] {
        [
            "krb5.conf": """
            [libdefaults]
            default_realm = EXAMPLE.TEST
            dns_lookup_kdc = false
            dns_canonicalize_hostname = false
            [realms]
            EXAMPLE.TEST = {
                kdc = 127.0.0.1:\(kdc)
            }

            """,
            "kdc.conf": """
            [kdcdefaults]
            kdc_listen = 127.0.0.1:\(kdc)
            kdc_tcp_listen = 127.0.0.1:\(kdc)
            [realms]
            EXAMPLE.TEST = {
                database_name = \(folder)/principals
                key_stash_file = \(folder)/stash
                acl_file = \(folder)/acl
            }

            """,
            "hosts": "127.0.0.1 \(host)\n",
            "squid.conf": """
            http_port 127.0.0.1:\(proxy)
            auth_param negotiate program /usr/lib/squid/negotiate_kerberos_auth -k \(folder)/proxy.keytab
            auth_param negotiate children 1 startup=0 idle=1
            acl users proxy_auth REQUIRED
            http_access allow users
            http_access deny all
            hosts_file \(folder)/hosts
            logformat results %>Hs %ru %un
            access_log stdio:\(folder)/access.log logformat=results
            cache_log \(folder)/cache.log
            cache deny all
            pid_filename none
            pinger_enable off
            netdb_filename none
            coredump_dir \(folder)
            max_filedescriptors 1024

            """,
        ]
    }
}

/// A server that runs until it is stopped, or until this process ends, even if that is killed.
private final class Service: @unchecked Sendable {
    private let process = Process()
    private let lifeline = Pipe.exclusive()

    /// - Parameter isReady: What the server prints when it listens.
    init(_ command: [String], isReady: String) throws {
        process.executableURL = URL(filePath: "/bin/sh")
        // By the signal that no process can block: a child inherits the mask of the thread that started it.
        let script = #""$@" & server=$!; exec 2>/dev/null; cat; kill -KILL "$server"; wait "$server""#
        process.arguments = ["-c", script, "service"] + command
        let output = Pipe.exclusive()
        (process.standardInput, process.standardError) = (lifeline, output)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        var text = ""
        while !text.contains(isReady) {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else {
                stop()
                throw CommandFailure(command: command.joined(separator: " "), output: text)
            }
            text += String(decoding: data, as: UTF8.self)
        }
        output.fileHandleForReading.discardRest()
    }

    func stop() {
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
