package import AppAuthProtocol

/// How long to wait for a refresh by another process, or by another caller in this process.
package struct LockPatience: Sendable {
    /// The interval at which the store is read meanwhile.
    package var pause: Duration
    /// The longest wait: longer than most refreshes in which every request times out.
    package var limit: Duration

    package init(pause: Duration = .seconds(2), limit: Duration = .seconds(120)) {
        (self.pause, self.limit) = (pause, limit)
    }
}

extension Environment {
    /// How long to wait for a refresh by another process.
    package var lockPatience: LockPatience {
        get { self[LockPatience.self] }
        set { self[LockPatience.self] = newValue }
    }
}

extension LockPatience: EnvironmentKey {
    package static var defaultValue: LockPatience { LockPatience() }
}
