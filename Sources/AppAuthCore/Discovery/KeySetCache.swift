package import FoundationEssentials
internal import JOSE
internal import Logging

/// A provider's keys, fetched when they are first needed and kept for as long as their Cache-Control says.
///
/// Callers that ask at the same time share one request. A forced refetch, for a key that is not in the set, is made at
/// most once a minute, so that tokens with made-up key ids cannot make us hammer the provider.
package final class KeySetCache: Sendable {
    /// A key set with its times, as the stored record keeps it.
    package struct Entry: Codable, Sendable, Hashable {
        package let document: JSON
        package let expires: Date
    }

    private struct State {
        var entry: Entry?
        var keys: KeySet?
        var lastForced = Date.distantPast
    }

    private let url: SecureURL
    private let environment: Environment
    private let state: Guarded<State>
    private let flight = SingleFlight<KeySet>()

    private static let forcedInterval: TimeInterval = 60

    package init(url: SecureURL, environment: Environment, entry: Entry? = nil) {
        (self.url, self.environment) = (url, environment)
        state = Guarded(State(entry: entry, keys: entry.flatMap { try? KeySet($0.document) }))
    }

    /// What a record stores, so that a later process need not ask.
    package var entry: Entry? { state.withLock { $0.entry } }

    /// The keys, from memory where they have not expired.
    package func keys() async throws -> KeySet {
        let now = environment.now()
        let cached: KeySet? = state.withLock { state in
            guard let entry = state.entry, now < entry.expires else { return nil }
            return state.keys
        }
        if let cached { return cached }
        return try await flight.run { [self] in try await fetch() }
    }

    /// The keys fetched anew, or nil if that was done less than a minute ago.
    package func refetch() async throws -> KeySet? {
        let now = environment.now()
        let isAllowed = state.withLock { state in
            guard abs(now.timeIntervalSince(state.lastForced)) >= Self.forcedInterval else { return false }
            state.lastForced = now
            return true
        }
        guard isAllowed else { return nil }
        environment.logger.info("keys: fetched again for a key that is not among them")
        return try await flight.run { [self] in try await fetch() }
    }

    private func fetch() async throws -> KeySet {
        let (json, lifetime) = try await environment.document(at: url, stage: .keys)
        let keys = try KeySet(json)
        let entry = Entry(document: json, expires: environment.now() + lifetime.seconds)
        state.withLock { ($0.entry, $0.keys) = (entry, keys) }
        return keys
    }
}
