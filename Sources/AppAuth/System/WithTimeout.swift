package import AppAuthProtocol

/// Runs an operation with a time limit. At the limit, it cancels the operation and throws a timeout error.
package func withTimeout<Value: Sendable>(
    _ limit: Duration, _ stage: AuthError.Stage, _ what: @autoclosure () -> String,
    _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        // The first task to end decides: the operation with its value or error, or the clock.
        guard let value = try await group.next() ?? nil else {
            group.cancelAll()
            // The operation may have succeeded at the same time. A finished operation must not be reported as failed.
            if let late = try? await group.next() ?? nil { return late }
            throw AuthError(
                .timeout, stage, "\(what()) in time", outcome: .perhapsProcessed,
                isTemporary: true)
        }
        return value
    }
}
