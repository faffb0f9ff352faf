internal import AppAuthConcurrency

/// The refresh tokens that may be at the provider while their successors are not stored.
final class Exposures: Sendable {
    private struct State {
        var count = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = LockedValue(State())

    var areSome: Bool { state.withLock { $0.count > 0 } }

    /// Waits until there is none.
    func end() async {
        await withCheckedContinuation { continuation in
            let isNone = state.withLock { state in
                if state.count > 0 { state.waiting.append(continuation) }
                return state.count == 0
            }
            if isNone { continuation.resume() }
        }
    }

    func begin() -> Exposure {
        state.withLock { $0.count += 1 }
        return Exposure { [state] in
            let waiting = state.withLock { state in
                state.count -= 1
                guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }
}

/// One of them, until it ends.
struct Exposure: ~Copyable {
    private var finish: (() -> Void)?

    fileprivate init(_ finish: @escaping () -> Void) { self.finish = finish }

    mutating func end() {
        finish?()
        finish = nil
    }

    deinit { finish?() }
}
