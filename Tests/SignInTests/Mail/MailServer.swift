import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import TestFixtures
import Testing

/// Dovecot on loopback, as an unprivileged user: a mailbox to fetch over IMAP, and a server that takes mail to send.
///
/// Dovecot asks the provider whether a token is valid, and whose it is (RFC 7662). A relay puts the mail that was sent
/// into the same mailbox.
final class MailServer: Sendable {
    let ports: (imap: String, submission: String)
    private let folder: String
    private let servers = LockedValue<[Server]>([])

    /// A program that runs until its lifeline is closed: by ``stop()``, or at the end of the tests, even if they are killed.
    private struct Server {
        let process: ChildProcess
        let lifeline: CInt
    }

    /// The client as which Dovecot calls the introspection endpoint.
    static let client = RegisteredClient(id: "mail-server", secret: "looking-glass-house")

    /// Returns whether the programs are installed, with Dovecot 2.3. Dovecot 2.4 has another syntax of its settings.
    static func isInstalled() async throws -> Bool {
        let programs = ["/usr/bin/mbsync", "/usr/bin/msmtp", "/usr/bin/aiosmtpd", "/usr/lib/dovecot/submission"]
        guard programs.allSatisfy(FileManager.default.isExecutableFile) else { return false }
        let version = try await ChildProcess(["/usr/sbin/dovecot", "--version"], environment: [:]).outcome()
        return version.output.hasPrefix("2.3.")
    }

    static func start(for fixture: CommandFixture) async throws -> MailServer {
        let folder = FileManager.default.temporaryDirectory.path + "/mail-" + UUID().uuidString.prefix(8)
        try Maildir(path: folder + "/inbox").create()
        let ports = (0..<3).map { _ in String(freePort()) }
        try await run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder + "/key.pem",
            "-out", folder + "/cert.pem",
        ])
        let (user, group) = geteuid() == 0 ? ("nobody", "nogroup") : (NSUserName(), try await run(["id", "-gn"]))
        try settings(folder, ports, user, group).write(
            toFile: folder + "/dovecot.conf", atomically: true, encoding: .utf8)
        try introspection(fixture.provider).write(toFile: folder + "/oauth2.conf", atomically: true, encoding: .utf8)
        var asUser: [String] = []
        if geteuid() == 0 {
            try await run(["chown", "-R", "\(user):\(group)", folder])
            asUser = ["setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups"]
        }
        let relay = ["aiosmtpd", "-n", "-d", "-l", "127.0.0.1:\(ports[2])", "-c", "aiosmtpd.handlers.Mailbox"]
        let server = MailServer(ports: (ports[0], ports[1]), folder: folder)
        do {
            try await server.start(asUser + relay + [folder + "/inbox"]) { $0.contains("Server is listening") }
            try await server.start(asUser + ["/usr/sbin/dovecot", "-F", "-c", folder + "/dovecot.conf"]) {
                $0.contains("starting up for imap, submission")
            }
            return server
        } catch {
            try await server.stop()
            throw error
        }
    }

    private init(ports: (imap: String, submission: String), folder: String) {
        (self.ports, self.folder) = (ports, folder)
    }

    var certificate: String { folder + "/cert.pem" }
    var inbox: Maildir { Maildir(path: folder + "/inbox") }

    func stop() async throws {
        let servers = servers.withLock { $0 }
        for server in servers { close(server.lifeline) }
        for server in servers { _ = try await server.process.outcome() }
        try FileManager.default.removeItem(atPath: folder)
    }

    @discardableResult
    private static func run(_ command: [String]) async throws -> String {
        let outcome = try await ChildProcess(command, environment: ["PATH": "/usr/bin:/bin"]).outcome()
        try #require(outcome.status == 0, "\(outcome)")
        return outcome.outputLines.first ?? ""
    }

    private func start(_ command: [String], isReady: @escaping @Sendable (String) -> Bool) async throws {
        let (ours, theirs) = try ChildProcess.pair()
        defer { close(theirs) }
        let lifeline = #""$@" & server=$!; cat; kill "$server"; wait "$server""#
        let process = try ChildProcess(
            ["sh", "-c", lifeline, "mail"] + command, environment: ["PATH": "/usr/bin:/bin"], input: .descriptor(theirs)
        )
        servers.withLock { $0.append(Server(process: process, lifeline: ours)) }
        let line = try await process.line { isReady($0) || $0.contains("Fatal: ") }
        try #require(isReady(line), "\(line)")
    }

    /// Waits until Dovecot has refused a token.
    func refusal() async throws {
        let dovecot = servers.withLock { $0[1].process }
        _ = try await dovecot.line { $0.contains("Introspection failed") }
    }

    // MARK: - The settings of Dovecot

    /// Those of `auth_mechanisms` and `passdb` make Dovecot accept tokens. Most others let it run without root.
    private static func settings(_ folder: String, _ ports: [String], _ user: String, _ group: String) -> String {
        """
        base_dir = \(folder)/run
        state_dir = \(folder)/run
        log_path = /dev/stderr
        auth_verbose = yes
        protocols = imap submission
        listen = 127.0.0.1
        default_internal_user = \(user)
        default_internal_group = \(group)
        default_login_user = \(user)
        ssl = required
        ssl_cert = <\(folder)/cert.pem
        ssl_key = <\(folder)/key.pem
        auth_mechanisms = xoauth2 oauthbearer
        auth_failure_delay = 0
        passdb {
          driver = oauth2
          mechanisms = xoauth2 oauthbearer
          args = \(folder)/oauth2.conf
        }
        userdb {
          driver = static
          args = uid=\(user) gid=\(group) home=\(folder)
        }
        mail_location = maildir:\(folder)/inbox
        submission_relay_host = 127.0.0.1
        submission_relay_port = \(ports[2])
        submission_relay_ssl = no
        service anvil {
          chroot =
          unix_listener anvil-auth-penalty {
            mode = 0
          }
        }
        service stats {
          chroot =
        }
        service imap-login {
          chroot =
          inet_listener imap {
            port = 0
          }
          inet_listener imaps {
            port = \(ports[0])
          }
        }
        service submission-login {
          chroot =
          inet_listener submission {
            port = 0
          }
          inet_listener submissions {
            port = \(ports[1])
            ssl = yes
          }
        }

        """
    }

    private static func introspection(_ provider: LocalProvider) -> String {
        let url = provider.url(.introspection).replacing("://", with: "://\(client.id):looking-glass-house@")
        return """
            introspection_mode = post
            introspection_url = \(url)
            username_attribute = username
            active_attribute = active
            active_value = true

            """
    }
}

/// A folder with a file for each mail.
struct Maildir {
    let path: String

    func create() throws {
        for name in ["cur", "new", "tmp"] {
            try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
        }
    }

    /// The subjects of all mails.
    var subjects: [String] {
        let files = ["cur", "new"].map { path + "/" + $0 }.flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { "\(folder)/\($0)" }
        }
        return files.compactMap { file in
            let mail = try? String(contentsOfFile: file, encoding: .utf8)
            return mail?.firstMatch(of: /Subject: (.*)/).map { String($0.1) }
        }.sorted()
    }
}
