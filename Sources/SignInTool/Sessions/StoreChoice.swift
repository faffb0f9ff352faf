internal import AppAuth
internal import ArgumentParser
internal import Glibc

/// The argument of `--store`: `file:PATH`, `encrypted:PATH`, `keyring` or `memory`. A stored session can also be named as it is
/// shown, also in the keyring: its issuer and client may be those of others, too.
enum StoreChoice: Sendable {
    case file(String)
    /// A file that is encrypted with the passphrase of ``StorePassphrase``.
    case encrypted(String)
    case keyring
    /// One entry of the keyring.
    case entry(SessionName)
    case memory

    /// Without `file:` and `encrypted:`, after which shells would add a space.
    static var completion: CompletionKind { .list(["keyring", "memory"]) }

    init(_ argument: String) throws {
        switch argument {
        case "memory": self = .memory
        case "keyring": self = .keyring
        case _ where argument.hasPrefix("file:") && argument.count > "file:".count:
            self = .file(String(argument.dropFirst("file:".count)))
        case _ where argument.hasPrefix("encrypted:") && argument.count > "encrypted:".count:
            self = .encrypted(String(argument.dropFirst("encrypted:".count)))
        default: throw ValidationError("expected file:PATH, encrypted:PATH, keyring or memory")
        }
        // A folder of that name is never meant.
        if let path, path.hasPrefix("~") {
            throw ValidationError("a shell replaces ~ only at the start of a word; use $HOME, or ./~ for that name")
        }
    }

    /// Parses the argument for a session that is stored.
    init(stored argument: String) throws {
        let entries = "keyring:sign-in/"
        if argument.hasPrefix(entries), let name = SessionName(account: String(argument.dropFirst(entries.count))) {
            self = .entry(name)
        } else {
            try self.init(argument)
        }
    }

    /// Whether there is one session at most in this place.
    var namesSession: Bool { if case .entry = self { true } else { path != nil } }

    /// The path of a file; nil for another store.
    var path: String? {
        switch self {
        case .file(let path), .encrypted(let path): path
        case .keyring, .entry, .memory: nil
        }
    }

    /// The argument that ``init(_:)`` parses.
    var argument: String {
        switch self {
        case .file(let path): "file:\(path)"
        case .encrypted(let path): "encrypted:\(path)"
        case .keyring: "keyring"
        case .entry(let name): name.keyring.location
        case .memory: "memory"
        }
    }

    /// The argument for another sign-in in that place.
    var argumentOfSignIn: String { if case .entry = self { "keyring" } else { argument } }

    /// Returns the store for a session with this name.
    func store(_ name: SessionName) throws -> any TokenStore {
        switch self {
        case .keyring: name.keyring
        case .entry(let own): own.keyring
        default: try file ?? MemoryTokenStore()
        }
    }

    /// The store in a file; nil for another one.
    ///
    /// Throws if the path is a folder of the user's: to set that aside, as a damaged file, would move all that is in it.
    var file: FileTokenStore? {
        get throws {
            guard let path else { return nil }
            var status = stat()
            let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            guard !isFolder || (try? StateFolder()).map({ path.hasPrefix($0.path + "/") }) == true else {
                throw AuthError(
                    .store, .store, "\(path) is a folder. Name a file in it, such as \(argument)/session.json",
                    outcome: .notSent)
            }
            if case .encrypted = self { return try StorePassphrase.file(path) }
            return FileTokenStore(path: path)
        }
    }
}

extension TokenStore {
    /// The location for the user, which is the argument of `--store` for this session.
    var shownLocation: String {
        guard let file = self as? FileTokenStore, file.isEncrypted else { return location }
        return StoreChoice.encrypted(file.path).argument
    }
}

extension Duration {
    /// The part of a command's time that it may wait for a lock, or for the user to unlock the keyring. The rest is for the
    /// error that says so.
    var forWaits: Duration { self * 5 / 6 }
}

extension TokenStore {
    /// Returns the store with timeouts that fit a command's time limit.
    func within(_ limit: Duration) -> any TokenStore {
        if var file = self as? FileTokenStore {
            file.lockTimeout = min(file.lockTimeout, limit.forWaits)
            return file
        }
        guard var keyring = self as? KeyringTokenStore else { return self }
        keyring.promptTimeout = min(keyring.promptTimeout, limit.forWaits)
        // A call also ends at the time limit for prompts, and could then not name the process that has the lock.
        keyring.lockTimeout = min(keyring.lockTimeout, keyring.promptTimeout.forWaits)
        return keyring
    }
}
