internal import AppAuthConcurrency
internal import JOSE
internal import Logging

/// A provider's keys, fetched when they are first needed and kept for the time that their Cache-Control says.
///
/// Callers that ask at the same time share one request. If a key is not in the set, the keys are fetched again, but at
/// most once a minute: tokens with made-up key IDs must not cause a flood of requests to the provider.
package final class KeySetCache: Sendable {
    /// A key set with its validity, as the stored record keeps it.
    package struct Entry: Sendable, Hashable {
        package let document: JSON
        package let term: Term

        package init(document: JSON, term: Term) { (self.document, self.term) = (document, term) }
    }

    private struct State {
        var entry: Entry?
        var lastForced: Term?
        /// Created when first needed: parsing takes longer than everything else that restoring a session does.
        lazy var keys: KeySet? = entry.flatMap { try? KeySet($0.document) }
    }

    private let url: SecureURL
    private let environment: Environment
    private let state: LockedValue<State>
    private let flight = SingleFlight<KeySet>()

    private static let forcedInterval: Duration = .seconds(60)

    package init(url: SecureURL, environment: Environment, entry: Entry? = nil) {
        (self.url, self.environment) = (url, environment)
        state = LockedValue(State(entry: entry))
    }

    /// The part that a record stores, so that a later process need not fetch the keys.
    package var entry: Entry? { state.withLock { $0.entry } }

    /// Adopts the keys that another process has stored, if it fetched them later than this one.
    package func adopt(_ stored: Entry) {
        state.withLock { state in
            let age = state.entry?.term.begin.elapsed(until: stored.term.begin)
            if state.entry == nil || age ?? .zero > .zero { state = State(entry: stored, lastForced: state.lastForced) }
        }
    }

    /// Returns the keys, from memory if they have not expired.
    package func keys() async throws -> KeySet {
        if let cached { return cached }
        return try await flight.run { [self] in
            // A fetch that ended before this caller could join it may have stored the keys.
            if let cached { return cached }
            return try await fetch()
        }
    }

    /// Fetches the keys again. Returns nil if that was done less than a minute ago.
    package func refetch() async throws -> KeySet? {
        guard mayForce else { return nil }
        return try await flight.run { [self] in
            if !mayForce, let cached { return cached }
            environment.logger.info("keys: fetched again for a key that is not among them")
            // Set at the end, so that callers meanwhile share this fetch.
            defer { state.withLock { $0.lastForced = Term(from: environment.now(), for: Self.forcedInterval) } }
            return try await fetch()
        }
    }

    /// The number of callers that wait for the current request.
    package var waitingCount: Int { flight.waitingCount }

    /// The keys in memory, if they have not expired.
    var cached: KeySet? {
        let now = environment.now()
        return state.withLock { state in
            guard let entry = state.entry, !entry.term.isOver(at: now) else { return nil }
            return state.keys
        }
    }

    private var mayForce: Bool {
        let now = environment.now()
        return state.withLock { $0.lastForced?.isOver(at: now) ?? true }
    }

    private func fetch() async throws -> KeySet {
        let (json, lifetime) = try await environment.document(at: url, stage: .keys)
        let keys = try KeySet(json)
        let entry = Entry(document: json, term: Term(from: environment.now(), for: lifetime))
        state.withLock { ($0.entry, $0.keys) = (entry, keys) }
        return keys
    }
}
