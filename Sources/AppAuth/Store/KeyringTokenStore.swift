public import AppAuthProtocol
public import AppAuthSession
internal import JOSE

/// Keeps a session in the system's keyring (GNOME Keyring, KWallet, KeePassXC), for all processes of the same person.
///
/// The keyring is reached over the session bus, by libsecret, which is opened when it is first used. Where a keyring is
/// locked the person is asked to unlock it, unless ``mayPrompt`` is false. Calls then wait for the response, no longer than
/// ``promptTimeout``, and without holding up a thread that other tasks need; the question stays for the person to answer.
/// A process asks one at a time: whoever else would ask waits for the response too.
///
/// The lock that keeps two processes from refreshing at once is a file under `$HOME/.local/state/swift-appauth`, whatever
/// `XDG_STATE_HOME` and `XDG_RUNTIME_DIR` say. Programs of one session bus that have different homes, for example one from
/// a snap and one that is not, have different locks: each of them needs an account of its own.
///
/// Errors are ``AuthError`` with ``AuthError/Code/store``; their ``AuthError/storeProblem`` tells apart what an app can do
/// something about: ``StoreProblem/noLibrary``, ``StoreProblem/noBus``, ``StoreProblem/noService``,
/// ``StoreProblem/locked``, ``StoreProblem/dismissed``, ``StoreProblem/unanswered``, ``StoreProblem/denied``, and
/// ``StoreProblem/unavailable`` where a session was stored and the service has no keyring, as KeePassXC has none while no
/// database is open. None of them ends a session.
///
/// ```swift
/// let store = KeyringTokenStore(application: "My App", issuer: try Issuer("https://op.example"), clientID: "my-app")
/// ```
public struct KeyringTokenStore: TokenStore {
    /// The app. Not secret: any program of the person can list it.
    public let application: String
    /// The session among the app's. Not secret either.
    public let account: String
    /// What the person sees in the list of passwords, for example in Seahorse.
    public let label: String
    /// Whether the person may be asked to unlock the keyring. False for what runs while nobody looks. Nobody is asked
    /// either by ``TokenStoreCall/isUnattended`` calls.
    public var mayPrompt = true
    /// How long a call waits for the person, and for others who wait for the person.
    public var promptTimeout = Duration.seconds(30)
    /// How long a change waits for another process that has the lock of the session, which takes milliseconds unless that
    /// process is stopped.
    public var lockTimeout = Duration.seconds(10)
    package var library = "libsecret-1.so.0"

    /// Names an entry; nothing is read or made yet.
    public init(application: String, account: String, label: String) {
        (self.application, self.account, self.label) = (application, account, label)
    }

    /// Names the entry of an app's client at a provider.
    public init(application: String, issuer: Issuer, clientID: String) {
        self.init(
            application: application, account: "\(issuer.string) \(clientID)",
            label: "Sign-in of \(application) at \(issuer.string) (\(clientID))")
    }

    /// `keyring:`, the application and the account.
    public var location: String { "keyring:\(application)/\(account)" }

    /// The entries that an application has, locked or not. Asks the person nothing.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    public static func stored(application: String) async throws -> [KeyringTokenStore] {
        let all = KeyringTokenStore(application: application, account: "", label: "")
        return try await all.reach(all.entry(account: nil), within: all.promptTimeout, Commitment()) { service, _ in
            try service.list().map { KeyringTokenStore(application: application, account: $0.account, label: $0.label) }
        }
    }

    /// Reads the session; nil if the keyring is open and has none, or if there is no keyring yet.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if there is no keyring, though a session was stored in it.
    public func load() async throws -> AuthStateRecord? {
        let expectsSession = TokenStoreCall.expectsSession
        return try await open(entry(account: account)) { service, _ in
            try decode(service.read(expectsSession: expectsSession))
        }
    }

    /// Changes the session, under the lock.
    public func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        let expectsSession = TokenStoreCall.expectsSession
        return try await open(entry(account: account)) { service, commitment in
            let lock = try lock
            let held = try SpareDescriptors.use { try lock.sessionLock(within: lockTimeout, commitment) }
            defer { held.release() }
            let old = try decode(service.read(expectsSession: expectsSession))
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

    /// Waits for whoever refreshes, in this process or another.
    public func refreshLock() async throws -> RefreshLock {
        try await lock.refreshLock()
    }

    /// Sets aside what is in the place of the session and cannot be used as one (``StoreProblem/damaged``), so that a new
    /// session can be stored. The entry stays in the keyring with its secret, under another label and other attributes, which
    /// have the date. A session that can be read stays, and is no error.
    ///
    /// - Returns: The new label; nil if there was nothing to set aside.
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

    /// The process that refreshes the session, by its id and name.
    public func refreshLockHolder() async -> String? { try? lock.holder(.refresh) }

    /// Sees whether a session could be kept here, by writing an entry and removing it.
    ///
    /// - Returns: Whether there is a session.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    public func probe() async throws -> Bool {
        let trial = SecretService.Entry(
            application: "swift-appauth trial", account: application, label: "\(application) tries out the keyring",
            location: location)
        let isThere = try await load() != nil
        try await open(trial) { service, commitment in
            if try service.read() == nil { try service.prepare() }
            try commitment.make()
            try service.write(Array("trial".utf8))
            try service.remove()
        }
        return isThere
    }

    private func decode(_ bytes: [UInt8]?) throws -> AuthStateRecord? {
        try hintingAtDiscard { try bytes.map { try AuthStateRecord(decoding: $0, from: location) } }
    }

    private func entry(account: String?) -> SecretService.Entry {
        SecretService.Entry(
            application: application, account: account, label: label, location: location)
    }

    /// Uses the keyring; if it is locked, again when the person has unlocked it, who is asked while nobody is kept from the
    /// session by its lock. Not where something may have been changed already: that must not be done twice.
    private func open<Value: Sendable>(
        _ entry: SecretService.Entry, _ work: @escaping @Sendable (SecretService, Commitment) throws -> Value
    ) async throws -> Value {
        let end = ContinuousClock.now + promptTimeout
        var mayAsk = mayPrompt && !TokenStoreCall.isUnattended
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

    /// Uses the keyring as it is.
    private func reach<Value: Sendable>(
        _ entry: SecretService.Entry, within limit: Duration, _ commitment: Commitment,
        _ work: @escaping @Sendable (SecretService, Commitment) throws -> Value
    ) async throws -> Value {
        try await onThread(
            named: "appauth-keyring", of: location, within: limit, expiry: unanswered, commitment
        ) { [library] in
            try work(SecretService(entry, library: library), $0)
        }
    }

    private var unanswered: AuthError {
        .store(
            location, .unanswered, "cannot be opened", "nobody has unlocked it within \(promptTimeout)",
            isTemporary: true)
    }

    /// One file for the session in the home folder, and not where `XDG_STATE_HOME` or `XDG_RUNTIME_DIR` point, since
    /// those differ between a desktop and a cron job, and two locks are none.
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
