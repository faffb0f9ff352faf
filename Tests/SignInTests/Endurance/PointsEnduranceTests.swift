import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import Testing

/// A refresh that is interrupted at every point that other processes can observe: each call on a file of the session or
/// on the connection.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct PointsEnduranceTests {
    /// A process that is killed before the request is sent, or after the new refresh token is written, costs only
    /// another refresh, even at a strict server. In between, the response is lost: a server with a grace period repeats
    /// it; at a strict server the loss is counted.
    @Test(arguments: [0, 3600])
    func `a process can be killed at every point of a refresh`(grace: Int) async throws {
        try await withDesk(.torture(grace: grace)) { fixture in
            let torture = try await Torture(fixture, seed: 0)
            let injector = torture.injector
            try torture.expire()
            let whole = Refresh(try await injector.start(["token", "--json"]).outcome().points)
            try whole.checkPoints()

            for point in 1...whole.points.count {
                let name = "killed at \(point), \(whole.points[point - 1])"
                try torture.expire()
                let refreshToken = try #require(try fixture.record().refreshToken).reveal()
                let seen = fixture.provider.hold(.token, before: .response)
                seen.release()
                let outcome = try await injector.start(["token", "--json"], .kill, at: point).outcome()
                #expect(
                    outcome.status == 128 + SIGKILL && outcome.points == Array(whole.points[..<point]), "\(outcome)")
                if point >= whole.sent { try await seen.arrived() }
                // Readable, in every phase of a change.
                let isRotated = try fixture.record().refreshToken?.reveal() != refreshToken
                #expect(isRotated == (point > whole.rotated), "\(name)")

                if point >= whole.sent, point <= whole.rotationWritten, grace == 0 {
                    try await torture.findLoss(of: refreshToken, by: .killed, name)
                    #expect(torture.newRefreshes == 2, "\(name)")
                    try await torture.signInAgain(name)
                } else {
                    _ = try await torture.printed(torture.token())
                    #expect(torture.newRefreshes == (point >= whole.sent && point <= whole.saved ? 2 : 1), "\(name)")
                    try torture.check(name)
                }
            }
            print("torture: killed at each of \(whole.points.count) points, grace period \(grace) s")
            torture.report()
        }
    }

    /// A power cut at each second point: the disk has the synchronised contents, with the old or the new names. It
    /// always has a session, and once the new refresh token is synchronised, it has that token.
    @Test(arguments: [PointFault.outage, .outageWithNames])
    func `the power can be lost at every point of a refresh`(outage: PointFault) async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 0)
            let injector = torture.injector
            try torture.expire()
            let whole = Refresh(try await injector.start(["token", "--json"]).outcome().points)
            try whole.checkPoints()
            var losses: [Int] = []
            for point in stride(from: Int.random(in: 1...2), through: whole.points.count, by: 2) {
                let name = "lost at \(point), \(whole.points[point - 1])"
                try torture.expire()
                let seen = fixture.provider.hold(.token, before: .response)
                seen.release()
                let outcome = try await injector.start(["token", "--json"], outage, at: point).outcome()
                #expect(outcome.status == 128 + SIGKILL, "\(outcome)")
                if point >= whole.sent { try await seen.arrived() }
                #expect((try? fixture.record()) != nil, "\(name): \(fixture.stored)")
                let next = try await torture.outcome(of: torture.token())
                if next.status == 0 {
                    try torture.check(name)
                } else {
                    try next.failure(1, "sign_in_required")
                    losses.append(point)
                    try await torture.signInAgain(name)
                }
            }
            let last = outage == .outage ? whole.rotationSynchronised : whole.rotated
            #expect(losses.allSatisfy { $0 >= whole.sent && $0 <= last }, "\(losses)")
            #expect(!losses.isEmpty)
        }
    }

    /// The disk is full for this process from every point on. Even at a strict server nothing is lost, because the room
    /// for the refresh token is reserved before the request. The access token is printed, and the next process
    /// refreshes again.
    @Test func `a disk can be full from every point of a refresh on`() async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 0)
            let injector = torture.injector
            try torture.expire()
            let token = ["token", "--json", "--timeout", "10"]
            let whole = Refresh(try await injector.start(token).outcome().points)
            try whole.checkPoints()
            for point in 1...whole.points.count {
                let name = "full from \(point), \(whole.points[point - 1])"
                try torture.expire()
                let outcome = try await torture.outcome(of: injector.start(token, .full, at: point))
                if point <= whole.reserved { try outcome.failure(1, "store") }
                #expect(outcome.status == (point <= whole.reserved ? 1 : 0), "\(name): \(outcome)")
                #expect(torture.newRefreshes == (point <= whole.reserved ? 0 : 1), "\(name)")
                _ = try await torture.printed(torture.token())
                #expect(torture.newRefreshes == (point > whole.reserved && point <= whole.written ? 2 : 1), "\(name)")
                try torture.check(name)
            }
        }
    }

    /// Each call fails once: too many open files, or a failing disk or connection. Even at a strict server nothing is
    /// lost: the process tries again while it has the tokens, or reports the error before it has any.
    @Test func `every call of a refresh can fail`() async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 0)
            let injector = torture.injector
            try torture.expire()
            let whole = Refresh(try await injector.start(["token", "--json"]).outcome().points)
            try whole.checkPoints()
            var reported: [String] = []
            for point in 1...whole.points.count {
                let name = "failed at \(point), \(whole.points[point - 1])"
                try torture.expire()
                let outcome = try await torture.outcome(of: injector.start(["token", "--json"], .fail, at: point))
                if outcome.status != 0 {
                    #expect(point < whole.sent, "\(name): \(outcome)")
                    try torture.expectFailure(outcome, ["store", "transport"])
                    reported.append(whole.points[point - 1])
                }
                _ = try await torture.printed(torture.token())
                // An access token that only this process has is fetched again by the next one.
                let isLost = point >= whole.storing && point <= whole.saved
                #expect(torture.newRefreshes == (isLost ? 2 : 1), "\(name)")
                try torture.check(name)
            }
            // A failure after that is repaired silently.
            #expect(reported.contains("make session.new") && reported.contains("connect"))
            print("torture: failed at all \(whole.points.count) points, reported: \(reported.joined(separator: ", "))")
        }
    }

    /// A process died after it had written the new refresh token, and the next one cannot read it: it has no descriptor
    /// left, or the server of a network file system does not respond.
    @Test(arguments: [EMFILE, ESTALE, ETIMEDOUT, ENOTCONN, EACCES])
    func `new tokens that cannot be read for now are not cleared away`(error: CInt) async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 0)
            let injector = torture.injector
            let token = ["token", "--json"]
            try torture.expire()
            let whole = Refresh(try await injector.start(token).outcome().points)

            func dieBeforeTheRename() async throws {
                try torture.expire()
                _ = try await injector.start(token, .kill, at: whole.rotated).outcome()
            }
            try await dieBeforeTheRename()
            let points = try await injector.start(token).outcome().points
            let reads = try #require(points.firstIndex(of: "open session.new")) + 1
            // They are on the disk before the rename.
            let renames = try #require(points.firstIndex(of: "rename session.new"))
            #expect(points[..<renames].contains("synchronise session.new"), "\(points)")
            try torture.check()

            try await dieBeforeTheRename()
            let outcome = try await injector.start(token, .fail, at: reads, error: error).outcome()
            if outcome.status != 0 { try outcome.failure(1, "store") }
            _ = try await torture.printed(torture.token())
            #expect(torture.newRefreshes == 2)
            try torture.check()
        }
    }

    /// At each third point, from a random one on, a refresh is held until a sign-out has reached the provider.
    @Test func `a sign-out at any point of a refresh is a sign-out`() async throws {
        try await withDesk(.torture()) { fixture in
            var torture = try await Torture(fixture, seed: .torture)
            let injector = torture.injector
            try torture.expire()
            let points = try await injector.start(["token", "--json"]).outcome().points
            var beaten = 0
            for point in stride(from: torture.int(in: 1...3), through: points.count, by: 3) {
                let name = "signed out at \(point), \(points[point - 1]), seed \(torture.seed)"
                try torture.expire()
                let gate = try fixture.gate()
                let refreshing = try injector.start(["token", "--json"], .pause, at: point, gate: gate)
                _ = try await refreshing.line { $0.hasPrefix("fault: \(point) ") }
                let revoking = fixture.provider.hold(.revocation, before: .response)
                revoking.release()
                let logout = try fixture.start(["logout", "--json", "--revoke-only"])
                try await revoking.arrived()
                try gate.open()
                _ = try await logout.outcome().result()
                let outcome = try await refreshing.outcome()
                // It may have had its token before.
                if outcome.status != 0 {
                    beaten += 1
                    try outcome.failure(1, "sign_in_required")
                }
                #expect(fixture.stored.isEmpty, "\(name)")
                #expect(fixture.provider.livingTokens.isEmpty, "\(name): \(outcome)")
                try await fixture.run("token", "--json").failure(1, "sign_in_required")
                torture = try await Torture(fixture, seed: torture.seed)
            }
            #expect(beaten > 0)
        }
    }
}

