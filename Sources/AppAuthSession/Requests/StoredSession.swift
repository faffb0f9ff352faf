public import AppAuthProtocol

/// A session that stays in its store: between two calls, none of its secrets is in memory.
///
/// Each call reads the store, as a new process would, and discards what it has read. New tokens that the store rejects
/// are kept until the store accepts them. This costs a read of the store for each token. Callers in the same process
/// share a refresh only through the store's lock.
///
/// ```swift
/// let session = StoredSession(in: store, environment: .live)
/// let response = try await session.use { state in try await state.send(request) }
/// ```
public struct StoredSession: Sendable {
    private let store: any TokenStore
    private let environment: Environment

    /// Creates a session for a store, which may still be empty.
    public init(in store: any TokenStore, environment: Environment) {
        (self.store, self.environment) = (store, environment)
    }

    /// Restores the session for one piece of work.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/signInRequired`` if the store has no session,
    ///   ``AuthError/Code/store`` if it cannot be read, and any error that the work throws.
    public func use<Value: Sendable>(
        _ work: @Sendable (AuthState) async throws -> Value
    ) async throws -> Value {
        guard let state = try await AuthState(restoring: store, environment: environment) else {
            throw AuthError(
                .signInRequired, .refresh, "not signed in: \(store.location) has no session",
                outcome: .notSent)
        }
        return try await work(state)
    }
}
