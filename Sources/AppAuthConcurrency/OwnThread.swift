internal import Dispatch

/// A thread for blocking work, one piece after another, so that it does not block a thread that tasks need.
package final class OwnThread: Sendable {
    private let queue = DispatchQueue(label: "appauth-key")

    package init() {}

    /// Runs the work after that of earlier callers. If the caller's task is cancelled, it still waits for the end.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withLockedContinuation { continuation in
            queue.async { continuation.resume(with: Result(catching: work)) }
        }
    }
}
