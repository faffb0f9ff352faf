import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// The ends of a session that token responses announce.
@Suite(.timeLimit(.minutes(5)))
struct AnnouncedEndsTests {
    /// A session whose provider announces these lifetimes in each response, with the time of its sign-in.
    private func run(
        _ members: JSON.Object, rotating: Bool = true,
        _ body: (World, TestStore, AuthState, _ begin: Date) async throws -> Void
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.rotatesRefreshTokens = rotating
        try await World.run(configuration) { world in
            announce(members, world)
            let store = TestStore()
            let state = try await world.signIn(store: store)
            try await body(world, store, state, world.clock.now)
        }
    }

    private func announce(_ members: JSON.Object, _ world: World) {
        world.provider.clearFaults(at: .token)
        world.provider.fault(
            .editDocument { document in for member in members.members { document[member.name] = member.value } },
            at: .token,
            times: nil)
    }

    @Test(
        arguments: [
            ("refresh_token_expires_in", 86_400), ("refresh_expires_in", 86_400), ("authorization_expires_in", 86_400),
            ("refresh_token_expires_in", "86400"), ("x_refresh_token_expires_in", 86_400),
        ] as [(String, JSON)])
    func `an announced end is stored`(name: String, value: JSON) async throws {
        try await run([name: value]) { _, store, state, begin in
            #expect(await state.record.announcedEnd == begin + 86_400)
            let stored = try AuthStateRecord(decoding: #require(await store.record).encoded(), from: "a test")
            #expect(stored == (await state.record))
        }
    }

    @Test(
        arguments: [
            "refresh_token_expires_in", "refresh_expires_in", "refresh_token_timeout", "authorization_expires_in",
        ],
        ["soon", -1, 0, [], "1e300", .null] as [JSON])
    func `an end that cannot be read is none, and withholds no token`(name: String, value: JSON) async throws {
        try await run([name: value]) { _, _, state, _ in
            #expect(await state.record.announced == AnnouncedEnds())
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    /// A provider whose ID tokens have this claim, as a function of `iat`.
    private func runWithSessions(
        ending claim: @escaping @Sendable (_ issued: Double) -> JSON,
        _ body: (World, TestStore, AuthState, _ begin: Date) async throws -> Void
    ) async throws {
        try await World.run { world in
            world.provider.fault(
                .editIDToken { $0.claims["session_expiry"] = claim($0.claims["iat"]?.double ?? 0) }, at: .token,
                times: nil)
            let store = TestStore()
            let state = try await world.signIn(store: store)
            try await body(world, store, state, world.clock.now)
        }
    }

    @Test func `an ID token announces the end of the user's session at the provider`() async throws {
        try await runWithSessions(ending: { .number(.init(Int($0) + 86_400)) }) { world, store, state, begin in
            let end = try #require(await state.record.announcedEnd)
            #expect(abs(end.timeIntervalSince(begin) - 86_400) <= 1)
            let stored = try AuthStateRecord(decoding: #require(await store.record).encoded(), from: "a test")
            #expect(stored == (await state.record))
            // A later ID token without the claim says nothing new, and one with it does.
            world.provider.clearFaults(at: .token)
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(await state.record.announcedEnd == end)
            world.provider.fault(
                .editIDToken { $0.claims["session_expiry"] = .number(.init(Int($0.claims["iat"]?.double ?? 0) + 60)) },
                at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(try abs(#require(await state.record.announcedEnd).timeIntervalSince(begin) - 3660) <= 1)
        }
    }

    @Test(arguments: ["soon", -1, 0, [], 9_000_000_000_000_000_000, .null] as [JSON])
    func `an end of the provider's session that cannot be read, or has passed, is none`(value: JSON) async throws {
        try await runWithSessions(ending: { _ in value }) { _, _, state, _ in
            #expect(await state.record.announced == AnnouncedEnds())
        }
    }

    @Test func `a session that was stored without announced ends is read`() async throws {
        try await run([:]) { _, store, _, _ in
            let stored = try #require(await store.record).encoded()
            #expect(try JSON(parsing: stored)["announced"] == nil)
            #expect(try AuthStateRecord(decoding: stored, from: "a test").announcedEnd == nil)
        }
    }

    @Test func `an end that refreshes put off is none, until they no longer do`() async throws {
        try await run(["refresh_expires_in": 86_400]) { world, _, state, begin in
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(await state.record.announcedEnd == nil)
            // Keycloak limits the last ones by the end of the user's session.
            announce(["refresh_expires_in": 82_800], world)
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(await state.record.announcedEnd == begin + 90_000)
            #expect(await state.record.announced.use == nil)
        }
    }

    @Test func `only refreshes of two minutes say whether an end is put off`() async throws {
        try await run(["refresh_expires_in": 86_400]) { world, _, state, begin in
            for passed in [1, 60, 119, 120] as [Double] {
                world.clock.advance(
                    by: passed - (await state.record.accessToken?.received.wall.timeIntervalSince(begin) ?? 0))
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await state.record.announcedEnd == (passed < 120 ? begin + passed + 86_400 : nil))
            }
        }
    }

    /// The response arrives long after the server has written it, so that the end seems to be later.
    @Test func `a slow response does not put an end off`() async throws {
        try await run(["refresh_expires_in": 86_400]) { world, _, state, begin in
            announce(["refresh_expires_in": 86_300], world)
            world.clock.advance(by: 130)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.announcedEnd == begin + 86_430)
        }
    }

    @Test(arguments: [(64, false), (66, true)])
    func `an end is put off if more than half of the time was added`(added: Int, isPutOff: Bool) async throws {
        try await run(["refresh_expires_in": 86_400]) { world, _, state, _ in
            announce(["refresh_expires_in": .number(.init(86_400 - 130 + added))], world)
            world.clock.advance(by: 130)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await (state.record.announcedEnd == nil) == isPutOff)
        }
    }

    /// A process that is stopped reads the response later.
    @Test func `a response that is read late does not put an end off`() async throws {
        try await run(["refresh_expires_in": 86_400]) { world, _, state, begin in
            world.provider.clearFaults(at: .token)
            world.provider.fault(
                .editDocument { document in
                    document["refresh_expires_in"] = 86_400
                    world.clock.advance(by: 145)
                }, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.announcedEnd == begin + 86_545)
        }
    }

    @Test func `the user is warned in the last quarter, three days before at most, by the time since boot`()
        async throws
    {
        for (length, lead) in [(40_000, 10_000), (30 * 86_400, 3 * 86_400)] as [(Int, Double)] {
            try await run(["authorization_expires_in": .number(.init(length))]) { world, _, state, _ in
                let announced = await state.record.announced
                for (passed, left) in [
                    (0, Double(length) - lead), (Double(length) - lead - 1, 1), (Double(length) - lead, 0),
                ] {
                    var now = world.clock.timestamp
                    now = Timestamp(wall: now.wall - 3600, sinceBoot: now.sinceBoot + .seconds(passed), boot: now.boot)
                    #expect(announced.timeToWarn(at: now) == .seconds(left))
                }
            }
        }
    }

    @Test(arguments: [true, false])
    func `the end of a refresh token that a refresh does not mention stays with that token`(
        isRotating: Bool
    ) async throws {
        try await run(["refresh_token_expires_in": 86_400], rotating: isRotating) { world, _, state, begin in
            announce(["refresh_token_expires_in": .null], world)
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(await state.record.announcedEnd == (isRotating ? nil : begin + 86_400))
            // No use of the token puts off its end.
            #expect(await state.record.announced.use == nil)
        }
    }

    @Test func `the end of the grant stays, and unused time begins again`() async throws {
        let members: JSON.Object = ["authorization_expires_in": 86_400, "refresh_token_timeout": 7200]
        try await run(members) { world, _, state, begin in
            #expect(await state.record.announced.use?.length == .seconds(7200))
            announce(["authorization_expires_in": .null, "refresh_token_timeout": .null], world)
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(await state.record.announcedEnd == begin + 86_400)
            #expect(await state.record.announced.use?.begin.wall == begin + 3600)
            #expect(await state.record.refreshDeadline == begin + 10_800)
        }
    }

    @Test func `after the end of the session, none is announced`() async throws {
        try await run(["authorization_expires_in": 86_400]) { world, _, state, _ in
            world.provider.revokeGrant(of: try #require(await state.record.refreshToken).reveal())
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired)
            #expect(await state.record.announced == AnnouncedEnds())
        }
    }
}
