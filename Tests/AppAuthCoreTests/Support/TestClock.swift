import AppAuthCore
import Foundation
import JOSE

/// A clock that stands still until a test moves it.
final class TestClock: Sendable {
    private let time = Guarded(
        Moment(wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(5000), boot: "first boot"))

    var moment: Moment { time.withLock { $0 } }
    var now: Date { moment.wall }

    func advance(by seconds: Double) {
        time.withLock {
            $0 = Moment(wall: $0.wall + seconds, sinceBoot: $0.sinceBoot + .seconds(seconds), boot: $0.boot)
        }
    }

    /// Somebody sets the wall clock.
    func step(by seconds: Double) {
        time.withLock { $0 = Moment(wall: $0.wall + seconds, sinceBoot: $0.sinceBoot, boot: $0.boot) }
    }

    /// The machine is off for a while, and starts anew.
    func restart(after seconds: Double) {
        time.withLock { $0 = Moment(wall: $0.wall + seconds, sinceBoot: .seconds(20), boot: $0.boot + "'") }
    }
}
