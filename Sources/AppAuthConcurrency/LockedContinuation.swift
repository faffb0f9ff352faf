/// Waits for a value or an error from another thread, like `withCheckedThrowingContinuation`, but under a lock.
///
/// If the value comes before the task waits for it, the concurrency runtime synchronizes the two threads in a way that
/// the thread sanitizer does not see. It does see a lock.
package func withLockedContinuation<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (LockedContinuation<Value>) -> Void
) async throws -> Value {
    let result = LockedValue<Result<Value, any Error>?>(nil)
    await withCheckedContinuation(isolation: isolation) { body(LockedContinuation(waiting: $0, result: result)) }
    guard let result = result.withLock({ $0 }) else { preconditionFailure("expected a result, found none") }
    return try result.get()
}

/// The continuation of a ``withLockedContinuation(isolation:_:)``. Resume it exactly once.
package struct LockedContinuation<Value: Sendable>: Sendable {
    fileprivate let waiting: CheckedContinuation<Void, Never>
    fileprivate let result: LockedValue<Result<Value, any Error>?>

    package func resume(with result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        waiting.resume()
    }

    package func resume(returning value: Value) { resume(with: .success(value)) }

    package func resume(throwing error: any Error) { resume(with: .failure(error)) }
}
