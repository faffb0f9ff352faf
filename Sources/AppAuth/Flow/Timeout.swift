package import AppAuthProtocol

/// Runs an operation for at most a while; then it is cancelled, and the error says so.
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
        // The first to end decides: the operation, by its value or its error, or the clock.
        guard let value = try await group.next() ?? nil else {
            group.cancelAll()
            // It may have succeeded in the same moment, and what is done must not be reported as failed.
            if let late = try? await group.next() ?? nil { return late }
            throw AuthError(
                .timeout, stage, "\(what()) in time", outcome: .perhapsProcessed,
                isTemporary: true)
        }
        return value
    }
}
