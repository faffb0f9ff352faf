/// Returns the result, or throws the error, of the operation that ends first, and cancels the other.
package func firstResult<Value: Sendable>(
    of one: @escaping @Sendable () async throws -> Value, or other: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        defer { group.cancelAll() }
        group.addTask(operation: one)
        group.addTask(operation: other)
        guard let first = try await group.next() else { throw CancellationError() }
        return first
    }
}
