/// How long the refresh of another process is waited for.
package struct LockPatience: Sendable {
    /// How often the store is looked at meanwhile.
    package var pause: Duration
    /// How long it may take: more than a refresh with all its requests.
    package var limit: Duration

    package init(pause: Duration = .seconds(2), limit: Duration = .seconds(120)) {
        (self.pause, self.limit) = (pause, limit)
    }
}

extension AuthState {
    /// What comes of a wait for the refresh lock.
    enum Turn: Sendable {
        case held(RefreshLock)
        case decided(SessionRules.Decision)
    }

    /// Waits for the refresh lock of the store, but not for ever: whoever holds it may be stopped, or may hold it with new
    /// tokens that the store does not take.
    ///
    /// - Parameter look: Looks every few seconds whether the lock is still needed.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    func refreshLock(orElse look: @escaping @Sendable () async throws -> SessionRules.Decision) async throws -> Turn {
        try await withThrowingTaskGroup(of: Turn.self) { group in
            // The one that comes too late is released when nobody has it any more.
            defer { group.cancelAll() }
            group.addTask { [store] in .held(try await store.attempt { try await store.refreshLock() }) }
            group.addTask { [self] in .decided(try await decision(meanwhile: look)) }
            while let turn = try await group.next() { return turn }
            throw CancellationError()
        }
    }

    private func decision(
        meanwhile look: @Sendable () async throws -> SessionRules.Decision
    ) async throws -> SessionRules.Decision {
        let patience = environment.lockPatience
        let end = ContinuousClock.now + patience.limit
        while ContinuousClock.now < end {
            try await Task.sleep(for: patience.pause)
            // What cannot be read now may be read the next time.
            guard let decision = try? await look() else { continue }
            if case .waitForLock = decision.action { continue }
            return decision
        }
        throw AuthError(
            .store, .store,
            "expected the refresh lock of \(store.place) within \(Int(patience.limit.seconds)) s, found it held: its holder "
                + "is stopped, or cannot store its new tokens",
            outcome: .notSent, isTemporary: true)
    }
}
