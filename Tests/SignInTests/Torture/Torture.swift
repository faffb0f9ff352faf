import AppAuthCore
import Foundation
import JOSE
import LocalProvider
import Testing

/// One session, and what is done to it.
final class Torture: Sendable {
    let desk: Desk
    let accidents: Accidents
    let seed: UInt64

    private struct State {
        var random: SplitMix64
        /// How many token requests there were when the round began.
        var before = 0
        /// The access tokens whose time is over.
        var expired: Set<String> = []
        var counts: [Accident: Int] = [:]
        var losses: [Accident: Int] = [:]
        /// Where processes were killed.
        var deaths: [String: Int] = [:]
        var isFine = true
    }

    private let state: Guarded<State>

    /// Signs in.
    init(_ desk: Desk, seed: UInt64) async throws {
        (self.desk, self.seed) = (desk, seed)
        accidents = try await Accidents(desk)
        state = Guarded(State(random: SplitMix64(state: seed)))
        _ = try await desk.login().result()
    }

    func int(in range: ClosedRange<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.random) } }
    func any<Element>(_ elements: [Element]) -> Element { elements[int(in: 0...(elements.count - 1))] }

    /// So that no process gives up because the machine is busy.
    static let limit = ["--timeout", "120"]

    func token(_ arguments: [String] = [], _ changes: [String: String?] = [:]) throws -> ChildProcess {
        let limit = arguments.contains("--timeout") ? [] : Self.limit
        return try desk.start(["token", "--json"] + limit + arguments, changes)
    }

    /// How a process that wanted a token has ended. Nobody is handed a token whose time is over, or that the provider does
    /// not honour any more: at this provider a refresh does not end the tokens before it, so what was good when it was
    /// printed still is.
    func outcome(of process: ChildProcess) async throws -> Outcome {
        let outcome = try await process.outcome()
        guard outcome.status == 0 else { return outcome }
        let token = try #require(try outcome.json()["access_token"]?.string)
        #expect(desk.provider.isAlive(token), "the provider does not know what was printed")
        #expect(!state.withLock { $0.expired.contains(token) }, "an expired token was printed")
        return outcome
    }

    /// The token that a process has printed.
    func printed(_ process: ChildProcess) async throws -> String {
        try #require(try await outcome(of: process).result()["access_token"]?.string)
    }

    /// How many requests the token endpoint has had since the token expired.
    var newRefreshes: Int { desk.provider.count(.token) - state.withLock { $0.before } }

    var isFine: Bool { state.withLock { $0.isFine } }

    /// Lets the token expire and something happen; somebody who comes afterwards finds everything in order.
    func round(_ accident: Accident, _ name: String) async throws {
        let name = "\(name): \(accident), seed \(seed)"
        state.withLock { $0.counts[accident, default: 0] += 1 }
        try expire()
        let inVain = try await play(accident)
        _ = try await printed(token())
        // One refresh for each expiry, and one more for each that came to nothing.
        #expect(newRefreshes <= inVain + 1, "\(name)")
        try check(name)
        // What comes later and still has an older refresh token would end the session.
        desk.provider.endGracePeriods()
    }

    /// Takes the rest of its life from the stored access token.
    func expire() throws {
        let token = try #require(try desk.record().accessToken).value.reveal()
        try desk.expire()
        state.withLock { state in
            state.before = desk.provider.count(.token)
            state.expired.insert(token)
        }
    }

    /// What holds after every round.
    func check(_ round: String = "") throws {
        let record = try desk.record()
        #expect(record.end == nil, "\(round)")
        #expect(record.presented == nil && record.trouble == nil, "\(round)")
        let token = try #require(record.accessToken).value.reveal()
        let refreshToken = try #require(record.refreshToken).reveal()
        #expect(desk.provider.isAlive(token) && desk.provider.isAlive(refreshToken), "\(round)")
        // Nothing is left behind but the lock.
        let names = try FileManager.default.contentsOfDirectory(atPath: desk.sessions)
        #expect(names.count == 2 && names.contains { $0.hasSuffix(".json.lock") }, "\(round): \(names)")
        state.withLock { $0.isFine = record.end == nil && names.count == 2 }
    }

    /// Counts a session that was lost where no client could have kept it.
    func countLoss(_ accident: Accident) { state.withLock { $0.losses[accident, default: 0] += 1 } }

    func countDeath(_ point: String) { state.withLock { $0.deaths[point, default: 0] += 1 } }

    func report() {
        let (counts, losses, deaths) = state.withLock { ($0.counts, $0.losses, $0.deaths) }
        func list(_ counts: [some Hashable: Int]) -> String {
            counts.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        }
        if !counts.isEmpty {
            print("torture: \(list(counts)); \(desk.provider.count(.token)) token requests, no session lost")
        }
        if !deaths.isEmpty { print("torture: killed at \(list(deaths))") }
        let count = losses.values.reduce(0, +)
        if count > 0 { print("torture: \(count) sessions that no client can keep: \(list(losses))") }
    }
}

/// A generator that gives the same numbers for the same seed.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
