import Foundation
import JOSE

/// A clock that stands still until a test moves it.
final class TestClock: Sendable {
    private let time = Guarded(Date(timeIntervalSince1970: 1_750_000_000))

    var now: Date { time.withLock { $0 } }

    func advance(by seconds: Double) { time.withLock { $0 += seconds } }
}
