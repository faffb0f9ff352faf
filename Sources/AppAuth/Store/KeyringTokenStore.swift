public import AppAuthProtocol
public import AppAuthSession
internal import JOSE

/// A store that keeps a session in the desktop's keyring, such as GNOME Keyring, for the user's processes.
///
/// The keyring is accessed over the session bus with libsecret, which is loaded on first use. If a keyring is locked,
/// the user is prompted to unlock it, unless ``mayPrompt`` is false. Calls wait for the result for at most
/// ``promptTimeout``, without blocking a thread that other tasks need. The prompt stays open until the user responds. A
/// process shows one prompt at a time; other calls that need a prompt wait for its result too.
///
/// The lock that prevents two processes from refreshing at once is a file under `$HOME/.local/state/swift-appauth`,
/// regardless of `XDG_STATE_HOME` and `XDG_RUNTIME_DIR`. Programs of one session bus with different home folders, for
/// example a snap and a program outside of it, have different locks: each of them needs an account of its own.
///
/// Errors are ``AuthError`` with ``AuthError/Code/store``. Their ``AuthError/storeProblem`` identifies the problems
/// that an app can act on: ``StoreProblem/noLibrary``, ``StoreProblem/noBus``, ``StoreProblem/noService``,
/// ``StoreProblem/locked``, ``StoreProblem/dismissed``, ``StoreProblem/unanswered``, ``StoreProblem/denied``, and
/// ``StoreProblem/unavailable``. The last one means that a session was stored but the service has no keyring; KeePassXC
/// has none while no database is open. None of these errors ends a session.
///
/// ```swift
/// let store = KeyringTokenStore(
///     application: "org.example.MyApp", issuer: "https://op.example", clientID: "my-app")
/// ```
public struct KeyringTokenStore: TokenStore {
    /// The app. It is not secret: any program of the user can list it.
    public let application: String
    /// The session among those of the app. It is not secret either.
    public let account: String
    /// The name that the user sees in the list of passwords, for example in Seahorse.
    public let label: String
    /// Whether the user may be prompted to unlock the keyring. Set it to false for programs that run unattended.
    /// ``TokenStoreCall/isUnattended`` calls never prompt.
    public var mayPrompt = true
    /// How long a call waits for the user's response to a prompt. Waiting for another call's prompt counts too.
    public var promptTimeout = Duration.seconds(30)
    /// How long a change waits for another process that holds the lock of the session. A process holds it for
    /// milliseconds unless it is suspended.
    public var lockTimeout = Duration.seconds(10)
    package var library = "libsecret-1.so.0"

    /// Creates a store for an entry. It does not read or create anything.
    public init(application: String, account: String, label: String) {
        (self.application, self.account, self.label) = (application, account, label)
    }

    /// Creates a store for the entry of an app's client at a provider.
    public init(application: String, issuer: Issuer, clientID: String) {
        self.init(
            application: application, account: "\(issuer.string) \(clientID)",
            label: "Sign-in of \(application) at \(issuer.string) (\(clientID))")
    }

    /// `keyring:`, the application and the account.
    public var location: String { "keyring:\(application)/\(account)" }

