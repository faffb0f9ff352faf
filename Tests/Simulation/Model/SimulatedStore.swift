import AppAuthProtocol
import AppAuthSession

/// One of two stores that all processes share. It changes in one step, has one lock, and is sometimes full or shut.
final class SimulatedStore {
    final class Lock {
        let process: Int
        init(process: Int) { self.process = process }
    }

    let number: Int
    private(set) var record: AuthStateRecord?
    private(set) var holder: Lock?
    var isFullUntil = 0
    /// Until then the store writes, but its response is lost: a folder that cannot be synced, a slow keyring.
    var isMuteUntil = 0
    /// Until then the store can be neither read nor written: a locked keyring.
    var isShutUntil = 0

    var troubledUntil: Int { max(isFullUntil, isMuteUntil, isShutUntil) }

    init(number: Int) { self.number = number }

    var location: String { "store \(number)" }

    func beWell() { (isFullUntil, isMuteUntil, isShutUntil) = (0, 0, 0) }

    func lock(for process: Int) -> Lock {
        let lock = Lock(process: process)
        holder = lock
        return lock
    }

    func release(_ lock: Lock?) { if let lock, holder === lock { holder = nil } }

    /// Releases the lock of a dead process, as the kernel does.
    func processDied(_ process: Int) { if holder?.process == process { holder = nil } }

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
