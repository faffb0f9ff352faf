internal import AppAuthConcurrency
internal import AppAuthProtocol
public import AppAuthSession
internal import Glibc
internal import JOSE

/// A store that keeps a session in a file that only its owner can read, for all processes that know its path.
///
/// A write goes to a file next to it (`NAME.new`), which is synchronised and renamed; then the folder is synchronised.
/// After a crash, a full disk or a power cut, the file holds either the complete old session or the complete new one.
/// Before a refresh token is sent, the store reserves room in `NAME.new` for the new tokens, so a disk that fills
/// up meanwhile does not cost the session.
///
/// The file has mode 0600. Missing folders are created with mode 0700; existing folders keep theirs. A symbolic link is
/// followed to a file of this user with mode 0600, in a folder that only this user and root can change: the link stays. The
/// store rejects any other link, a file of another user, and any content that is not a session. The error names the file
/// (``StoreProblem/damaged``). Such a file is neither overwritten nor removed; ``discard()`` sets it aside.
///
/// If the folder cannot be synchronised after a rename or removal, the change is visible but the call fails. The store
/// and its copies then synchronise the folder before they confirm any other change.
///
/// The lock file `NAME.lock` lies next to the session. It names the process that holds the lock, and stays when the
/// session is removed: a lock without a session means "signed out". If both files are missing, an ``AuthState`` that has
/// seen the session takes the location for unavailable, for example a disk that is not mounted: its calls throw
/// ``StoreProblem/unavailable``, and the session does not end.
///
/// On a machine without a keyring, the session can be encrypted with ``SessionEncryptionKey``s. A session that is not
/// encrypted is then rejected (``StoreProblem/notEncrypted``). To encrypt it, sign out, and sign
/// in again with keys. The key protects the content, not the place: a
/// program that can write the folder can put back an older file, or another file that was encrypted with the same key.
///
/// ```swift
/// let store = FileTokenStore(path: "/home/jane/.local/state/my-app/session.json")
/// ```
public struct FileTokenStore: TokenStore {
    /// The path of the file.
    public let path: String
    /// How long a change waits for another process that holds the lock of the session. A process holds it for
    /// milliseconds unless it is suspended.
    public var lockTimeout = Duration.seconds(10)
    /// The limit in bytes. It is far above the largest expected record: the provider's metadata, its keys, and the
    /// stored responses of the token endpoint, each of at most one megabyte.
    package var largestRecord = 64 << 20
    /// The function that synchronises a file: fsync(2).
    package var synchroniseFile: @Sendable (Int32) -> Int32 = { fsync($0) }
    /// The function that synchronises a folder: fsync(2).
    package var synchroniseFolder: @Sendable (Int32) -> Int32 = { fsync($0) }
    private let encryptionKeys: [SessionEncryptionKey]
    private let isUnsafe = LockedValue(false)

    /// Creates a store for a file. It does not read or create anything.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - encryptionKeys: The first key encrypts, and all of them decrypt. Without keys, only the mode of the file
    ///     protects the session.
    public init(path: String, encryptionKeys: [SessionEncryptionKey] = []) {
        (self.path, self.encryptionKeys) = (path, encryptionKeys)
    }

    /// `file:` and the path.
    public var location: String { "file:\(path)" }

    /// Whether the store encrypts the session.
    package var isEncrypted: Bool { !encryptionKeys.isEmpty }