    /// Returns the entries of an application, locked or not. It does not prompt the user, but KeePassXC may.
    ///
    /// - Parameters:
    ///   - application: The app, as in ``application``.
    ///   - limit: How long to wait for the keyring service.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    public static func stored(
        application: String, within limit: Duration = .seconds(30)
    ) async throws -> [KeyringTokenStore] {
        var all = KeyringTokenStore(application: application, account: "", label: "")
        all.promptTimeout = limit
        return try await all.reach(all.entry(account: nil), within: all.promptTimeout, Commitment()) { service, _ in
            try service.list().map { KeyringTokenStore(application: application, account: $0.account, label: $0.label) }
        }
    }

    /// Reads the session, or returns nil if the keyring is open and has none, or if there is no keyring yet.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if a session was stored and there is no keyring.
    public func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await open(entry(account: account), call) { service, _ in
            try decode(service.read(expectsSession: call.expectsSession))
        }
    }

    /// Reads the session, and checks that there is a keyring for a new one and that its lock can be used. If the keyring
    /// is locked or does not exist yet, the user is prompted now, and not at the end of the sign-in.
    public func prepare() async throws {
        try await open(entry(account: account)) { service, _ in
            if try decode(service.read()) == nil { try service.prepare() }
            try lock.check()
        }
    }

    /// Changes the session under the lock.
    public func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        try await open(entry(account: account), call) { service, commitment in
            let lock = try lock
            let held = try SpareDescriptors.use { try lock.sessionLock(within: lockTimeout, commitment) }
            defer { held.release() }
            let old = try decode(service.read(expectsSession: call.expectsSession))
            var record = old
            let result = try change(&record)
            guard record != old else { return result }
            if let record {
                let bytes = try record.encoded()
                if old == nil { try service.prepare() }
                try commitment.make()
                try service.write(bytes)
            } else {
                try commitment.make()
                try service.remove()
            }
            return result
        }
    }

    /// Waits for the refresh lock, which another task or process may hold.
    public func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
        try await lock.refreshLock()
    }

    /// Reads the session, and writes it again as it is. A keyring has no room to reserve; this finds out that it cannot be
    /// written.
    public func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await open(entry(account: account), call) { service, commitment in
            let held = try SpareDescriptors.use { try lock.sessionLock(within: lockTimeout, commitment) }
            defer { held.release() }
            let bytes = try service.read(expectsSession: call.expectsSession)
            let record = try decode(bytes)
            try commitment.make()
            if let bytes { try service.write(bytes) }
            return record
        }
    }

    /// Sets aside an entry that is not a usable session (``StoreProblem/damaged``), so that a new one can be stored.
    ///
    /// The entry and its secret stay in the keyring under another label and other attributes, which contain the date. A
    /// readable session stays, and is not an error.
    ///
    /// - Returns: The new label, or nil if there was nothing to set aside.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    @discardableResult
    public func discard() async throws -> String? {
        try await open(entry(account: account)) { service, commitment in
            let held = try lock.withoutForeignFile { try lock.sessionLock(within: lockTimeout, commitment) }
            defer { held.release() }
            do {
                _ = try decode(service.read())
                return nil
            } catch let error as AuthError where error.storeProblem == .damaged {}
            try commitment.make()
            let aside = SecretService.Entry(
                application: "\(application) (damaged)", account: "\(account) \(AsideFile.date)",
                label: "\(label) (damaged, set aside \(AsideFile.date))", location: location)
            try service.setAside(as: aside)
            return aside.label
        }
    }

    /// Returns the process that refreshes the session, by its ID and name, or nil if there is none.
    public func refreshLockHolder() async -> String? { try? lock.holder(.refresh) }

    /// Whether the keyring lists an entry for the session, locked or not.
    var isListed: Bool {
        get async throws {
            try await reach(entry(account: nil), within: promptTimeout, Commitment()) { service, _ in
                try service.list().contains { $0.account == account }
            }
        }
    }

    /// Checks whether the session can be read, and whether one could be stored here, by writing a trial entry and
    /// removing it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    public func probe(_ call: TokenStoreCall = TokenStoreCall()) async throws {
        let trial = SecretService.Entry(
            application: "swift-appauth trial", account: application, label: "\(application) tests the keyring",
            location: location)
        _ = try await load(call)
        try await open(trial, call) { service, commitment in
            if try service.read() == nil { try service.prepare() }
            try commitment.make()
            try service.write(Array("trial".utf8))
            try service.remove()
        }
    }

    private func decode(_ bytes: [UInt8]?) throws -> AuthStateRecord? {
        try hintingAtDiscard { try bytes.map { try AuthStateRecord(decoding: $0, from: location) } }
    }

    private func entry(account: String?) -> SecretService.Entry {
        SecretService.Entry(
            application: application, account: account, label: label, location: location)
    }

    /// Uses the keyring. If it is locked, the user is prompted and the work is repeated after the unlock. No lock is
    /// held while the prompt is open. The work is not repeated once it may have changed something.
    private func open<Value: Sendable>(
        _ entry: SecretService.Entry, _ call: TokenStoreCall = TokenStoreCall(),
        _ work: @escaping @Sendable (SecretService, Commitment) throws -> Value
    ) async throws -> Value {
        let end = ContinuousClock.now + promptTimeout
        var mayAsk = mayPrompt && !call.isUnattended
        while true {
            let commitment = Commitment()
            do { return try await reach(entry, within: end - .now, commitment, work) } catch let error as AuthError
                where error.storeProblem == .locked && mayAsk && !commitment.isMade
            {
                let question = UnlockQuestion.current
                let hasAsked = try await question.answer(for: location, within: end - .now, expiry: unanswered) {
                    [library] in
                    try SecretService(entry, library: library).unlock()
                }
                if hasAsked { mayAsk = false }
            }
        }
    }

    /// Uses the keyring without prompting.
    private func reach<Value: Sendable>(
        _ entry: SecretService.Entry, within limit: Duration, _ commitment: Commitment,
        _ work: @escaping @Sendable (SecretService, Commitment) throws -> Value
    ) async throws -> Value {
        try await onThread(
            named: "appauth-keyring", of: location, within: (limit, unanswered), commitment
        ) { [library] in
            try work(SecretService(entry, library: library), commitment)
        }
    }

    private var unanswered: AuthError {
        .store(
            location, .unanswered, "cannot be opened",
            "it was not unlocked within \(Int(promptTimeout.seconds.rounded(.up))) s, or the keyring service does not "
                + "respond", isTemporary: true)
    }

    /// The lock file of the session, in the home folder. `XDG_STATE_HOME` and `XDG_RUNTIME_DIR` are not used, since
    /// they differ between a desktop and a cron job, and two different lock files do not exclude each other.
    private var lock: LockFile {
        get throws {
            let key = "\(application.utf8.count) \(application)\(account)"
            let name = Base64URL.encode(Array(Digest.sha256.hash(key).prefix(15)))
            let home = try HomeFolder.path(for: location)
            let path = "\(home)/.local/state/swift-appauth/\(name).lock"
            return LockFile(path: path, location: location, folder: Folder(of: path, location: location))
        }
    }
}
