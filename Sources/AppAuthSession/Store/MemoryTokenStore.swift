internal import AppAuthConcurrency

/// A store that keeps a session for as long as the process lives.
public actor MemoryTokenStore: TokenStore {
    private var record: AuthStateRecord?
    private let lock = TaskQueue()

    /// Always `memory`.
    public nonisolated var location: String { "memory" }

    /// Creates a store, with a session or empty.
    public init(_ record: AuthStateRecord? = nil) { self.record = record }

    /// Reads the session.
    public func load(_ call: TokenStoreCall) -> AuthStateRecord? { record }

    /// Changes the session.
    public func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) throws -> Result {
        var changed = record
        let result = try change(&changed)
        record = changed
        return result
    }

    /// Waits for the lock among the tasks of this process.
    public func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await lock.refreshLock() }
}

extension TaskQueue {
    /// A turn as the refresh lock of a store that no other process shares.
    package func refreshLock() async throws -> RefreshLock {
        let turn = try await turn()
        return RefreshLock { turn.end() }
    }
}
