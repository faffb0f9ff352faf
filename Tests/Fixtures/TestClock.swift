internal import AppAuthConcurrency
package import AppAuthProtocol
package import Foundation

/// A clock that only moves when a test moves it.
package final class TestClock: Sendable {
    private struct Time {
        var timestamp = Timestamp(
            wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(5000), boot: "first boot")
        var server = Date(timeIntervalSince1970: 1_750_000_000)
    }

    private let time = LockedValue(Time())

    package init() {}

    package var timestamp: Timestamp { time.withLock { $0.timestamp } }
    package var now: Date { timestamp.wall }
    /// The time of a clock that is never set.
    package var serverNow: Date { time.withLock { $0.server } }

    package func advance(by seconds: Double) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(
                wall: now.wall + seconds, sinceBoot: now.sinceBoot + .milliseconds(Int((seconds * 1000).rounded())),
                boot: now.boot)
            time.server += seconds
        }
    }

    /// Sets the wall clock, as a user does.
    package func step(by seconds: Double) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(wall: now.wall + seconds, sinceBoot: now.sinceBoot, boot: now.boot)
        }
    }

    /// Restarts the machine after some time. Its wall clock may then be wrong.
    package func restart(after seconds: Double, step: Double = 0) {
        time.withLock { time in
            let now = time.timestamp
            time.timestamp = Timestamp(wall: now.wall + seconds + step, sinceBoot: .seconds(20), boot: now.boot + "'")
            time.server += seconds
        }
    }
}
