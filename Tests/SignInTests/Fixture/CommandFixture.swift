import AppAuthConcurrency
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures

/// A user's environment: a home folder, a browser, and a provider.
final class CommandFixture: Sendable {
    let home: String
    let provider: LocalProvider
    let browser: BrowserReports

    /// The form entries with which the scripted browser signs in as alice.
    static let alice = "username=alice&password=looking-glass"
    /// The variables of a browser that signs in as bob.
    static let bob = ["SCRIPTED_BROWSER_FORM": "username=bob&password=builder"]

    fileprivate init(home: String, provider: LocalProvider) throws {
        (self.home, self.provider) = (home, provider)
        browser = try BrowserReports(folder: home)
    }

    var issuer: String { provider.issuer }
    var stateHome: String { home + "/state" }
    /// The default folder for sessions.
    var sessions: String { stateHome + "/sign-in" }

    var environment: [String: String] {
        // Of the sanitizers, and of the mutation tests.
        let kept = ["TSAN_OPTIONS", "ASAN_OPTIONS", "SWIFT_BACKTRACE", "MUTANT", "MUTANT_HITS"]
        return ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }.merging([
            "HOME": home, "XDG_STATE_HOME": stateHome, "PATH": "\(BuiltProducts.folder):/usr/bin:/bin",
            "LANG": "C.UTF-8", "BROWSER": "scripted-browser", "SCRIPTED_BROWSER_FORM": Self.alice,
            "SCRIPTED_BROWSER_REPORT": browser.path,
            // Not that of the person who runs the tests, whose keyring is there.
            "XDG_RUNTIME_DIR": home + "/runtime",
            // A path that belongs to the user, as on a desktop: it identifies the owner of this login session.
            "XAUTHORITY": NSHomeDirectory(),
        ]) { $1 }
    }

    /// Starts `sign-in`. A nil value removes a variable from the environment.
    func start(
        _ arguments: [String], _ changes: [String: String?] = [:], input: Spawn.Input = .empty
    ) throws -> ChildProcess {
        try start([BuiltProducts.path("sign-in")], arguments, changes, input: input)
    }

    /// Starts `sign-in` through another program, with these words before it.
    func start(
        _ prefix: [String], _ arguments: [String], _ changes: [String: String?] = [:], input: Spawn.Input = .empty
    ) throws -> ChildProcess {
        var environment = environment
        for (name, value) in changes { environment[name] = value }
        return try ChildProcess(prefix + arguments, environment: environment, input: input)
    }

    /// Starts `sign-in` so that file permissions apply, even for root.
    func startWithoutPrivileges(_ arguments: [String]) throws -> ChildProcess {
        let rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
        return try start((geteuid() == 0 ? rights : []) + [BuiltProducts.path("sign-in")], arguments)
    }

    /// Creates a named pipe that delivers these bytes to its first reader.
    func pipe(_ name: String, bringing bytes: [UInt8]) throws -> String {
        let path = "\(home)/\(name)"
        guard mkfifo(path, 0o600) == 0 else { throw CocoaError(.fileWriteUnknown) }
        Thread.detachNewThread {
            // Opening blocks until there is a reader.
            try? FileHandle(forWritingTo: URL(filePath: path)).write(contentsOf: Data(bytes))
        }
        return path
    }

    /// Runs `sign-in` to its end.
    func run(_ arguments: String..., with changes: [String: String?] = [:]) async throws -> Outcome {
        try await start(arguments, changes).outcome()
    }

    /// Runs `sign-in login` at the provider, with `--json`.
    func login(
        _ arguments: String..., client: String = "demo", with changes: [String: String?] = [:]
    ) async throws -> Outcome {
        try await start(loginArguments(arguments, client: client), changes).outcome()
    }

    func loginArguments(_ arguments: [String], client: String = "demo") -> [String] {
        ["login", "--json", "--issuer", issuer, "--client-id", client] + arguments
    }

    /// The names of the stored files, including temporary ones. Lock files are empty and persist, so they are left out.
    var stored: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: sessions).sorted()) ?? []).filter {
            !$0.hasSuffix(".lock")
        }
    }

    /// Returns the bytes of the only stored session. Temporary files that a crash left do not count.
    func session() throws -> Data {
        let names = stored.filter { !$0.hasSuffix(".new") }
        guard let name = names.first, names.count == 1 else {
            throw CocoaError(.fileReadUnknown, userInfo: [NSFilePathErrorKey: "\(sessions): \(stored)"])
        }
        return try Data(contentsOf: URL(fileURLWithPath: "\(sessions)/\(name)"))
    }
}

/// Runs a test with a fixture of its own, and removes it afterwards.
func withDesk(
    _ configuration: LocalProvider.Configuration = .demo, _ body: (CommandFixture) async throws -> Void
) async throws {
    try await Seats.shared.take()
    defer { Seats.shared.leave() }
    let template = FileManager.default.temporaryDirectory.appendingPathComponent("sign-in-tests-XXXXXX").path
    var path = Array(template.utf8CString)
    guard mkdtemp(&path) != nil else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    let home = path.withUnsafeBytes { String(decoding: $0.dropLast(), as: UTF8.self) }
    defer { try? FileManager.default.removeItem(atPath: home) }
    try await withLocalProvider(configuration) { provider in
        let fixture = try CommandFixture(home: home, provider: provider)
        defer { fixture.browser.stop() }
        try await body(fixture)
    }
}

/// The limit on simultaneous fixtures, so that the processes of a hundred tests do not starve each other.
private final class Seats: Sendable {
    static let shared = Seats(count: 8 * ProcessInfo.processInfo.activeProcessorCount)
    private let free: Watched<Int>

    init(count: Int) { free = Watched(count) }

    func take() async throws {
        while true {
            // Until other tests have ended, which have limits of their own.
            _ = try await free.wait(within: .seconds(3600)) { $0 > 0 ? true : nil }
            let taken = LockedValue(false)
            free.change { free in
                guard free > 0 else { return }
                free -= 1
                taken.withLock { $0 = true }
            }
            if taken.withLock({ $0 }) { return }
        }
    }

    func leave() { free.change { $0 += 1 } }
}
