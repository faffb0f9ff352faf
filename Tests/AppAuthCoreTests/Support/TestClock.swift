import AppAuthProtocol
import Foundation
import JOSE

/// A clock that stands still until a test moves it.
final class TestClock: Sendable {
    private struct Time {
        var timestamp = Timestamp(
            wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(5000), boot: "first boot")
        var server = Date(timeIntervalSince1970: 1_750_000_000)
    }

    private let time = LockedValue(Time())

    var timestamp: Timestamp { time.withLock { $0.timestamp } }
    var now: Date { timestamp.wall }
    /// What a clock says that nobody sets.
    var serverNow: Date { time.withLock { $0.server } }

    func advance(by seconds: Double) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(
                wall: now.wall + seconds, sinceBoot: now.sinceBoot + .milliseconds(Int((seconds * 1000).rounded())),
                boot: now.boot)
            time.server += seconds
        }
    }

    /// Somebody sets the wall clock.
    func step(by seconds: Double) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(wall: now.wall + seconds, sinceBoot: now.sinceBoot, boot: now.boot)
        }
    }

    /// The machine is off for a while, and starts anew; its clock may be another then.
    func restart(after seconds: Double, step: Double = 0) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(wall: now.wall + seconds + step, sinceBoot: .seconds(20), boot: now.boot + "'")
            time.server += seconds
        }
    }
}
