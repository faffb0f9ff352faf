import AppAuthProtocol
import Foundation
import Testing

/// When a token is refreshed: 60 s before its end, at most a tenth of its lifetime, or as a caller needs.
struct FreshnessTests {
    private let start = Timestamp(
        wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(5000), boot: "first")

    @Test(arguments: [
        (3600, 3540, true), (3600, 3541, false), (600, 540, true), (600, 541, false), (60, 54, true), (60, 55, false),
        (10, 9, true), (10, 10, false), (1, 0, true), (0, 0, false),
    ])
    func `a token is fresh until 60 s, or a tenth of its lifetime, before its end`(
        lifetime: Double, age: Double, isFresh: Bool
    ) {
        #expect(token(lifetime).isFresh(at: after(age)) == isFresh)
    }

    @Test(
        arguments: [(3600, nil, 3540), (10, nil, 9), (3600, 600, 600), (3600, 0, 360), (3600, 9999, 3540)]
            as [(Double, Int?, Double)])
    func `the time to the refresh ends when the token is no longer fresh`(
        lifetime: Double, refreshIn: Int?, due: Double
    ) {
        let token = AccessToken(
            value: Secret("t"), type: .bearer, received: start, lifetime: .seconds(lifetime),
            refreshIn: refreshIn.map { .seconds($0) }, serverDate: nil)
        #expect(token.timeToRefresh(at: after(due - 1)) == .seconds(1))
        #expect(token.isFresh(at: after(due - 1)) && !token.isFresh(at: after(due + 0.001)))
        #expect(token.timeToRefresh(at: after(lifetime + 1)) == .zero)
    }

    @Test(arguments: [
        (0, 3599, true), (0, 3600, false), (1, 3599, true), (1800, 1800, true), (1800, 1801, false), (3601, 0, false),
    ])
    func `a caller names the validity that it needs`(minimum: Int, age: Double, isFresh: Bool) {
        #expect(token(3600).isFresh(at: after(age), minimumValidity: .seconds(minimum)) == isFresh)
    }

    @Test(
        arguments: [
            (600, 599, true), (600, 600, false), (3600, 3540, true), (3600, 3541, false), (9999, 3541, false),
            // Never in the first tenth of the lifetime: a server that says 0 must not be asked at each call.
            (0, 359, true), (0, 360, false), (nil, 3540, true),
        ] as [(Int?, Double, Bool)])
    func `a token is fresh until the server wants it to be refreshed`(refreshIn: Int?, age: Double, isFresh: Bool) {
        let token = AccessToken(
            value: Secret("a"), type: .bearer, received: start, lifetime: .seconds(3600),
            refreshIn: refreshIn.map { .seconds($0) }, serverDate: nil)
        #expect(token.isFresh(at: after(age)) == isFresh)
        // What a caller requires counts alone.
        #expect(token.isFresh(at: after(age), minimumValidity: .zero))
    }

    @Test func `a token without an end is always fresh`() {
        #expect(token(nil).isFresh(at: after(1e9), minimumValidity: .seconds(1e9)))
        #expect(!token(nil).isExpired(at: after(1e9)))
    }

    @Test func `a token expires at its end`() {
        #expect(!token(60).isExpired(at: after(59)))
        #expect(token(60).isExpired(at: after(60)))
    }

    @Test(arguments: [-31_536_000, -7200, 60, 7200, 31_536_000] as [Double])
    func `a wall clock that is set ends no token, and makes it no younger`(step: Double) {
        #expect(token(3600).isFresh(at: after(3540, step: step)) == (step <= 60))
        #expect(!token(3600).isFresh(at: after(3541, step: step)))
        #expect(!token(3600).isExpired(at: after(3599, step: step)))
        #expect(token(3600).isExpired(at: after(3600, step: step)))
    }

