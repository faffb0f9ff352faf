import AppAuthConcurrency
import Foundation

/// A clock that stands still until a test moves it.
final class ManualClock: Sendable {
    private let time = LockedValue(Date(timeIntervalSince1970: 1_800_000_000))

    var now: Date { time.withLock { $0 } }
    var read: @Sendable () -> Date { { self.now } }

    func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}