    /// Reads the session, or returns nil if there is no file.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if there is neither a file nor its lock, and
    ///   ``TokenStoreCall/expectsSession`` is true.
    public func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        let record =
            if encryptionKeys.isEmpty { try read() } else {
                // To derive a key from a passphrase takes long.
                try await onThread(named: "appauth-store", of: location, Commitment()) { try read() }
            }
        if record == nil, call.expectsSession { try lock.requireFile() }
        return record
    }

    /// Reads the session without checking its lock, for a caller that cannot wait for a thread.
    package func read() throws -> AuthStateRecord? { try hintingAtDiscard { try file.read() } }

    /// Reads the session and checks that its lock can be used, and that its folder is writable and has room. If the
    /// folder does not exist, the closest existing parent is checked.
    public func prepare() async throws {
        try await onThread(named: "appauth-store", of: location, nil) { [ownedFile, file, folder, lock] in
            try ownedFile.requireReplaceable()
            _ = try hintingAtDiscard { try file.read() }
            try folder.probe(bytes: Self.probedRoom)
            try lock.check()
        }
    }

    /// The room to check for, in bytes. It is more than most sessions need.
    private static let probedRoom = 64 << 10

    /// Changes the session under the lock. A cancelled caller returns, unless the change is being written.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/busy`` if another process holds the lock for longer than
    ///   ``lockTimeout``.
    public func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        try await under(lockToTake(call)) { [file] in try file.update(change, $0) }
    }

    /// Reads the session under its lock, and reserves room for new tokens in `NAME.new`.
    public func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await under(lockToTake(call)) { [file] in try file.prepare($0) }
    }

    /// Sets aside a file that is not a usable session (``StoreProblem/damaged``), or that is encrypted with another key
    /// (``StoreProblem/encryption``), so that a new one can be stored.
    ///
    /// The file is renamed to `NAME.damaged-DATE` in the same folder, and neither changed nor deleted. A symbolic link that
    /// is not followed is renamed itself. A readable session stays, and is not an error. One that is not encrypted, although the
    /// store has keys, stays too, and is an error (``StoreProblem/notEncrypted``).
    ///
    /// - Returns: The new path, or nil if there was nothing to set aside.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    @discardableResult
    public func discard() async throws -> String? {
        try await under(lock, ignoringForeignFile: true) { [file] in try file.discard($0) }
    }

    /// Does work in a thread of its own, under a lock of the session.
    private func under<Result: Sendable>(
        _ lock: LockFile, ignoringForeignFile: Bool = false, _ work: @escaping @Sendable (Commitment) throws -> Result
    ) async throws -> Result {
        // The thread observes the limit by itself, unless the file system blocks it.
        let expiry = AuthError.store(location, "cannot be read or written", errno: ETIMEDOUT)
        let limit = (lockTimeout + .seconds(2), expiry)
        let commitment = Commitment()
        return try await onThread(named: "appauth-store", of: location, within: limit, commitment) { [lockTimeout] in
            try SpareDescriptors.use {
                try hintingAtDiscard {
                    func take() throws -> ByteLock { try lock.sessionLock(within: lockTimeout, commitment) }
                    let held = try ignoringForeignFile ? lock.withoutForeignFile(take) : take()
                    defer { held.release() }
                    return try work(commitment)
                }
            }
        }
    }

    /// Waits for the refresh lock, which another task or process may hold.
    public func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
        try await lockToTake(call).refreshLock()
    }

    /// Returns the process that refreshes the session, by its ID and name, or nil if there is none.
    public func refreshLockHolder() async -> String? { lock.holder(.refresh) }

    /// Whether another process or task refreshes the session now, for a caller that has neither threads nor tasks.
    package var isBeingRefreshed: Bool { lock.isHeld(.refresh) }

    /// The number of tasks of this process that wait for the refresh lock and have not asked the kernel for it.
    package var lockWaitingCount: Int { lock.waitingCount }

    private var file: SessionFile {
        SessionFile(
            file: ownedFile, location: location, largestRecord: largestRecord,
            cipher: RecordCipher(keys: encryptionKeys))
    }
    private var ownedFile: OwnedFile {
        OwnedFile(
            path: path, location: location, limit: largestRecord, isUnsafe: isUnsafe, synchronise: synchroniseFile,
            synchroniseFolder: synchroniseFolder)
    }
    private var folder: Folder { ownedFile.folder }
    private var lock: LockFile {
        let file = ownedFile
        return LockFile(path: file.path + ".lock", location: location, folder: file.folder)
    }
    /// The lock. Its file and folder are created if they are missing, unless a session is expected but missing.
    private func lockToTake(_ call: TokenStoreCall) -> LockFile {
        var lock = lock
        lock.isMade = !call.expectsSession || access(path, F_OK) == 0
        return lock
    }
}