    /// A paused virtual machine: the wall clock is set when it goes on, and the time since boot has stood still.
    @Test func `a token is stale if the machine stood still, but not if its clock was wrong at receipt`() {
        func token(_ skew: Double) -> AccessToken {
            AccessToken(
                value: Secret("a"), type: .bearer, received: start, lifetime: .seconds(3600),
                serverDate: start.wall + skew)
        }
        #expect(!token(0).isFresh(at: after(10, step: 7200)))
        #expect(token(0).timeToRefresh(at: after(10, step: 7200)) == .zero)
        #expect(!token(0).isFresh(at: after(10, step: 7200), minimumValidity: .seconds(600)))
        #expect(!token(0).isExpired(at: after(10, step: 7200)))
        #expect(token(0).validity(at: after(10, step: 7200)) == .zero)
        // Where nothing can be refreshed.
        #expect(token(0).lasts(.seconds(3590), at: after(10, step: 7200)))
        #expect(!token(0).lasts(.seconds(3591), at: after(10, step: 7200)))
        // Without a battery, the clock began at 1970, and was set afterwards.
        #expect(token(7200).isFresh(at: after(10, step: 7200)))
    }

    @Test func `in a time namespace, whose time since boot is behind, the wall clock counts`() {
        #expect(token(3600).isFresh(at: after(-5000, step: 5000 + 3540)))
        #expect(!token(3600).isFresh(at: after(-5000, step: 5000 + 3541)))
        #expect(token(3600).isExpired(at: after(-5000, step: 5000 + 3600)))
    }

    @Test func `after a restart the wall clock counts, and a clock that went back makes a token stale, not expired`() {
        #expect(token(3600).isFresh(at: after(3540, boot: "second")))
        #expect(!token(3600).isFresh(at: after(3541, boot: "second")))
        #expect(token(3600).isExpired(at: after(3600, boot: "second")))
        #expect(token(3600).isFresh(at: after(0, step: -60, boot: "second")))
        #expect(!token(3600).isFresh(at: after(0, step: -61, boot: "second")))
        #expect(!token(3600).isExpired(at: after(0, step: -61, boot: "second")))
    }

    @Test func `after a restart a token is as old as the server's date says, if that is older`() {
        func token(_ skew: Double) -> AccessToken {
            AccessToken(
                value: Secret("a"), type: .bearer, received: start, lifetime: .seconds(3600),
                serverDate: start.wall + skew)
        }
        // The clock was an hour ahead when the token came, and is right now.
        #expect(!token(-3600).isFresh(at: after(100, boot: "second")))
        #expect(token(-3600).isFresh(at: after(100)))
        #expect(token(3600).isFresh(at: after(100, boot: "second")))
    }

    @Test(arguments: [-3600, 0, 3600] as [Double])
    func `where no boot has a name, a wrong wall clock makes a token neither older nor younger`(skew: Double) {
        let start = Timestamp(wall: start.wall, sinceBoot: start.sinceBoot)
        let token = AccessToken(
            value: Secret("a"), type: .bearer, received: start, lifetime: .seconds(600), serverDate: start.wall + skew)
        func after(_ seconds: Double, step: Double = 0, uptime: Double? = nil) -> Timestamp {
            Timestamp(
                wall: start.wall + seconds + step,
                sinceBoot: uptime.map { .seconds($0) } ?? start.sinceBoot + .seconds(seconds))
        }
        #expect(token.isFresh(at: after(540)) && !token.isFresh(at: after(541)))
        #expect(!token.isExpired(at: after(599)) && token.isExpired(at: after(600)))
        // The clock was set, or the machine was started anew: then the wall clock counts, and the server's date.
        #expect(token.isExpired(at: after(100, step: 7200)))
        #expect(token.isExpired(at: after(100, uptime: 20)) == (skew == -3600))
    }

    @Test func `a token is presented with its type, and not printed (RFC 6750 §2.1)`() {
        #expect(token(60).authorization == "Bearer mF_9.B5f-4.1JqM")
        #expect(!"\(token(60)) \(String(reflecting: token(60)))".contains("mF_9"))
    }

    private func token(_ lifetime: Double?) -> AccessToken {
        AccessToken(value: Secret("mF_9.B5f-4.1JqM"), received: start, lifetime: lifetime.map { .seconds($0) })
    }

    /// The wall clock is set by `step`, or the machine is started anew.
    private func after(_ seconds: Double, step: Double = 0, boot: String = "first") -> Timestamp {
        Timestamp(
            wall: start.wall + seconds + step,
            sinceBoot: boot == start.boot ? start.sinceBoot + .seconds(seconds) : .seconds(20), boot: boot)
    }
}
