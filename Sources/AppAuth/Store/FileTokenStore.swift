internal import AppAuthProtocol
public import AppAuthSession
internal import Glibc
internal import JOSE

/// Keeps a session in a file that only its owner can read, for all processes that know its path.
///
/// A write goes to a file beside it (`NAME.new`), which is synchronised and then renamed, and the folder after it: after a
/// crash, a full disk or a power cut the file holds the old session or the new one, whole. The file has mode 0600;
/// folders that are missing are made with 0700, others stay as they are. Before a refresh token is presented, the room for
/// what comes is taken there: a disk that is filled meanwhile costs nothing. A symbolic link, a file of another user and
/// whatever is no session are refused with an error that names the file (``StoreProblem/damaged``), and are neither
/// overwritten nor removed. ``discard()`` sets them aside.
///
/// Where the folder cannot be synchronised once the file is renamed or removed, the change is there to see and the call
/// fails; the store, and whatever copy of it, then makes up for it before it confirms anything else.
///
/// Beside it lies its lock, `NAME.lock`. It holds the process that has the lock, and stays when the session is removed: a lock
/// without a session says "signed out". If both are missing where a session was stored, the place is away, for example on
/// a disk that is not mounted: calls then throw ``StoreProblem/unavailable``, and the session is not over.
///
/// ```swift
/// let store = FileTokenStore(path: "/home/jane/.local/state/my-app/session.json")
/// ```
public struct FileTokenStore: TokenStore {
    /// The file.
    public let path: String
    /// How long a change waits for another process that has the lock of the session, which takes milliseconds unless that
    /// process is stopped.
    public var lockTimeout = Duration.seconds(10)
    /// In bytes. Far above what may come: the provider's metadata, its keys, and the responses of the token endpoint that
    /// are kept together, each of a megabyte at most.
    package var largestRecord = 64 << 20
    /// How a folder is synchronised: fsync(2).
    package var synchroniseFolder: @Sendable (Int32) -> Int32 = { fsync($0) }
    private let isUnsafe = LockedValue(false)

    /// Names a file; nothing is read or made yet.
    public init(path: String) { self.path = path }

    /// `file:` and the path.
    public var location: String { "file:\(path)" }

    /// Reads the session; nil if there is no file.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if its lock is missing too, though a session was stored here.
    public func load() async throws -> AuthStateRecord? {
        guard let record = try read() else {
            if TokenStoreCall.expectsSession { try lock.requireFile() }
            return nil
        }
        return record
    }

    /// As ``load()``, for a caller that cannot wait for a thread.
    package func read() throws -> AuthStateRecord? { try hintingAtDiscard { try file.read() } }

    /// Reads the session, and makes sure that its folder, or the folder that this would be made in, can be written to and has
    /// room.
    public func prepare() async throws {
        try await onThread(named: "appauth-store", for: .store, of: location) { [file, folder] in
            _ = try hintingAtDiscard { try file.read() }
            try folder.probe(bytes: Self.probedRoom)
        }
    }

    /// More than most sessions need, in bytes.
    private static let probedRoom = 64 << 10

    /// Changes the session, under the lock. A caller whose task is cancelled leaves, unless the change is being written.
    ///
    /// - Throws: ``AuthError`` with ``StoreProblem/busy`` if another process has the lock for longer than ``lockTimeout``.
    public func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        let lock = lockToTake
        return try await underLock { [file, lockTimeout] commitment in
            let held = try lock.sessionLock(within: lockTimeout, commitment)
            defer { held.release() }
            return try file.update(change, commitment)
        }
    }

    /// Sets aside what is in the place of the session and cannot be used as one (``StoreProblem/damaged``), so that a new
    /// session can be stored. It is renamed to `NAME.damaged-DATE` in the same folder, and neither changed nor deleted; of a
    /// symbolic link the link is renamed. A session that can be read stays, and is no error.
    ///
    /// - Returns: The new path; nil if there was nothing to set aside.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    @discardableResult
    public func discard() async throws -> String? {
        let lock = lock
        return try await underLock { [file, lockTimeout] commitment in
            let held = try lock.withoutForeignFile { try lock.sessionLock(within: lockTimeout, commitment) }
            defer { held.release() }
            return try file.discard(commitment)
        }
    }

    private func underLock<Result: Sendable>(
        _ work: @escaping @Sendable (Commitment) throws -> Result
    ) async throws -> Result {
        // The thread keeps to the limit by itself, unless the file system holds it up.
        let limit = lockTimeout + .seconds(2)
        return try await onThread(named: "appauth-store", of: location, within: limit, expiry: silence, Commitment()) {
            commitment in try SpareDescriptors.use { try hintingAtDiscard { try work(commitment) } }
        }
    }

    /// Waits for whoever refreshes, in this process or another.
    public func refreshLock() async throws -> RefreshLock { try await lockToTake.refreshLock() }

    /// The process that refreshes the session, by its id and name.
    public func refreshLockHolder() async -> String? { lock.holder(.refresh) }

    /// Whether somebody refreshes the session at this moment, for a caller that has neither threads nor tasks.
    package var isBeingRefreshed: Bool { lock.isHeld(.refresh) }

    /// How many tasks of this process wait for the refresh lock, and have not asked the kernel for it yet.
    package var lockWaitingCount: Int { lock.waitingCount }

    private var silence: AuthError { .store(location, "cannot be read or written", errno: ETIMEDOUT) }
    private var file: SessionFile {
        SessionFile(path: path, location: location, largestRecord: largestRecord, folder: folder, isUnsafe: isUnsafe)
    }
    private var folder: Folder { Folder(of: path, location: location, synchronise: synchroniseFolder) }
    private var lock: LockFile { LockFile(path: path + ".lock", location: location, folder: folder) }
    /// The lock, with its file and folder made where they are missing, unless they must be somewhere else.
    private var lockToTake: LockFile {
        var lock = lock
        lock.isMade = !TokenStoreCall.expectsSession || access(path, F_OK) == 0
        return lock
    }
}
