internal import CShims
public import FoundationEssentials
internal import Glibc

/// A point in time by both clocks of a machine: the wall clock, which anybody may set, and the time since boot, which
/// nobody can and which goes on while the machine sleeps (`CLOCK_BOOTTIME`).
///
/// How long ago something was is measured by the time since boot for as long as the machine is not started anew, so
/// that no clock that is wrong or jumps makes a token older or younger than it is.
public struct Timestamp: Sendable, Hashable {
    /// What the wall clock said.
    public let wall: Date
    /// Time since boot, sleep included, to the millisecond.
    public let sinceBoot: Duration
    /// Tells one boot from another; empty where nobody knows.
    public let boot: String

    /// Puts a moment together. With an empty `boot` only the wall clock counts.
    public init(wall: Date, sinceBoot: Duration = .zero, boot: String = "") {
        (self.wall, self.sinceBoot, self.boot) = (wall, sinceBoot, boot)
    }

    /// Now, by the system's clocks.
    public static var current: Timestamp {
        Timestamp(wall: Date(), sinceBoot: .milliseconds(shims_milliseconds_since_boot()), boot: currentBoot)
    }

    /// The kernel's random name for this boot.
    private static let currentBoot: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).filter { !$0.isWhitespace }
    }()

    /// Two machines that share a record, or a clock that is being adjusted, may differ by this much.
    private static let tolerance: TimeInterval = 60

    /// Whether the machine has not been started anew in between. Where the kernel does not tell one boot from another (in a
    /// service without `/proc/sys`), the two clocks do: they agree only if neither was set, nor began anew.
    package func isInSameBoot(as later: Timestamp) -> Bool {
        guard boot.isEmpty, later.boot.isEmpty else { return boot == later.boot }
        guard sinceBoot != .zero, later.sinceBoot >= sinceBoot else { return false }
        let passed = (later.sinceBoot - sinceBoot).seconds
        return abs(later.wall.timeIntervalSince(wall) - passed) <= Self.tolerance
    }

    /// How long it is from here to a later moment, never less than zero; nil if nobody can tell, since they are of
    /// different boots and the wall clock was set back in between.
    public func elapsed(until later: Timestamp) -> Duration? {
        if isInSameBoot(as: later) { return max(.zero, later.sinceBoot - sinceBoot) }
        let difference = later.wall.timeIntervalSince(wall)
        return difference >= -Self.tolerance ? Duration(from: wall, to: later.wall) : nil
    }
}

/// Something that is good for a while from a moment on.
package struct Term: Sendable, Hashable {
    package let begin: Timestamp
    package let length: Duration

    package init(from begin: Timestamp, for length: Duration) { (self.begin, self.length) = (begin, length) }

    /// How much of it is left; zero when it is over, and when nobody can tell.
    package func remaining(at now: Timestamp) -> Duration {
        begin.elapsed(until: now).map { max(.zero, length - $0) } ?? .zero
    }

    /// Whether it is over, or nobody can tell.
    package func isOver(at now: Timestamp) -> Bool { remaining(at: now) == .zero }
}

extension Duration {
    /// The duration in seconds.
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// In seconds: what no lifetime needs, and no arithmetic here overflows.
    static let longest = 1e12

    /// From a date to a later one; zero if it is not later. Whatever dates they are, it does not overflow.
    init(from begin: Date, to end: Date) {
        let seconds = end.timeIntervalSince(begin)
        self = .seconds(seconds > 0 ? min(seconds, Self.longest) : 0)
    }
}
