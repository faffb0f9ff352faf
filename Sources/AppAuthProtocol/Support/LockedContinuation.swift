internal import JOSE

/// Waits for a value or an error that another thread hands over. As `withCheckedThrowingContinuation`, but under a lock.
///
/// Where the value comes before the task has begun to wait for it, the concurrency runtime orders the two threads by means that
/// the thread sanitizer does not see. A lock it sees.
package func withLockedContinuation<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: (LockedContinuation<Value>) -> Void
) async throws -> Value {
    let result = LockedValue<Result<Value, any Error>?>(nil)
    await withCheckedContinuation(isolation: isolation) { body(LockedContinuation(waiting: $0, result: result)) }
    guard let result = result.withLock({ $0 }) else { preconditionFailure("expected a result, found none") }
    return try result.get()
}

/// What a ``withLockedContinuation(isolation:_:)`` waits for. To be resumed once.
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
