public import AppAuthProtocol

/// A session that stays in its store: nothing secret of it is in memory between two calls.
///
/// Each call reads the store, as a new process would, and forgets what it has read; new tokens that the store refuses are
/// kept until it takes them. That costs a read of the store for each token; callers in the same process share a refresh
/// by way of the store's lock alone.
///
/// ```swift
/// let session = StoredSession(in: store, environment: .live)
/// let answer = try await session.use { state in try await state.send(request) }
/// ```
public struct StoredSession: Sendable {
    private let store: any TokenStore
    private let environment: Environment

    /// A session in a store, if there is one by then.
    public init(in store: any TokenStore, environment: Environment) {
        (self.store, self.environment) = (store, environment)
    }

    /// Takes the session up for one piece of work.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/signInRequired`` if the store has no session,
    ///   ``AuthError/Code/store`` if it cannot be read, and whatever the work throws.
    public func use<Value: Sendable>(
        _ work: @Sendable (AuthState) async throws -> Value
    ) async throws -> Value {
        guard let state = try await AuthState(restoring: store, environment: environment) else {
            throw AuthError(
                .signInRequired, .refresh, "expected a session in \(store.location), found none: sign in",
                outcome: .notSent)
        }
        return try await work(state)
    }
}
