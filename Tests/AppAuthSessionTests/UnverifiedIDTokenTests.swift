import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §12.2: where refusing the ID token of a refresh protects nobody, the access token is handed out.
@Suite(.timeLimit(.minutes(1)))
struct UnverifiedIDTokenTests {
    private static let now = 1_750_000_000

    private static func time(_ offset: Int) -> JSON { .number(.init(now + offset)) }

    // Amazon Cognito, Azure AD B2C and others report a later sign-in of the user.
    @Test(
        arguments: [
            ("a later sign-in", .editIDToken { $0.claims["auth_time"] = time(50) }),
            ("an earlier sign-in", .editIDToken { $0.claims["auth_time"] = time(-5000) }),
            ("no auth_time", .editIDToken { $0.claims["auth_time"] = nil }),
            ("no exp", .editIDToken { $0.claims["exp"] = nil }),
            ("no iat", .editIDToken { $0.claims["iat"] = nil }),
            ("no nonce", .editIDToken { $0.claims["nonce"] = nil }),
            ("null in place of times", .editIDToken { ($0.claims["iat"], $0.claims["nbf"]) = (.null, .null) }),
            ("an empty nonce", .editIDToken { $0.claims["nonce"] = "" }),
            ("null in place of nonce", .editIDToken { $0.claims["nonce"] = .null }),
            ("null in place of exp", .editIDToken { $0.claims["exp"] = .null }),
            ("an empty azp and at_hash", .editIDToken { ($0.claims["azp"], $0.claims["at_hash"]) = ("", "") }),
            ("null in place of azp", .editIDToken { $0.claims["azp"] = .null }),
            ("null in place of at_hash", .editIDToken { $0.claims["at_hash"] = .null }),
            (
                "a name with half of a surrogate pair",
                .editIDToken { ($0.claims["given_name"], $0.signature) = ("A\u{FFFD}", .keyOverLoneSurrogates(.rs256)) }
            ),
            ("null in place of auth_time", .editIDToken { $0.claims["auth_time"] = .null }),
            ("no at_hash", .editIDToken { $0.claims["at_hash"] = nil }),
            ("another acr", .editIDToken { $0.claims["acr"] = "0" }),
            ("a new azp", .editIDToken { $0.claims["azp"] = "demo" }),
            ("an array as aud", .editIDToken { $0.claims["aud"] = ["demo"] }),
            ("the client twice", .editIDToken { $0.claims["aud"] = ["demo", "demo"] }),
        ] as [(String, Fault)])
    func `a token that says less or more about the same sign-in is accepted, and its claims are current`(
        what: String, fault: Fault
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let named = Fault.editIDToken { $0.claims["name"] = "Another Name" }
            world.provider.fault(.all([fault, named]), at: .token)
            let token = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(await state.claims?.name == "Another Name")
            #expect(await store.record?.idToken == state.record.idToken)
            #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
            // The next refresh compares with this one.
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.claims?.name != "Another Name")
        }
    }

    @Test func `audiences in another order are accepted`() async throws {
        try await World.run { world in
            var client = try await world.client()
            client.idTokenRules.trustedAudiences = ["api"]
            func send(_ audience: JSON) {
                world.provider.fault(
                    .editIDToken { ($0.claims["aud"], $0.claims["azp"]) = (audience, "demo") }, at: .token)
            }
            send(["demo", "api"])
            let state = try await world.signIn(client)
            for audience in [["api", "demo"], "demo", ["demo", "api"]] as [JSON] {
                send(audience)
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await state.claims?["aud"] == audience)
            }
        }
    }

    @Test(
        arguments: [
            ("audience", .editIDToken { $0.claims["aud"] = ["demo", "other"] }),
            ("3600 s ahead", .editIDToken { $0.claims["iat"] = time(3600) }),
            ("expired 3600 s ago", .editIDToken { $0.claims["exp"] = time(-3600) }),
            ("100000 s ago", .editIDToken { $0.claims["iat"] = time(-100_000) }),
            ("becomes valid", .editIDToken { $0.claims["nbf"] = time(3600) }),
            ("'exp'", .editIDToken { $0.claims["exp"] = "tomorrow" }),
            ("'auth_time'", .editIDToken { $0.claims["auth_time"] = "today" }),
            ("'typ'", .editIDToken { $0.header["typ"] = "at+jwt" }),
            ("crit", .editIDToken { ($0.header["crit"], $0.header["x"]) = (["x"], 1) }),
            ("matching key", .editIDToken { $0.header["kid"] = "unknown" }),
            ("three parts", .replaceIDToken { _ in "token" }),
            ("three parts", .replaceIDToken { $0 + "." }), ("500", .all([])),
        ] as [(String, Fault)])
    func `a token that cannot be verified withholds no access token, and none of it is used`(
        what: String, fault: Fault
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            if what == "500" {
                world.clock.advance(by: 3600)
                world.provider.fault(.status(.internalServerError), at: .keys)
            } else {
                world.provider.fault(fault, at: .token)
            }
            let token = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.isAlive(token.value.reveal()))
            let after = await state.record
            #expect(after.accessToken == token && after.refreshToken != before.refreshToken)
            #expect(after.idToken == before.idToken && !after.needsSignIn && after.backoff == nil)
            #expect(await store.record == after)
            let error = try #require(after.idTokenError(at: world.clock.timestamp))
            #expect(error.message.contains(what) && !error.needsSignIn, "\(error.message)")
            // The next refresh verifies its token.
            world.provider.clearFaults()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.idToken != before.idToken)
            #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
        }
    }

    @Test(arguments: [false, true])
    func `the earlier token once more is not an error, even after it has expired`(isSignedAgain: Bool) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let first = try #require(await state.record.idToken)
            for wait in [0.0, 7200] {
                world.clock.advance(by: wait)
                world.provider.fault(
                    isSignedAgain
                        ? .editIDToken { $0.claims = first.claims.members }
                        : .replaceIDToken { _ in first.rawValue.reveal() }, at: .token)
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await state.record.idToken?.claims == first.claims)
                #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
            }
        }
    }

    @Test func `an expired token with other times is not the earlier one`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let first = try #require(await state.record.idToken)
            world.clock.advance(by: 7200)
            world.provider.fault(
                .editIDToken {
                    $0.claims = first.claims.members
                    ($0.claims["iat"], $0.claims["at_hash"]) = (Self.time(1), nil)
                }, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.idTokenError(at: world.clock.timestamp)?.code == .clockSkew)
        }
    }

    @Test func `keys that come too late withhold the access token for ten seconds, and then serve the next refresh`()
        async throws
    {
        try await World.run { world in
            let (store, pauses) = (TestStore(), LockedValue<[Duration]>([]))
            var environment = world.environment
            environment.sleep = { pause in pauses.withLock { $0.append(pause) } }
            let before = try #require(await world.signIn(store: store).record.idToken)
            world.clock.advance(by: 3600)
            let state = try #require(await AuthState(restoring: store, environment: environment))
            let hold = world.provider.hold(.keys)
            _ = try await state.freshAccessToken()
            #expect(pauses.withLock { $0 } == [.seconds(10)])
            #expect(await state.record.idToken == before)
            let error = try #require(await state.record.idTokenError(at: world.clock.timestamp))
            #expect(error.code == .timeout && error.isTemporary && error.message.contains("10 s"))
            hold.release()
            try await waitUntil {
                _ = try await state.freshAccessToken(forceRefresh: true)
                return await state.record.idToken != before
            }
            // Those of the sign-in, and these.
            #expect(world.provider.count(.keys) == 2)
        }
    }

    /// Another caller has read the sign-out while this one waited for keys. Then the store cannot be read.
    @Test
    func `a refresh whose session was removed meanwhile hands out nothing, although the store cannot say so any more`()
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let (late, giveUp) = AsyncStream.makeStream(of: Void.self)
            var environment = world.environment
            environment.sleep = { pause in
                guard pause == .seconds(10) else { throw CancellationError() }
                for await _ in late { break }
            }
            _ = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            let state = try #require(await AuthState(restoring: store, environment: environment))
            let saves = await store.saves
            let hold = world.provider.hold(.keys)
            defer { hold.release() }
            let refreshing = Task { try await state.freshAccessToken() }
            try await store.begun(saves + 1)
            await store.put(nil)
            try await state.synchronize()
            #expect(await !state.isAuthorized)
            await store.refuse(with: TestStore.Refusal())
            giveUp.finish()
            #expect(await authError { try await refreshing.value }?.code == .store)
            #expect(await !state.isAuthorized)
        }
    }

    // An attacker who can change the response, and who keeps the keys away, gets nothing accepted that would be refused.
    @Test(
        arguments: [
            ("signature", .editIDToken { $0.signature = .damaged(.rs256) }),
            ("'sub'", .editIDToken { ($0.claims["sub"], $0.header["kid"]) = ("another", "unknown") }),
            ("'nonce'", .editIDToken { ($0.claims["nonce"], $0.header["kid"]) = ("another", "unknown") }),
            ("'at_hash'", .editIDToken { ($0.claims["at_hash"], $0.header["kid"]) = ("AA", "unknown") }),
            ("algorithm", .editIDToken { $0.signature = .none }),
        ] as [(String, Fault)], [false, true])
    func `a token that is refused is refused without new keys, too, and ends nothing`(
        token: (what: String, fault: Fault), isSlow: Bool
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            var environment = world.environment
            if isSlow { environment.sleep = { _ in } }
            let before = try await world.signIn(store: store).record
            let state = try #require(await AuthState(restoring: store, environment: environment))
            world.provider.fault(token.fault, at: .token, times: 2)
            let holds = isSlow ? [world.provider.hold(.keys), world.provider.hold(.openIDConfiguration)] : []
            defer { for hold in holds { hold.release() } }
            if !isSlow {
                for endpoint in [.keys, .openIDConfiguration, .oauthMetadata] as [Endpoint] {
                    world.provider.fault(.status(.serviceUnavailable), at: endpoint, times: nil)
                }
            }
            for _ in 1...2 {
                let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
                #expect(error.code == .invalidIDToken && error.message.contains(token.what), "\(error.message)")
                // New keys may lead to another result: no new sign-in is needed yet.
                #expect(error.isTemporary && !error.needsSignIn)
            }
            let after = await state.record
            #expect(after.end == nil && after.refreshToken != before.refreshToken)
            #expect(after.accessToken == before.accessToken && after.idToken == before.idToken)
        }
    }

    @Test func `the limit on fetching keys withholds nothing`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            for isTooSoon in [false, true] {
                try world.provider.rotateSigningKeys()
                try world.provider.withdrawOldSigningKeys()
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await (state.record.idTokenError(at: world.clock.timestamp) != nil) == isTooSoon)
            }
            #expect(world.provider.count(.keys) == 2)
            world.clock.advance(by: 60)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.keys) == 3)
            #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
        }
    }

    @Test func `it is reported once, and again after a token that was verified`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let changes = state.changes
            for _ in 1...2 {
                world.provider.fault(.editIDToken { $0.header["typ"] = "at+jwt" }, at: .token, times: 2)
                for _ in 1...3 { _ = try await state.freshAccessToken(forceRefresh: true) }
            }
            var names: [String] = []
            for await change in changes {
                if case .renewed = change { names.append("renewed") }
                if case .refreshFailed(let error) = change {
                    #expect(error.message.contains("the refreshed ID token could not be verified"))
                    names.append("failed")
                }
                if names.count == 8 { break }
            }
            let once = ["renewed", "failed", "renewed", "renewed"]
            #expect(names == once + once)
            #expect(world.log.lines.filter { $0.contains("could not be verified") }.count == 2)
        }
    }

    @Test func `until one is verified, there is no fresh ID token, in other processes too`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.editIDToken { $0.header["typ"] = "at+jwt" }, at: .token, times: 3)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let stored = try AuthStateRecord(decoding: try #require(await store.record).encoded(), from: "test")
            let copy = TestStore(stored)
            let other = try #require(await AuthState(restoring: copy, environment: world.environment))
            // The first one tries again at once, and then there is a pause.
            for isHeldBack in [false, true] {
                let error = await authError { try await other.freshIDToken() }
                #expect(error?.code == .invalidIDToken && error?.message.contains("'typ'") == true)
                #expect(error?.isHeldBack == isHeldBack && error?.needsSignIn == false)
            }
            #expect(world.provider.count(.token) == 3)
            _ = try await other.freshAccessToken()
            #expect(world.provider.count(.token) == 3)
            world.provider.clearFaults()
            world.clock.advance(by: 2)
            let token = try await other.freshIDToken()
            #expect(try await other.freshIDToken() == token)
            #expect(await copy.record?.idToken == token && world.provider.count(.token) == 4)
        }
    }

    @Test func `the first ID token is verified in full before anything is handed out`() async throws {
        let faults: [(Fault, Endpoint)] = [
            (.editIDToken { $0.header["typ"] = "at+jwt" }, .token), (.editIDToken { $0.claims["exp"] = nil }, .token),
            (.editIDToken { $0.header["kid"] = "unknown" }, .token), (.status(.internalServerError), .keys),
        ]
        for (fault, endpoint) in faults {
            try await World.run { world in
                let store = TestStore()
                world.provider.fault(fault, at: endpoint, times: 2)
                #expect(await authError { try await world.signIn(store: store) } != nil)
                #expect(await store.record == nil)
            }
        }
    }
}
