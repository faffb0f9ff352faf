import AppAuth
import Foundation
import JOSE
import SignInTool
import Testing

/// When `sign-in watch` refreshes a session, and when it says something.
struct WatchScheduleTests {
    private static let begin = Timestamp(
        wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(1000), boot: "a boot")

    private static func after(_ seconds: Int) -> Timestamp {
        Timestamp(
            wall: begin.wall + Double(seconds), sinceBoot: begin.sinceBoot + .seconds(seconds), boot: begin.boot)
    }

    private func record(
        lifetime: Int? = 3600, refreshToken: Secret? = Secret("rt"), _ members: JSON.Object = [:]
    ) throws -> AuthStateRecord {
        let issuer = "https://accounts.example.org"
        let provider = try ProviderMetadata(issuer: Issuer(issuer), endpoints: [.token: issuer + "/token"])
        let token = AccessToken(
            value: Secret("at"), received: Self.begin, lifetime: lifetime.map { .seconds($0) })
        let record = try AuthStateRecord(
            client: Client(id: "app", authentication: .none, provider: provider), accessToken: token,
            refreshToken: refreshToken)
        var json = try #require(try JSON(parsing: record.encoded()).object)
        for member in members.members { json[member.name] = member.value }
        return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "a test")
    }

    /// A term from the begin, as it is stored.
    private func term(_ seconds: Int) -> JSON {
        [
            "begin": ["wall": 1_750_000_000, "sinceBoot": 1000, "boot": "a boot"],
            "length": .number(.init(seconds)),
        ]
    }

    private func ended() throws -> AuthStateRecord {
        try record(["end": ["reason": "revoked", "date": 1_750_000_000]])
    }

    /// The seconds at which the schedule says something, if it is asked whenever it wants to be, for ten days.
    private func reminders(_ schedule: WatchSchedule) -> [Int] {
        var (schedule, seconds, told) = (schedule, 0, [Int]())
        while seconds < 864_000 {
            if schedule.remind(at: Self.after(seconds)) != nil { told.append(seconds) }
            guard let delay = schedule.delay(at: Self.after(seconds)) else { break }
            seconds += max(1, Int(delay.seconds.rounded(.up)))
        }
        return told
    }

    @Test(arguments: [(3600, 0.0, 3540), (3600, 1, 3240), (3600, 0.5, 3390), (100, 0, 95), (100, 1, 90)])
    func `a token is refreshed at some moment in the last tenth of its lifetime`(
        lifetime: Int, random: Double, due: Int
    ) throws {
        let schedule = WatchSchedule(try record(lifetime: lifetime)) { random }
        #expect(schedule.timeToRefresh(at: Self.begin) == .seconds(due))
        #expect(schedule.timeToRefresh(at: Self.after(due - 1)) == .seconds(1))
        #expect(schedule.timeToRefresh(at: Self.after(lifetime * 2)) == .zero)
        #expect(schedule.delay(at: Self.begin) == .seconds(due))
        // A token that satisfies this is a new one.
        #expect(schedule.validityOfNewToken(at: Self.after(due)) == .seconds(lifetime - due + 1))
    }

    /// A paused virtual machine: the wall clock goes on, and the time since boot has stood still.
    @Test func `a machine that stood still refreshes at once`() throws {
        let schedule = WatchSchedule(try record()) { 0.5 }
        let later = Timestamp(
            wall: Self.begin.wall + 7200, sinceBoot: Self.begin.sinceBoot + .seconds(60), boot: Self.begin.boot)
        #expect(schedule.timeToRefresh(at: later) == .zero)
        #expect(schedule.validityOfNewToken(at: later) == .seconds(1))
    }

    @Test func `a session that cannot be refreshed is not`() throws {
        #expect(WatchSchedule(try record(refreshToken: nil)).timeToRefresh(at: Self.after(3600)) == nil)
        #expect(WatchSchedule(try ended()).timeToRefresh(at: Self.after(3600)) == nil)
        #expect(WatchSchedule(try record(lifetime: nil)).delay(at: Self.after(3600)) == nil)
    }

    @Test func `a refresh token is used before it expires unused`() throws {
        let announced: JSON.Object = ["since": 1_750_000_000, "unused": term(1000)]
        let schedule = WatchSchedule(try record(["announced": .object(announced)])) { 1 }
        #expect(schedule.timeToRefresh(at: Self.begin) == .seconds(700))
    }

    @Test func `a token for one use is not refreshed, and no announcement leads to refreshes in a row`() throws {
        #expect(WatchSchedule(try record(lifetime: 0)).timeToRefresh(at: Self.after(1)) == nil)
        let announced: JSON.Object = ["since": 1_750_000_000, "unused": term(10)]
        let schedule = WatchSchedule(try record(lifetime: nil, ["announced": .object(announced)]))
        #expect(schedule.timeToRefresh(at: Self.after(10)) == .seconds(20))
        #expect(schedule.timeToRefresh(at: Self.after(31)) == .zero)
    }

    @Test func `a provider that refuses every refresh is asked again, but rarely`() throws {
        let error = AuthError(.signInRequired, .refresh, "refused twice", outcome: .refused)
        var schedule = WatchSchedule(try record()) { 0 }
        for (seconds, pause) in [(3600, 900), (4500, 900), (40_000, 9100), (200_000, 21_600)] {
            schedule.fail(error, at: Self.after(seconds))
            #expect(schedule.timeToRefresh(at: Self.after(seconds)) == .seconds(pause))
        }
    }

    @Test func `the user is told of an end four times`() throws {
        #expect(reminders(WatchSchedule(try ended())) == [0, 900, 3600, 86_400])
    }

    @Test func `after a night's sleep the user is told once, and no more after another sign-in`() throws {
        var schedule = WatchSchedule(try ended())
        #expect(schedule.remind(at: Self.begin)?.number == 1)
        #expect(schedule.remind(at: Self.after(30_000))?.number == 3)
        #expect(schedule.remind(at: Self.after(30_001)) == nil)
        schedule.update(try record())
        #expect(schedule.remind(at: Self.after(90_000)) == nil)
        schedule.update(try ended())
        #expect(schedule.remind(at: Self.after(90_001))?.number == 1)
    }

    @Test func `an expired token without a refresh token is an end`() throws {
        #expect(reminders(WatchSchedule(try record(refreshToken: nil))) == [3600, 4500, 7200, 90_000])
    }

    @Test(arguments: [(30, 27), (8, 6), (1, nil)] as [(Int, Int?)])
    func `an announced end is told once, three days before or in the last quarter`(days: Int, due: Int?) throws {
        let announced: JSON.Object = ["since": 1_750_000_000, "authorization": term(days * 86_400)]
        // Without a lifetime, so that only the end is in the schedule.
        let schedule = WatchSchedule(try record(lifetime: nil, ["announced": .object(announced)]))
        var told = schedule
        #expect(told.remind(at: Self.after((due ?? 0) * 86_400 - 1)) == nil)
        let first = told.remind(at: Self.after((due.map { $0 * 86_400 }) ?? 64_800))
        #expect(first?.need == .signInBefore(Self.begin.wall + Double(days * 86_400)))
        if days == 8 { #expect(reminders(schedule) == [6 * 86_400]) }
    }

    @Test func `an outage of an hour is told once, and a shorter one not`() throws {
        let error = AuthError(.transport, .refresh, "no route to host", outcome: .notSent, isTemporary: true)
        var schedule = WatchSchedule(try record())
        schedule.fail(error, at: Self.begin)
        #expect(schedule.remind(at: Self.after(3599)) == nil)
        schedule.fail(error, at: Self.after(3599))
        #expect(schedule.remind(at: Self.after(3600))?.need == .refreshFails(reason: "no route to host"))
        #expect(schedule.remind(at: Self.after(100_000)) == nil)
        // A new token ends the outage.
        schedule.update(try record(lifetime: 7200))
        #expect(schedule.need(at: Self.after(3600)) == nil)
    }

    @Test func `the pauses of an outage grow to a quarter of an hour`() throws {
        let error = AuthError(.transport, .refresh, "no route to host", outcome: .notSent, isTemporary: true)
        var schedule = WatchSchedule(try record()) { 0 }
        var pauses: [Duration] = []
        for seconds in [3600, 3610, 3700, 90_000] {
            schedule.fail(error, at: Self.after(seconds))
            pauses.append(try #require(schedule.timeToRefresh(at: Self.after(seconds))))
        }
        #expect(pauses == [.seconds(10), .seconds(10), .seconds(25), .seconds(900)])
    }
}
