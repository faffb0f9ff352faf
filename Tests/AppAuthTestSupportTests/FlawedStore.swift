import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Glibc

/// A store that breaks one promise, and keeps all the others.
struct FlawedStore: TokenStore {
    /// The flaw, named by the beginning of the promise that it breaks.
    enum Flaw: String, CaseIterable {
        case namesDiffer = "A store has a location"
        case isNeverEmpty = "An empty store"
        case losesScripts = "A stored session is read back"
        case cutsLong = "A session of 64 KiB"
        case remembersWhatItRead = "A stored session is visible"
        case keepsWhatIsRemoved = "An update to nil"
        case losesChanges = "Concurrent updates"
        case alwaysWrites = "An update without changes"
        case writesBeforeItFails = "An update that throws"
        case removesBeforeItWrites = "A reader sees"
        case removesInPreparation = "The preparation of a refresh"
        case hasOneLockForAll = "Stores with different names"
        case lendsToAll = "The refresh lock has one holder"
        case forgetsWaiters = "A waiting caller"
        case keepsLocks = "The refresh lock is free"
        case ignoresCancellation = "A cancelled wait"
        case lendsToTheGone = "A caller that stops waiting"
        case locksAll = "The session can be read"
        case blocks = "Waiting for the refresh lock"
    }

    /// The state that all stores of one location share.
    final class Shared: Sendable {
        struct State {
            var record: AuthStateRecord?
            var writes = 0
            var waiters = 0
            var isFresh = true
            var kept: [RefreshLock] = []
        }

        let state = LockedValue(State())
        let changing = TaskQueue()
        let refreshing = TaskQueue()
    }

    let flaw: Flaw?
    let shared: Shared
    let common: TaskQueue
    let location: String
    private let seen = LockedValue<AuthStateRecord?>(nil)

    init(_ flaw: Flaw?, _ shared: Shared, common: TaskQueue) {
        (self.flaw, self.shared, self.common) = (flaw, shared, common)
        location = flaw == .namesDiffer ? "flawed \(UInt64.random(in: 0...(.max)))" : "flawed"
    }

    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        let lock = flaw == .locksAll ? try await shared.refreshing.refreshLock() : nil
        defer { lock?.release() }
        let record = shared.state.withLock { $0.record }
        if flaw == .isNeverEmpty, shared.state.withLock({ $0.isFresh }) { return try Self.leftover }
        guard flaw == .remembersWhatItRead else { return record }
        return seen.withLock { seen in
            seen = seen ?? record
            return seen
        }
    }

    private static var leftover: AuthStateRecord {
        get throws {
            try AuthStateRecord(
                client: Client(id: "old", provider: ProviderMetadata(issuer: "https://op.example", endpoints: [:])),
                accessToken: nil, refreshToken: nil)
        }
    }

    func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        if flaw == .removesInPreparation { shared.state.withLock { $0.record = nil } }
        return try await load(call)
    }

    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        let turn = flaw == .losesChanges ? nil : try await shared.changing.turn()
        defer { turn?.end() }
        let old = shared.state.withLock { $0.record }
        var record = old
        // Long enough that another caller reads meanwhile, even on a busy machine.
        if flaw == .losesChanges { try await Task.sleep(for: .milliseconds(10)) }
        let result: Result
        do { result = try change(&record) } catch {
            if flaw == .writesBeforeItFails { write(record) }
            throw error
        }
        guard record != old || flaw == .alwaysWrites else { return result }
        if flaw == .keepsWhatIsRemoved, record == nil { return result }
        if flaw == .losesScripts { record = record.map { $0.ascii } }
        if flaw == .cutsLong, let token = record?.refreshToken?.reveal(), token.utf8.count > 60_000 { return result }
        if flaw == .removesBeforeItWrites {
            write(nil)
            for _ in 0..<100 { await Task.yield() }
        }
        write(record)
        return result
    }

    private func write(_ record: AuthStateRecord?) {
        seen.withLock { $0 = nil }
        shared.state.withLock { state in
            (state.record, state.isFresh) = (record, false)
            state.writes += 1
        }
    }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
        switch flaw {
        case .hasOneLockForAll: return try await common.refreshLock()
        case .lendsToAll: return RefreshLock {}
        case .ignoresCancellation:
            let queue = shared.refreshing
            return try await Task { try await queue.refreshLock() }.value
        case .forgetsWaiters:
            let isForgotten = shared.state.withLock { state in
                state.waiters += 1
                return state.waiters == 9
            }
            if isForgotten { try await Task.sleep(for: .seconds(3600)) }
        case .keepsLocks:
            let lock = try await shared.refreshing.refreshLock()
            shared.state.withLock { $0.kept.append(lock) }
            return lock
        case .lendsToTheGone:
            // The waiter that is gone has it next, for ever.
            if shared.state.withLock({ $0.waiters }) > 0 { try await Task.sleep(for: .seconds(3600)) }
            do { return try await shared.refreshing.refreshLock() } catch {
                shared.state.withLock { $0.waiters = 1 }
                throw error
            }
        case .blocks:
            while !Task.isCancelled {
                let isTaken = shared.state.withLock { state in
                    defer { state.waiters = 1 }
                    return state.waiters == 1
                }
                if !isTaken { return RefreshLock { [shared] in shared.state.withLock { $0.waiters = 0 } } }
                usleep(1000)
            }
            throw CancellationError()
        default: break
        }
        return try await shared.refreshing.refreshLock()
    }
}

extension AuthStateRecord {
    fileprivate var ascii: AuthStateRecord {
        var copy = self
        let id = String(client.id.unicodeScalars.filter(\.isASCII).map(Character.init))
        copy.client = Client(id: id, authentication: client.authentication, provider: client.provider)
        return copy
    }
}
