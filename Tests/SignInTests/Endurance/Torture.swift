import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// One session, and the faults that befall it.
final class Torture: Sendable {
    let fixture: CommandFixture
    let injector: FaultInjector
    let seed: UInt64

    private struct State {
        var random: SplitMix64
        /// How many token requests there were when the round began.
        var before = 0
        /// The access tokens whose time is over.
        var expired: Set<String> = []
        var counts: [TortureFault: Int] = [:]
        var losses: [TortureFault: Int] = [:]
        /// Where processes were killed.
        var deaths: [String: Int] = [:]
        var isFine = true
    }

    private let state: LockedValue<State>

    /// Signs in.
    init(_ fixture: CommandFixture, seed: UInt64) async throws {
        (self.fixture, self.seed) = (fixture, seed)
        injector = try await FaultInjector(fixture)
        state = LockedValue(State(random: SplitMix64(state: seed)))
        _ = try await fixture.login().result()
    }

    func int(in range: ClosedRange<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.random) } }
    func any<Element>(_ elements: [Element]) -> Element { elements[int(in: 0...(elements.count - 1))] }

    /// So that no process gives up because the machine is busy.
    static let limit = ["--timeout", "120"]

    func token(_ arguments: [String] = [], _ changes: [String: String?] = [:]) throws -> ChildProcess {
        let limit = arguments.contains("--timeout") ? [] : Self.limit
        return try fixture.start(["token", "--json"] + limit + arguments, changes)
    }

    /// Returns the outcome of a process that requested a token, and checks that the provider still accepts a printed
    /// token. At this provider a refresh does not end earlier tokens, so a token that was valid when it was printed
    /// still is.
    func outcome(of process: ChildProcess) async throws -> Outcome {
        let outcome = try await process.outcome()
        guard outcome.status == 0 else { return outcome }
        let token = try #require(try outcome.json()["access_token"]?.string)
        #expect(fixture.provider.isAlive(token), "the provider does not know what was printed")
        #expect(!state.withLock { $0.expired.contains(token) }, "an expired token was printed")
        return outcome
    }

    /// The token that a process has printed.
    func printed(_ process: ChildProcess) async throws -> String {
        try #require(try await outcome(of: process).result()["access_token"]?.string)
    }

    /// How many requests the token endpoint has had since the token expired.
    var newRefreshes: Int { fixture.provider.count(.token) - state.withLock { $0.before } }

    var isFine: Bool { state.withLock { $0.isFine } }

    /// Lets the token expire and a fault happen; a later caller finds everything in order.
    func round(_ fault: TortureFault, _ name: String) async throws {
        let name = "\(name): \(fault), seed \(seed)"
        state.withLock { $0.counts[fault, default: 0] += 1 }
        try expire()
        let inVain = try await play(fault)
        _ = try await printed(token())
        // One refresh for each expiry, and one more for each that came to nothing.
        #expect(newRefreshes <= inVain + 1, "\(name)")
        try check(name)
        // From here on, a request with an older refresh token would end the session.
        fixture.provider.endGracePeriods()
    }

    /// Takes the rest of its life from the stored access token.
    func expire() throws {
        let token = try #require(try fixture.record().accessToken).value.reveal()
        try fixture.expire()
        state.withLock { state in
            state.before = fixture.provider.count(.token)
            state.expired.insert(token)
        }
    }

    /// The invariants after every round.
    func check(_ round: String = "") throws {
        let record = try fixture.record()
        #expect(record.end == nil, "\(round)")
        #expect(record.backoff == nil, "\(round)")
        let token = try #require(record.accessToken).value.reveal()
        let refreshToken = try #require(record.refreshToken).reveal()
        #expect(fixture.provider.isAlive(token) && fixture.provider.isAlive(refreshToken), "\(round)")
        // Nothing is left behind but the lock.
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions)
        #expect(names.count == 2 && names.contains { $0.hasSuffix(".json.lock") }, "\(round): \(names)")
        state.withLock { $0.isFine = record.end == nil && names.count == 2 }
    }

    /// Counts a session that was lost where no client could have kept it.
    func countLoss(_ fault: TortureFault) { state.withLock { $0.losses[fault, default: 0] += 1 } }

    func countDeath(_ point: String) { state.withLock { $0.deaths[point, default: 0] += 1 } }

    func report() {
        let (counts, losses, deaths) = state.withLock { ($0.counts, $0.losses, $0.deaths) }
        func list(_ counts: [some Hashable: Int]) -> String {
            counts.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        }
        if !counts.isEmpty {
            print("torture: \(list(counts)); \(fixture.provider.count(.token)) token requests, no session lost")
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
