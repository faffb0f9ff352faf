import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import Testing

/// A session on its way between a file and a real GNOME Keyring, used from both ends, at a provider that sends no second
/// response: a copy that is left behind and used would end it.
///
/// `APPAUTH_TORTURE_SEED` repeats a run, `APPAUTH_TORTURE_ROUNDS` makes it longer.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TwoStoresEnduranceTests {
    @Test func `a session that is moved while it is used, and by processes that die, is never in two locations`()
        async throws
    {
        let seed = UInt64.torture
        let rounds = ProcessInfo.processInfo.environment["APPAUTH_TORTURE_ROUNDS"].flatMap(Int.init) ?? 20
        print("torture: \(rounds) rounds with two stores, APPAUTH_TORTURE_SEED=\(seed)")
        var random = SplitMix64(state: seed)
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                let stores = TwoStores(fixture: fixture, bus: bus)
                try await stores.login()
                var (moves, deaths) = (0, 0)
                for round in 1...rounds {
                    let name = "round \(round), seed \(seed)"
                    let counts = try await play(stores, name, &random)
                    (moves, deaths) = (moves + counts.moves, deaths + counts.deaths)
                }
                print("torture: two stores, \(moves) moves, \(deaths) movers killed, no session lost")
            }
        }
    }

    private func play(
        _ stores: TwoStores, _ round: String, _ random: inout SplitMix64
    ) async throws -> (moves: Int, deaths: Int) {
        let fixture = stores.fixture
        let start = try await stores.home()
        try await stores.expire(in: start.location)
        let old = try #require(start.record.accessToken).value.reveal()
        let before = fixture.provider.count(.token)

        var (movers, users): ([ChildProcess], [ChildProcess]) = ([], [])
        // Most go where the session is not, some against them.
        let ways = [start.location.other, start.location.other, start.location].prefix(
            Int.random(in: 1...3, using: &random))
        var tasks: [() throws -> Void] = ways.map { location in
            let end = Bool.random(using: &random) ? Int.random(in: 0...3, using: &random) : nil
            return { movers.append(try stores.mover(to: location, dyingAfter: end)) }
        }
        let starts: [() throws -> Void] = [TwoStores.Place.file, .file, .keyring, .keyring].map { location in
            return { users.append(try stores.token(from: location)) }
        }
        // At the same time, or by processes that find the remains of the movers.
        let isAfterwards = Bool.random(using: &random)
        if !isAfterwards { tasks += starts }
        for task in tasks.shuffled(using: &random) { try task() }

        var counts = (moves: 0, deaths: 0)
        for mover in movers {
            let outcome = try await mover.outcome()
            guard outcome.status != 128 + SIGKILL else {
                counts.deaths += 1
                continue
            }
            let found = try outcome.result()
            if found["moved"] == true { counts.moves += 1 }
            #expect(found["moved"]?.bool != nil || found["code"]?.string == "store", "\(round): \(outcome)")
        }
        if isAfterwards { for start in starts.shuffled(using: &random) { try start() } }
        for user in users {
            let outcome = try await user.outcome()
            let json = try outcome.json()
            if outcome.status == 0 {
                let token = try #require(json["access_token"]?.string)
                #expect(token != old && fixture.provider.isAlive(token), "\(round): a dead token was printed")
            } else {
                // It is not there, or not yet.
                let code = json["error"]?["code"]?.string
                #expect(["store", "sign_in_required"].contains(code), "\(round): \(outcome)")
            }
        }
        #expect(fixture.provider.count(.token) <= before + 1, "\(round)")

        try await stores.checkCopies(round)
        try await stores.finish()
        let end = try await stores.home()
        #expect(end.record.id == start.record.id && end.record.end == nil && end.record.move == nil, "\(round)")
        #expect(fixture.provider.isAlive(try #require(end.record.refreshToken).reveal()), "\(round)")
        let last = try await stores.token(from: end.location).outcome().result()
        let token = try #require(last["access_token"]?.string)
        #expect(token != old && fixture.provider.isAlive(token), "\(round)")
        // One refresh for the token that expired, wherever it was made.
        #expect(fixture.provider.count(.token) == before + 1, "\(round)")
        return counts
    }
}
