import Foundation
import JOSE
import Testing

/// A session bus for one test with GNOME Keyring: unlocked as after a login, still locked, or with a fault.
final class KeyringSession: Sendable {
    enum Kind: Sendable {
        case unlocked
        /// The keyring stays locked, and prompts are not answered within the time of a test.
        case locked(isAnswered: Bool)
        /// The bus has no keyring service.
        case empty
        /// The bus denies access to the keyring.
        case denied
    }

    private let process: ChildProcess
    private let run: String
    let address: String

    static func start(_ kind: Kind, for fixture: CommandFixture) async throws -> KeyringSession {
        let process = try start(kind, fixture)
        let line = try await process.outputLine { $0.hasPrefix("bus ") }
        return KeyringSession(
            process: process, run: fixture.home + "/run", address: String(line.dropFirst("bus ".count)))
    }

    private init(process: ChildProcess, run: String, address: String) {
        (self.process, self.run, self.address) = (process, run, address)
    }

    /// Ends the bus and all its clients. A keyring that the bus has only just started would otherwise outlive it, keep
    /// our pipe open, and disturb the next test.
    func end() async throws {
        try Processes.kill(with: "XDG_RUNTIME_DIR=\(run)")
        _ = try await process.outcome()
    }

    private static func start(_ kind: Kind, _ fixture: CommandFixture) throws -> ChildProcess {
        let run = fixture.home + "/run"
        try FileManager.default.createDirectory(
            atPath: run, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var (unlock, rules) = ("", "<standard_session_servicedirs/>")
        switch kind {
        case .unlocked: unlock = unlocking
        case .locked(let isAnswered):
            // Replaces the program that prompts the user with one that never responds.
            if !isAnswered {
                try prompter("/bin/sleep 900", fixture)
            }
        case .empty: rules = ""
        case .denied:
            rules += #"<policy context="mandatory"><deny send_destination="org.freedesktop.secrets"/></policy>"#
            unlock = unlocking
        }
        // Not for ever, should the test be killed.
        let script = unlock + #"echo "bus $DBUS_SESSION_BUS_ADDRESS"; exec sleep 900"#
        var environment = fixture.environment
        environment["XDG_RUNTIME_DIR"] = run
        let configuration = try configuration(rules, fixture)
        return try ChildProcess(
            ["dbus-run-session", "--config-file", configuration, "--", "sh", "-c", script], environment: environment)
    }

    /// A line end is the password. It has to come before a client uses the keyring.
    static let unlocking =
        #"printf '\n' | gnome-keyring-daemon --unlock --components=secrets --daemonize >/dev/null 2>&1; "#

    private static func prompter(_ program: String, _ fixture: CommandFixture) throws {
        let folder = fixture.home + "/run/dbus-1/services"
        let name = "org.gnome.keyring.SystemPrompter"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("[D-BUS Service]\nName=\(name)\nExec=\(program)\n".utf8)
            .write(to: URL(fileURLWithPath: "\(folder)/\(name).service"))
    }

    /// The socket of a bus that is killed stays: it lies in the folder of the test, which is removed.
    private static func configuration(_ rules: String, _ fixture: CommandFixture) throws -> String {
        let path = fixture.home + "/bus.conf"
        let text = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig><type>session</type><listen>unix:dir=\(fixture.home)/run</listen>
            <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>\(rules)</busconfig>
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }
}

extension CommandFixture {
    /// Gives a test a session, and ends it afterwards.
    func withKeyring(_ kind: KeyringSession.Kind, _ body: ([String: String?]) async throws -> Void) async throws {
        let session = try await KeyringSession.start(kind, for: self)
        do { try await body(["DBUS_SESSION_BUS_ADDRESS": session.address]) } catch {
            try await session.end()
            throw error
        }
        try await session.end()
    }

    /// Runs the program that uses the library's keyring store, and returns its output.
    func keyringProgram(
        _ arguments: String..., with changes: [String: String?], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let outcome = try await start([BuiltProducts.path("keyring-program")], arguments, changes).outcome()
        return try outcome.result(sourceLocation: sourceLocation)
    }
}
