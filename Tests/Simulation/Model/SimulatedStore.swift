import AppAuthProtocol
import AppAuthSession

/// One of two places for a session that all processes share: changed in one step, with one lock, and at times full or shut.
final class SimulatedStore {
    final class Lock {
        let process: Int
        init(process: Int) { self.process = process }
    }

    let number: Int
    private(set) var record: AuthStateRecord?
    private(set) var holder: Lock?
    var isFullUntil = 0
    /// Until then it writes, and the word that it has is lost: a folder that cannot be synced, a keyring that answers late.
    var isMuteUntil = 0
    /// Until then it can neither be read nor written: a keyring that is locked.
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

    /// The kernel takes back what a dead process had.
    func processDied(_ process: Int) { if holder?.process == process { holder = nil } }

    func read(at now: Int) throws(AuthError) -> AuthStateRecord? {
        guard now >= isShutUntil else {
            throw AuthError(.store, .store, "the keyring is locked", outcome: .notSent, isTemporary: true)
        }
        return record
    }

    /// Writes what is different; when the disk is full nothing changes, and when it throws that is not sure.
    func write(_ changed: AuthStateRecord?, at now: Int) throws(AuthError) {
        guard changed != record else { return }
        guard now >= isFullUntil else {
            throw AuthError(.store, .store, "the disk is full", outcome: .notSent, isTemporary: true)
        }
        record = changed
        guard now >= isMuteUntil else {
            throw AuthError(.store, .store, "nobody knows whether it was stored", outcome: .notSent, isTemporary: true)
        }
    }
}
