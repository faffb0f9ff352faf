internal import CShims
public import FoundationEssentials
internal import Glibc

/// A point in time by both clocks of a machine: the wall clock, which can be set, and the time since boot, which cannot
/// be set and continues while the machine sleeps (`CLOCK_BOOTTIME`).
///
/// As long as the machine is not rebooted, intervals are measured by the time since boot. A wall clock that is wrong or
/// jumps therefore ends no token, and makes none younger.
public struct Timestamp: Sendable, Hashable {
    /// The wall clock's time.
    public let wall: Date
    /// The time since boot, including sleep, to the millisecond.
    public let sinceBoot: Duration
    /// An identifier of the boot; empty if unknown.
    public let boot: String

    /// Creates a timestamp. With an empty `boot` and no `sinceBoot`, only the wall clock counts.
    ///
    /// The wall clock's time is rounded to what can be stored, by a fraction of a microsecond: a `Date` counts from 2001,
    /// a store from 1970. So a time that was read back equals the one that was stored.
    public init(wall: Date, sinceBoot: Duration = .zero, boot: String = "") {
        (self.sinceBoot, self.boot) = (sinceBoot, boot)
        self.wall = Date(timeIntervalSince1970: wall.timeIntervalSince1970)
    }

    /// The current time by the system's clocks.
    public static var current: Timestamp {
        Timestamp(wall: Date(), sinceBoot: .milliseconds(shims_milliseconds_since_boot()), boot: currentBoot)
    }

    /// The kernel's random identifier of this boot.
    private static let currentBoot: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).filter { !$0.isWhitespace }
    }()

    /// How far the wall clocks of two machines that share a record, or a clock that is being adjusted, may differ.
    private static let tolerance: TimeInterval = 60

    /// Returns whether both are of the same boot. If the kernel does not identify the boot (in a service without
    /// `/proc/sys`), the clocks decide: they agree only if neither was set or restarted. A clock that went back since then
    /// is of another time namespace, or of a restored machine.
    package func isInSameBoot(as later: Timestamp) -> Bool {
        guard boot.isEmpty, later.boot.isEmpty else {
            return boot == later.boot && (sinceBoot - later.sinceBoot).seconds <= Self.tolerance
        }
        guard sinceBoot != .zero, later.sinceBoot >= sinceBoot else { return false }
        let passed = (later.sinceBoot - sinceBoot).seconds
        return abs(later.wall.timeIntervalSince(wall) - passed) <= Self.tolerance
    }

    /// Returns the time to a later one, never less than zero. Returns nil if the two are of different boots and the
    /// wall clock was set back in between.
    public func elapsed(until later: Timestamp) -> Duration? {
        if isInSameBoot(as: later) { return max(.zero, later.sinceBoot - sinceBoot) }
        let difference = later.wall.timeIntervalSince(wall)
        return difference >= -Self.tolerance ? Duration(from: wall, to: later.wall) : nil
    }
}

extension Timestamp {
    /// Returns the time to a later one by the clock that has advanced further; nil if it is unknown.
    ///
    /// The time since boot stands still with a virtual machine that is paused or restored, and with the host of some. Then
    /// the wall clock is ahead of it.
    ///
    /// - Parameter other: The time of the same moment by a clock elsewhere. A clock that was wrong then, and was set since, is
    ///   ahead of only one of the two.
    package func greatestElapsed(until later: Timestamp, orSince other: Date? = nil) -> Duration? {
        guard let elapsed = elapsed(until: later) else { return nil }
        let passed = Duration(from: max(wall, other ?? wall), to: later.wall)
        return passed > elapsed + .seconds(Self.tolerance) ? passed : elapsed
    }
}

/// A period that begins at a timestamp.
package struct Term: Sendable, Hashable {
    package let begin: Timestamp
    package let length: Duration

    package init(from begin: Timestamp, for length: Duration) { (self.begin, self.length) = (begin, length) }

    /// Returns the remaining time; zero if the period is over, or if that cannot be determined.
    package func remaining(at now: Timestamp) -> Duration {
        begin.elapsed(until: now).map { max(.zero, length - $0) } ?? .zero
    }

    /// Returns whether the period is over, or whether that cannot be determined.
    package func isOver(at now: Timestamp) -> Bool { remaining(at: now) == .zero }
}

extension Duration {
    /// The duration in seconds.
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// A limit in seconds that no lifetime reaches and at which no arithmetic here overflows.
    static let longest = 1e12

    /// Creates the duration between two dates; zero if `end` is not later. Never overflows.
    init(from begin: Date, to end: Date) {
        let seconds = end.timeIntervalSince(begin)
        self = .seconds(seconds > 0 ? min(seconds, Self.longest) : 0)
    }
}
