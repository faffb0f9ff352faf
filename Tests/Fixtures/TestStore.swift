internal import AppAuthConcurrency
package import AppAuthSession

/// A store that counts its calls, and fails on request.
package actor TestStore: TokenStore {
    package struct Refusal: Error { package init() {} }

    package private(set) var record: AuthStateRecord?
    package private(set) var saves = 0
    package private(set) var deletions = 0
    /// The number of requested changes without a waiting caller.
    package private(set) var unattended = 0
    /// The number of reads that may not prompt the user.
    package private(set) var unattendedLoads = 0
    private var refusal: (any Error)?
    /// The number of preparations and saves that still succeed before the store fails or parks them.
    private var passing = 0
    private var isHeld = false
    private var heldFail = false
    private var held: [CheckedContinuation<Void, Never>] = []

    package nonisolated var location: String { "test store" }

    package init(_ record: AuthStateRecord? = nil) { self.record = record }

    /// Stores another session, or removes this one, as another process does.
    package func put(_ record: AuthStateRecord?) { self.record = record }

    /// Makes every call fail from now on, or after some more preparations and saves; nil ends that.
    package func refuse(with error: (any Error)?, after saves: Int = 0) { (refusal, passing) = (error, saves) }

    /// Parks saves from now on, or after some more preparations and saves, until ``release()``.
    package func hold(after saves: Int = 0) { (isHeld, passing) = (true, saves) }

    /// Makes only the parked calls fail once they are released.
    package func failHeld() { heldFail = true }

    /// Leaves no room for new tokens, which nothing but a refresh needs.
    package func fill() { isFull = true }

    private var isFull = false
    private var holdsPreparation = false
    private var preparation: CheckedContinuation<Void, Never>?

    /// Parks the preparation of the next refresh.
    package func holdPreparation() { holdsPreparation = true }
    package var isPreparing: Bool { preparation != nil }
    package func releasePreparation() {
        preparation?.resume()
        preparation = nil
    }

    package func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        if isFull { throw Refusal() }
        if let refusal, passing == 0 { throw refusal }
        if passing > 0 { passing -= 1 }
        guard holdsPreparation else { return record }
        holdsPreparation = false
        await withCheckedContinuation { preparation = $0 }
        if heldFail { throw Refusal() }
        return record
    }

    package func release() {
        isHeld = false
        for continuation in held { continuation.resume() }
        held = []
    }

    /// Waits until this many saves have begun.
    package nonisolated func begun(_ count: Int, file: String = #fileID, line: Int = #line) async throws {
        try await waitUntil(file: file, line: line) { await saves >= count }
    }

    package func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        if call.isUnattended { unattendedLoads += 1 }
        if let refusal, passing == 0 { throw refusal }
        let record = record
        if holdsNextLoad {
            holdsNextLoad = false
            await withCheckedContinuation { heldLoad = $0 }
        }
        return record
    }

    private var holdsNextLoad = false
    private var heldLoad: CheckedContinuation<Void, Never>?

    /// Parks the next load after it has read the record.
    package func holdLoad() { holdsNextLoad = true }

    package nonisolated func loadIsHeld(file: String = #fileID, line: Int = #line) async throws {
        try await waitUntil(file: file, line: line) { await heldLoad != nil }
    }

    package func releaseLoad() {
        holdsNextLoad = false
        heldLoad?.resume()
        heldLoad = nil
    }

    private let lock = TaskQueue()
    private let changing = TaskQueue()

    package func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await lock.refreshLock() }

    /// The number of callers that wait for the refresh lock.
    package nonisolated var lockWaitingCount: Int { lock.waitingCount }
    /// The number of changes that wait for the current one.
    package nonisolated var changeWaitingCount: Int { changing.waitingCount }

    package func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        if call.isUnattended { unattended += 1 }
        let turn = try await changing.turn()
        defer { turn.end() }
        if let refusal, passing == 0 { throw refusal }
        var changed = record
        let result = try change(&changed)
        guard changed != record else { return result }
        if let changed { try await save(changed) } else { try delete() }
        return result
    }

    package func save(_ record: AuthStateRecord) async throws {
        saves += 1
        if passing > 0 {
            passing -= 1
        } else if isHeld {
            await withCheckedContinuation { held.append($0) }
            if heldFail { throw Refusal() }
        } else if let refusal {
            throw refusal
        }
        self.record = record
    }

    package func delete() throws {
        deletions += 1
        if let refusal, passing == 0 { throw refusal }
        record = nil
    }
}
