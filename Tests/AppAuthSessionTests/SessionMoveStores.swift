import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession

/// Something that happens after so many changes of either store.
final class Interruption: Sendable {
    private let left: LockedValue<Int>
    private let action: @Sendable () async throws -> Void

    init(after changes: Int, _ action: @escaping @Sendable () async throws -> Void) {
        (left, self.action) = (LockedValue(changes), action)
    }

    func changed() async throws {
        let isNow = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isNow { try await action() }
    }
}

/// A store that can be interrupted after a change, or before it.
struct InterruptedStore: TokenStore {
    let base: MemoryTokenStore
    let location: String
    let interruption: Interruption
    var isBefore = false

    func load() async throws -> AuthStateRecord? { await base.load() }
    func refreshLock() async throws -> RefreshLock { try await base.refreshLock() }

    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        if isBefore { try await interruption.changed() }
        let result = try await base.update(change)
        if !isBefore { try await interruption.changed() }
        return result
    }
}

/// A store that records its location when its lock is requested.
struct NotedStore: TokenStore {
    let base: MemoryTokenStore
    let location: String
    let notes: LockedValue<[String]>

    func load() async throws -> AuthStateRecord? { await base.load() }
    func refreshLock() async throws -> RefreshLock {
        notes.withLock { $0.append(location) }
        return try await base.refreshLock()
    }
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result { try await base.update(change) }
}

/// A store whose session is refreshed by another process before each read.
struct ChangingStore: TokenStore {
    let base: MemoryTokenStore
    let location: String

    func load() async throws -> AuthStateRecord? {
        try await base.update { stored in
            guard let record = stored else { return }
            stored?.client = Client(id: record.client.id + "'", provider: record.client.provider)
        }
        return await base.load()
    }
    func refreshLock() async throws -> RefreshLock { try await base.refreshLock() }
    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result { try await base.update(change) }
}
