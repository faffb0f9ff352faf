import AppAuthProtocol
import Foundation

/// The clocks of one machine in virtual time. A user, a battery or a restart may make the wall clock wrong. Times are in
/// milliseconds since the run began.
struct SimulatedClock {
    private(set) var boot = 1
    /// How far the wall clock is ahead, in milliseconds.
    private var wallError = 0
    /// When the wall clock was last wrong.
    private var wrongUntil = -1
    private var bootedAt = -5_000_000

    /// What the machine's clocks show.
    func timestamp(at time: Int) -> Timestamp {
        Timestamp(wall: date(at: time + wallError), sinceBoot: .milliseconds(time - bootedAt), boot: "boot \(boot)")
    }

    /// The true time. The server's clock is right.
    func date(at time: Int) -> Date { Date(timeIntervalSince1970: 1_750_000_000 + Double(time) / 1000) }

    /// Whether the wall clock has been right from a time on.
    func isRight(since time: Int) -> Bool { wallError == 0 && wrongUntil < time }

    /// Sets the wall clock, as a user might.
    mutating func setWall(error: Int, at time: Int) {
        if wallError != 0 { wrongUntil = time }
        wallError = error
    }

    /// Restarts the machine, with a wall clock that may be wrong.
    mutating func restart(at time: Int, wallError error: Int) {
        (boot, bootedAt) = (boot + 1, time - 20_000)
        setWall(error: error, at: time)
    }
}
