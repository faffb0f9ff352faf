import AppAuthProtocol
import Foundation

/// The clocks of one machine in virtual time. A user, a battery or a restart may make the wall clock wrong.
struct SimulatedClock {
    /// The true time, in milliseconds since the run began. The server's clock is right.
    private(set) var time = 0
    private(set) var boot = 1
    /// How far the wall clock is ahead, in milliseconds.
    private var wallError = 0
    private var bootedAt = -5_000_000

    var timestamp: Timestamp {
        Timestamp(
            wall: Self.date(time + wallError), sinceBoot: .milliseconds(time - bootedAt), boot: "boot \(boot)")
    }

    var serverDate: Date { Self.date(time) }

    private static func date(_ milliseconds: Int) -> Date {
        Date(timeIntervalSince1970: 1_750_000_000 + Double(milliseconds) / 1000)
    }

    /// Lets time pass, even while the machine sleeps. The time since boot advances as well.
    mutating func advance(to later: Int) { time = max(time, later) }

    /// Sets the wall clock, as a user might.
    mutating func setWall(error: Int) { wallError = error }

    /// Restarts the machine, with a wall clock that may be wrong.
    mutating func restart(wallError error: Int) { (boot, bootedAt, wallError) = (boot + 1, time - 20_000, error) }
}
