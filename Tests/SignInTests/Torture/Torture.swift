import AppAuthCore
import Foundation
import JOSE
import LocalProvider
import Testing

/// One session, and what is done to it.
final class Torture: Sendable {
    let desk: Desk
    let seed: UInt64

    private struct State {
        var random: SplitMix64
        /// How many token requests there were when the round began.
        var before = 0
        var issued: [String] = []
        var counts: [Accident: Int] = [:]
        var isFine = true
    }

    private let state: Guarded<State>

    /// Signs in.
    init(_ desk: Desk, seed: UInt64) async throws {
        (self.desk, self.seed) = (desk, seed)
        state = Guarded(State(random: SplitMix64(state: seed)))
        _ = try await desk.login().result()
        try note()
    }

    func int(in range: ClosedRange<Int>) -> Int { state.withLock { Int.random(in: range, using: &$0.random) } }
    func any<Element>(_ elements: [Element]) -> Element { elements[int(in: 0...(elements.count - 1))] }

    func token(_ arguments: [String] = [], _ changes: [String: String?] = [:]) throws -> ChildProcess {
        try desk.start(["token", "--json"] + arguments, changes)
    }

    /// The token that a process has printed.
    func printed(_ process: ChildProcess) async throws -> String {
        try #require(try await process.outcome().result()["access_token"]?.string)
    }

    /// How many requests the token endpoint has had since the token expired.
    var newRefreshes: Int { desk.provider.count(.token) - state.withLock { $0.before } }

    /// Every token that was in the store after a round.
    var issued: [String] { state.withLock { $0.issued } }
    var isFine: Bool { state.withLock { $0.isFine } }

    func count(_ accident: Accident) { state.withLock { $0.counts[accident, default: 0] += 1 } }

    /// Takes the rest of its life from the stored access token, as time would.
    func expire() throws {
        let path = try path
        var json = try #require(try JSON(parsing: Array(Data(contentsOf: path))).object)
        var token = try #require(json["accessToken"]?.object)
        token["lifetime"] = 0
        json["accessToken"] = .object(token)
        try Data(JSON.object(json).serialized().utf8).write(to: path, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
        state.withLock { $0.before = desk.provider.count(.token) }
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
        try note()
    }

    func report() {
        let counts = state.withLock { $0.counts }.map { "\($0.key) \($0.value)" }.sorted()
        print(
            "torture: \(counts.joined(separator: ", ")); \(desk.provider.count(.token)) token requests, no session lost"
        )
    }

    private func note() throws {
        let record = try desk.record()
        let tokens = [record.accessToken?.value, record.refreshToken].compactMap { $0?.reveal() }
        state.withLock { $0.issued += tokens }
    }

    private var path: URL {
        get throws { URL(fileURLWithPath: "\(desk.sessions)/\(try #require(desk.stored.first))") }
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
