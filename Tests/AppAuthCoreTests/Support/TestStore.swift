import AppAuthCore

/// A store that refuses when it is told to, and tells what it was asked.
actor TestStore: TokenStore {
    struct Refusal: Error {}

    private(set) var record: AuthStateRecord?
    private(set) var saves = 0
    private(set) var deletions = 0
    private var refusal: (any Error)?
    private var isHeld = false
    private var heldFail = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var waiting: [(saves: Int, continuation: CheckedContinuation<Void, Never>)] = []

    nonisolated var place: String { "test store" }

    init(_ record: AuthStateRecord? = nil) { self.record = record }

    /// Refuses everything from now on; nil ends that.
    func refuse(with error: (any Error)?) { refusal = error }

    /// Parks what is saved from now on, until ``release()``.
    func hold() { isHeld = true }

    /// Refuses what is parked once it is released, and nothing else.
    func failHeld() { heldFail = true }

    func release() {
        isHeld = false
        for continuation in held { continuation.resume() }
        held = []
    }

    /// Returns once so many saves have been begun.
    func begun(_ count: Int) async {
        guard saves < count else { return }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }

    func load() throws -> AuthStateRecord? {
        if let refusal { throw refusal }
        return record
    }

    func save(_ record: AuthStateRecord) async throws {
        saves += 1
        for waiter in waiting where waiter.saves <= saves { waiter.continuation.resume() }
        waiting.removeAll { $0.saves <= saves }
        if isHeld {
            await withCheckedContinuation { held.append($0) }
            if heldFail { throw Refusal() }
        }
        if let refusal { throw refusal }
        self.record = record
    }

    func delete() throws {
        deletions += 1
        if let refusal { throw refusal }
        record = nil
    }
}
