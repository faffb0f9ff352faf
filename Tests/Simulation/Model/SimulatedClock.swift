import AppAuthProtocol
import Foundation

/// The clocks of one machine in virtual time: what is true, and what a person, a battery or a restart makes of it.
struct SimulatedClock {
    /// What is true: milliseconds since the run began. The server's clock is right.
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

    /// Time passes, or the machine sleeps: the time since boot goes on as well.
    mutating func advance(to later: Int) { time = max(time, later) }

    /// Somebody sets the wall clock.
    mutating func setWall(error: Int) { wallError = error }

    /// The machine starts anew, with a wall clock that may be wrong.
    mutating func restart(wallError error: Int) { (boot, bootedAt, wallError) = (boot + 1, time - 20_000, error) }
}
