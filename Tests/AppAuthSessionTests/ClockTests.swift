import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import TestFixtures
import Testing

/// A wall clock that is wrong, or is set, and a machine that sleeps or starts anew.
struct ClockTests {
    @Test(arguments: [-31_536_000, -3600, 3600, 31_536_000] as [Double])
    func `a clock that is set makes at most one refresh, and keeps none from being made`(step: Double) async throws {
        var configuration = LocalProvider.Configuration.demo
        // An ID token, by whose times a year is too much.
        configuration.sendsIDTokenOnRefresh = false
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            let first = try await state.freshAccessToken()
            world.clock.step(by: step)
            // Forward, the machine may have stood still meanwhile.
            let kept = try await state.freshAccessToken()
            #expect((kept == first) == (step < 0))
            #expect(try await state.freshAccessToken() == kept)
            world.clock.advance(by: 3541)
            let second = try await state.freshAccessToken()
            #expect(second.value != kept.value)
            #expect(second.received == world.clock.timestamp)
            #expect(world.provider.count(.token) == (step < 0 ? 2 : 3))
        }
    }

    @Test(arguments: [-86_399, -3600, 3600, 86_399] as [Double])
    func `a clock that is wrong by a day or less prevents neither sign-in nor refresh`(
        skew: Double
    ) async throws {
        try await World.run(providerAhead: skew) { world in
            let state = try await world.signIn()
            _ = try await state.freshAccessToken(forceRefresh: true)
            let token = try #require(await state.record.accessToken)
            // Other programs compare it with the clock of this machine.
            #expect(token.expiresAt == world.clock.now + 3600)
            #expect(!token.isExpired(at: world.clock.timestamp))
        }
    }

    @Test(arguments: [-90_000, 90_000, 31_536_000] as [Double])
    func `a clock that is wrong by more is an error that says by how much`(skew: Double) async throws {
        try await World.run(providerAhead: skew) { world in
            let error = try #require(await authError { try await world.signIn() })
            #expect(error.code == .clockSkew)
            let direction = skew > 0 ? "ahead of" : "behind"
            #expect(error.message.contains("the provider’s clock is \(Int(abs(skew))) s \(direction) this computer’s"))
        }
    }

    @Test func `a local clock that was set between two refreshes is detected`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.step(by: -7200)
            _ = try await state.freshAccessToken(forceRefresh: true)
            world.clock.advance(by: 1)
            world.clock.step(by: -31_536_000)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let error = try #require(await state.record.idTokenError(at: world.clock.timestamp))
            #expect(error.code == .clockSkew && error.isTemporary)
            #expect(error.message.contains("31543200 s ahead of"))
            world.clock.step(by: 31_536_000)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
        }
    }

    @Test(arguments: [(0, 1), (-86_400, 2), (-86_400 * 365 * 20, 2)] as [(Double, Int)])
    func `after a restart a token is used on if the clock makes sense, and refreshed if not`(
        step: Double, requests: Int
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.sendsIDTokenOnRefresh = false
        try await World.run(configuration) { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            world.clock.restart(after: 300, step: step)
            let state = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == requests)
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == requests)
        }
    }

    @Test func `without a refresh token a clock that went back is no reason to sign in again`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(scope: [.openID], store: store)
            world.clock.restart(after: 300, step: -1e8)
            let state = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await state.freshAccessToken()
        }
    }
}

struct HTTPDateTests {
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Fri, 01 Mar 2097 00:00:00 GMT", 4_012_934_400),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Wednesday, 31-Dec-69 23:59:59 GMT", -1), ("Wed Nov 16 00:00:00 1994", 784_944_000),
            ("Tue Feb 29 23:59:59 2000", 951_868_799), ("Thu, 31 Jul 2025 00:00:00 GMT", 1_753_920_000),
        ] as [(String, Double)])
    func `each of the three forms is read (RFC 9110 §5.6.7)`(text: String, seconds: Double) {
        let now = Date(timeIntervalSince1970: 1_000_000_000)
        #expect(Date(httpDate: text, now: now)?.timeIntervalSince1970 == seconds)
    }

    // RFC 9110 §5.6.7: more than 50 years ahead means the latest past year with the same digits.
    @Test(
        arguments: [
            ("Wednesday, 01-Jan-76 00:00:00 GMT", 3_345_062_400), ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
            ("Friday, 01-Jan-77 00:00:00 GMT", nil), ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
        ] as [(String, Double?)])
    func `a year of two digits is in the century that now says`(text: String, seconds: Double?) {
        let now = Date(timeIntervalSince1970: 1_782_864_000)
        #expect(Date(httpDate: text, now: now)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "Sun, 06 Nov 1994 08:49:37 UTC", "Sat, 06 Nov 1994 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sun 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 0000 08:49:37 GMT",
        "Mon, 06 Nov 0000 08:49:37 GMT",
        "Fri, 31 Feb 2025 00:00:00 GMT", "Mon, 31 Feb 2025 00:00:00 GMT", "Sat, 29 Feb 2025 00:00:00 GMT",
        "Fri, 29 Feb 2097 00:00:00 GMT", "Thu, 31 Apr 2025 00:00:00 GMT", "Thu, 32 Jan 2025 00:00:00 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Monday, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37", "Sunday, 06-11-94 08:49:37 GMT", "Sunday, 06-Nov-94-08 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov  06 08:49:37 1994", "Mon Nov  6 08:49:37 1994",
        "Sunday Nov  6 08:49:37 1994", "Sun, Nov  6 08:49:37 1994", "Sun Nov  6 08:49:37 94",
        "Sun Nov  6 08:49:37 GMT 1994",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:3７ GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun,  06 Nov 1994 08:49:37 GMT",
    ])
    func `anything else is no date`(text: String) {
        #expect(Date(httpDate: text) == nil)
    }
}
