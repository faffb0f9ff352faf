internal import AppAuthProtocol
internal import CShims

/// A connection to the system's keyring. Its calls run one at a time on a thread that may block; see
/// `libsecret_shims.h`.
final class SecretService {
    /// One entry, or all entries of an application.
    struct Entry: Sendable {
        let application: String
        let account: String?
        let label: String
        /// The store, for messages.
        let location: String
    }

    private let library: OpaquePointer
    private let call: OpaquePointer
    private let problem: UnsafeMutablePointer<CChar>
    private let entry: Entry
    private static let capacity = 500

    /// Opens the library. It does not prompt the user.
    init(_ entry: Entry, library name: String) throws {
        let problem = UnsafeMutablePointer<CChar>.allocate(capacity: Self.capacity)
        problem.initialize(repeating: 0, count: Self.capacity)
        guard let library = shims_secrets_open(name, problem, Self.capacity),
            let call = shims_secret_call_new(library, problem, Self.capacity)
        else {
            defer { problem.deallocate() }
            throw AuthError.store(
                entry.location, .noLibrary, "needs libsecret (Debian’s package libsecret-1-0)", String(cString: problem)
            )
        }
        (self.entry, self.library, self.call, self.problem) = (entry, library, call, problem)
        // GLib would make a folder in the home, which can be that of another user (sudo), and find no bus.
        let hasAddress = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY"].contains { (name: String) in
            shims_secure_getenv(name) != nil
        }
        guard hasAddress else { throw Self.noBus(at: entry.location, "both are unset") }
    }

    private static func noBus(at location: String, _ said: String) -> AuthError {
        .store(
            location, .noBus,
            "needs a session bus (D-Bus), found none by DBUS_SESSION_BUS_ADDRESS and XDG_RUNTIME_DIR", said)
    }

    deinit {
        shims_secret_call_free(call)
        shims_secrets_free(library)
        problem.deallocate()
    }

    /// Prompts the user to unlock the entry or the keyring that it will be in, and waits without a limit. No other call
    /// here prompts, but a service may do so by itself (KeePassXC does before it deletes an entry).
    func unlock() throws { try check(withPlace { shims_secret_unlock(call, &$0) }) }

    /// Returns the secret, or nil if there is no entry.
    ///
    /// - Parameter expectsSession: Whether a session was stored. If so, a service without a keyring is an error, since
    ///   the keyring is elsewhere.
    func read(expectsSession: Bool = false) throws -> [UInt8]? {
        var secret: UnsafeMutablePointer<CChar>?
        var count = 0
        let code = withPlace { shims_secret_read(call, &$0, &secret, &count) }
        defer { shims_secret_free(secret, count) }
        if code == SHIMS_SECRET_NONE || code == SHIMS_SECRET_NO_KEYRING && !expectsSession { return nil }
        try check(code)
        return Array(UnsafeRawBufferPointer(start: secret, count: count))
    }

    /// Checks whether a new entry can be written.
    func prepare() throws { try check(shims_secret_prepare(call)) }

    /// Writes the secret, which must not contain a zero byte. The bus limits the call to 25 s.
    func write(_ secret: [UInt8]) throws {
        let text = (secret + [0]).map(CChar.init(bitPattern:))
        try check(withPlace { shims_secret_write(call, &$0, text, secret.count) })
    }

    /// Removes the entry, wherever it is.
    func remove() throws { try check(withPlace { shims_secret_remove(call, &$0) }) }

    /// Turns the newest entry into another one with the same secret.
    func setAside(as other: Entry) throws {
        try check(withPlace { mine in Self.withPlace(of: other) { shims_secret_set_aside(call, &mine, &$0) } })
    }

    /// Returns the accounts that have an entry, with their labels.
    func list() throws -> [(account: String, label: String)] {
        final class Found { var entries: [(String, String)] = [] }
        let found = Found()
        let code = withPlace { location in
            shims_secret_list(call, &location, Unmanaged.passUnretained(found).toOpaque()) { context, account, label in
                guard let context else { return }
                Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().entries
                    .append((String(cString: account), String(cString: label)))
            }
        }
        try check(code)
        return found.entries
    }

    private func withPlace<Result>(_ body: (inout shims_secret_place) -> Result) -> Result {
        Self.withPlace(of: entry, body)
    }

    private static func withPlace<Result>(of entry: Entry, _ body: (inout shims_secret_place) -> Result) -> Result {
        entry.application.withCString { application in
            entry.label.withCString { label in
                guard let account = entry.account else {
                    var location = shims_secret_place(application: application, account: nil, label: label)
                    return body(&location)
                }
                return account.withCString { account in
                    var location = shims_secret_place(application: application, account: account, label: label)
                    return body(&location)
                }
            }
        }
    }

    private func check(_ code: shims_secret_code) throws {
        let said = String(cString: problem)
        let location = entry.location
        switch code {
        case SHIMS_SECRET_OK: return
        case SHIMS_SECRET_NO_BUS: throw Self.noBus(at: location, said)
        case SHIMS_SECRET_NO_SERVICE:
            throw AuthError.store(location, .noService, "needs a keyring service on the session bus, found none", said)
        case SHIMS_SECRET_LOCKED:
            throw AuthError.store(location, .locked, "cannot be opened", said, isTemporary: true)
        case SHIMS_SECRET_DISMISSED:
            throw AuthError.store(location, .dismissed, "cannot be opened", said, isTemporary: true)
        case SHIMS_SECRET_NO_KEYRING:
            throw AuthError.store(
                location, .unavailable, "is unavailable",
                "the keyring service has no keyring open, though a session was stored. In KeePassXC, open the database",
                isTemporary: true)
        case SHIMS_SECRET_DENIED: throw AuthError.store(location, .denied, "may not be used by this program", said)
        default: throw AuthError.store(location, nil, "cannot be read or written", said, isTemporary: true)
        }
    }
}

extension AuthError {
    /// Returns an error of a keyring with the library's message.
    static func store(
        _ location: String, _ problem: StoreProblem?, _ what: String, _ said: String, isTemporary: Bool = false
    ) -> AuthError {
        var error = AuthError(
            .store, .store, "\(location) \(what): \(said)", outcome: .notSent, isTemporary: isTemporary)
        error.storeProblem = problem
        return error
    }
}
