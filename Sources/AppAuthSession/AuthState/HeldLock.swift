internal import AppAuthConcurrency

/// The refresh lock, and the turn of its caller in this process. An unsaved change keeps the lock, although the turn is over.
final class HeldLock: Sendable {
    private let turn: TaskQueue.Turn
    let lock: RefreshLock

    init(turn: TaskQueue.Turn, lock: RefreshLock) { (self.turn, self.lock) = (turn, lock) }
}
