internal import AppAuthConcurrency
package import FoundationEssentials

/// A clock that runs ahead of another.
package final class MovableClock: Sendable {
    private let base: @Sendable () -> Date
    private let lead = LockedValue(0)

    package init(_ base: @escaping @Sendable () -> Date) { self.base = base }

    package var now: Date { base().adding(lead.withLock { $0 }) }

    func advance(_ seconds: Int) { lead.withLock { $0 += seconds } }
}
