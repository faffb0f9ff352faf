import AppAuthProtocol
import AppAuthSession

/// One of two stores that all processes share. It changes in one step, has one lock, and is sometimes full or shut.
final class SimulatedStore {
    /// A grant of the lock.
    final class Lock {
        let process: Int
        /// Each grant of a store has a larger one.
        let number: Int
        /// Whether the store has released the lock before its holder did.
        fileprivate(set) var isLost = false
        /// Whether the holder believes that it has the lock.
        fileprivate(set) var isHeld = true
        /// Whether this grant replaces one that the holder had lost.
        let isRegained: Bool
        /// Whether the holder has changed the session although the store had granted the lock again, or has sent a
        /// refresh token although it knew that it had lost the lock.
        var isMisused = false

        /// Whether two holders may send one refresh token: neither can know of the other.
        var isExcused: Bool { isLost && !isMisused }

        fileprivate init(process: Int, number: Int, isRegained: Bool) {
            (self.process, self.number, self.isRegained) = (process, number, isRegained)
        }
    }

    /// How long a database keeps the lock for a process that does not report, in milliseconds.
    static let lockTimeout = 60_000
    /// How long a change waits for the lock that its holder has lost.
    static let callTimeout = 10_000

    let number: Int
    private(set) var record: AuthStateRecord?
    private(set) var holder: Lock?
    /// The number of the latest grant.
    private(set) var lockNumber = 0
    var isFullUntil = 0
    /// Until then the store writes, but its response is lost: a folder that cannot be synced, a slow keyring.
    var isMuteUntil = 0
    /// Until then the store can be neither read nor written: a locked keyring.
    var isShutUntil = 0

    var troubledUntil: Int { max(isFullUntil, isMuteUntil, isShutUntil) }

    init(number: Int) { self.number = number }

    var location: String { "store \(number)" }

    func beWell() { (isFullUntil, isMuteUntil, isShutUntil) = (0, 0, 0) }

    func lock(for process: Int, isRegained: Bool = false) -> Lock {
        lockNumber += 1
        let lock = Lock(process: process, number: lockNumber, isRegained: isRegained)
        holder = lock
        return lock
    }

    /// Whether the holder believes that it has the lock, and the store has not granted it again.
    func isLatest(_ lock: Lock) -> Bool { lock.isHeld && lock.number == lockNumber }

    func release(_ lock: Lock?) { if let lock, holder === lock { holder = nil } }

    /// Releases the lock of a dead process, as the kernel does.
    func processDied(_ process: Int) { if holder?.process == process { holder = nil } }

    /// Releases the lock although its holder has not: the connection has ended, or the holder does not report.
    func loseLock(isNoticed: Bool) {
        holder?.isLost = true
        if isNoticed { holder?.isHeld = false }
        holder = nil
    }

    func read(at now: Int) throws(AuthError) -> AuthStateRecord? {
        guard now >= isShutUntil else {
            throw AuthError(.store, .store, "the keyring is locked", outcome: .notSent, isTemporary: true)
        }
        return record
    }

    /// Writes the session if it has changed. If the disk is full, nothing changes. If the store is mute, this throws
    /// after the write.
    func write(_ changed: AuthStateRecord?, at now: Int) throws(AuthError) {
        guard changed != record else { return }
        guard now >= isFullUntil else {
            throw AuthError(.store, .store, "the disk is full", outcome: .notSent, isTemporary: true)
        }
        record = changed
        guard now >= isMuteUntil else {
            throw AuthError(.store, .store, "it is unknown whether it was stored", outcome: .notSent, isTemporary: true)
        }
    }
}