/// The points at which the steps of a refresh happen, by number.
private struct Refresh {
    let points: [String]

    init(_ points: [String]) { self.points = points }

    private func all(_ point: String) -> [Int] { points.indices.filter { points[$0] == point }.map { $0 + 1 } }
    private func first(_ point: String) -> Int { all(point).first ?? 0 }
    private func last(_ point: String) -> Int { all(point).last ?? 0 }

    /// That nothing is missed: a call may come to have another name.
    func checkPoints() throws {
        try #require(all("rename session.new").count == 2, "\(points)")
        try #require(sent < received && received < rotated && rotated < written && written < saved, "\(points)")
        let calls = [
            "take lock", "make session.new", "write session.new", "write the rest of session.new",
            "synchronise session.new", "rename session.new", "synchronise folder", "reserve session.new", "connect",
            "send", "send the rest",
        ]
        for call in calls { try #require(points.contains(call), "\(call): \(points)") }
    }

    /// There is room for the new tokens.
    var reserved: Int { first("reserve session.new") }
    /// The whole request is out.
    var sent: Int { first("sent") }
    var received: Int { first("received") }
    /// The new refresh token is written, then renamed to the session.
    var rotationWritten: Int { first("write the rest of session.new") }
    var rotated: Int { first("rename session.new") }
    /// And then it is on the disk by that name.
    var rotationSynchronised: Int { all("synchronise folder").first { $0 > rotated } ?? 0 }
    /// The whole response is written, then renamed to the session.
    var storing: Int { last("open lock") }
    var written: Int { last("write the rest of session.new") }
    var saved: Int { last("rename session.new") }
}
