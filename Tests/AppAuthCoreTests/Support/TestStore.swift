import AppAuthSession
import Testing

/// A store that refuses when it is told to, and tells what it was asked.
actor TestStore: TokenStore {
    struct Refusal: Error {}

    private(set) var record: AuthStateRecord?
    private(set) var saves = 0
    private(set) var deletions = 0
    /// How many of the changes that were asked for had nobody who waits for them.
    private(set) var unattended = 0
    private var refusal: (any Error)?
    /// How many saves still pass before the store refuses, or parks.
    private var passing = 0
    private var isHeld = false
    private var heldFail = false
    private var held: [CheckedContinuation<Void, Never>] = []

    nonisolated var location: String { "test store" }

    init(_ record: AuthStateRecord? = nil) { self.record = record }

    /// Somebody else stores another session, or removes this one.
    func put(_ record: AuthStateRecord?) { self.record = record }

    /// Refuses everything from now on, or after some more saves; nil ends that.
    func refuse(with error: (any Error)?, after saves: Int = 0) { (refusal, passing) = (error, saves) }

    /// Parks what is saved from now on, or after some more saves, until ``release()``.
    func hold(after saves: Int = 0) { (isHeld, passing) = (true, saves) }

    /// Refuses what is parked once it is released, and nothing else.
    func failHeld() { heldFail = true }

    func release() {
        isHeld = false
        for continuation in held { continuation.resume() }
        held = []
    }

    /// Returns once so many saves have been begun.
    nonisolated func begun(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await waitUntil(sourceLocation: sourceLocation) { await saves >= count }
    }

    func load() async throws -> AuthStateRecord? {
        if let refusal, passing == 0 { throw refusal }
        let record = record
        if let parked = parkedLoad {
            parkedLoad = nil
            parked.arrived.finish()
            for await _ in parked.ends.stream {}
        }
        return record
    }

    private typealias Gate = (stream: AsyncStream<Never>, continuation: AsyncStream<Never>.Continuation)
    private var parkedLoad: (arrived: AsyncStream<Never>.Continuation, ends: Gate)?
    private var gates: (arrived: Gate, ends: Gate)?

    /// Parks the next load, with what it has read.
    func holdLoad() {
        let (arrived, ends): (Gate, Gate) = (AsyncStream.makeStream(), AsyncStream.makeStream())
        (gates, parkedLoad) = ((arrived, ends), (arrived.continuation, ends))
    }

    func loadIsHeld() async { if let gate = gates?.arrived { for await _ in gate.stream {} } }

    func releaseLoad() { gates?.ends.continuation.finish() }

    private let lock = RefreshQueue()
    private let changing = RefreshQueue()

    func refreshLock() async throws -> RefreshLock { try await lock.wait() }

    /// How many wait for the refresh lock.
    nonisolated var lockWaitingCount: Int { lock.waitingCount }
    /// How many changes wait for the one that is being made.
    nonisolated var changeWaitingCount: Int { changing.waitingCount }

    func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        if TokenStoreCall.isUnattended { unattended += 1 }
        let turn = try await changing.wait()
        defer { turn.release() }
        if let refusal, passing == 0 { throw refusal }
        var changed = record
        let result = try change(&changed)
        guard changed != record else { return result }
        if let changed { try await save(changed) } else { try delete() }
        return result
    }

    func save(_ record: AuthStateRecord) async throws {
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

    func delete() throws {
        deletions += 1
        if let refusal, passing == 0 { throw refusal }
        record = nil
    }
}
