import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The device flow over the wire, with a clock that the test moves (RFC 8628).
@Suite(.timeLimit(.minutes(5)))
struct DeviceSignInTests {
    @Test func `a user approves elsewhere, and the session is stored like that of a code`() async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            fixture.plan(duringPause: 3) { try await $0.decide() }
            let state = try await fixture.signIn().run(store: store)
            let record = await state.record
            #expect(record.idToken?.subject == "248289761001")
            #expect(record.scope == [.openID, .profile, .offlineAccess])
            #expect(record.hasRefreshToken && record.end == nil)
            #expect(record.accessToken?.expiresAt == world.clock.now + 3600)
            #expect(await store.record == record)
            #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(5)])
            #expect(fixture.code?.verificationURI.string == world.provider.url(.deviceVerification))
            let refreshed = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.isAlive(refreshed.value.reveal()))
            let sent = try #require(world.provider.log(.deviceAuthorization).first).form
            #expect(sent.names.sorted() == ["client_id", "scope"])
            #expect(world.provider.count(.deviceAuthorization) == 1)
        }
    }

    @Test func `a stored session is restored, and no code is requested`() async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            _ = try await world.signIn(store: store)
            let state = try await fixture.signIn().restoreOrSignIn(store: store)
            #expect(await state.record == store.record)
            #expect(world.provider.count(.deviceAuthorization) == 0)
        }
    }

    // Core §3.1.3.7 step 3
    @Test func `trusted audiences hold for the sign-in, and for a refresh in another process`() async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            for pause in 1...2 { fixture.plan(duringPause: pause) { try await $0.decide() } }
            world.provider.fault(
                .editIDToken { ($0.claims["aud"], $0.claims["azp"]) = (["demo", "project"], "demo") }, at: .token,
                times: nil)
            var signIn = try fixture.signIn()
            let refused = await authError { _ = try await signIn.run(store: store) }
            #expect(refused?.code == .invalidIDToken)
            signIn.idTokenRules.trustedAudiences = ["project"]
            _ = try await signIn.run(store: store)
            let stored = try AuthStateRecord(decoding: #require(await store.record).encoded(), from: "a test")
            let other = try #require(try await AuthState(restoring: TestStore(stored), environment: world.environment))
            _ = try await other.freshAccessToken(forceRefresh: true)
            #expect(await other.record.idToken?.audience == ["demo", "project"])
        }
    }

    // Core §3.1.3.7 step 7
    @Test func `the algorithm that the app names is the only one`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            for pause in 1...2 { fixture.plan(duringPause: pause) { try await $0.decide() } }
            var signIn = try fixture.signIn()
            signIn.idTokenRules.signedResponseAlgorithm = "ES256"
            let error = await authError { _ = try await signIn.run(store: MemoryTokenStore()) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("'ES256', found 'RS256'") == true)
            signIn.idTokenRules.signedResponseAlgorithm = "RS256"
            _ = try await signIn.run(store: MemoryTokenStore())
        }
    }

    @Test func `each step is reported`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            world.provider.fault(.reset(), at: .token)
            fixture.plan(duringPause: 3) { try await $0.decide() }
            _ = try await fixture.signIn().run(store: MemoryTokenStore())
            let steps = fixture.events.map { event in
                switch event {
                case .provider: "provider"
                case .scopesLeftOut: "scopes"
                case .code: "code"
                case .polling(.waiting): "waiting"
                case .polling(.slowedDown): "slower"
                case .polling(.connectionTrouble(_, let pause)): "trouble \(pause.components.seconds)"
                case .signedIn: "signed in"
                }
            }
            #expect(steps == ["provider", "code", "trouble 10", "waiting", "signed in"])
        }
    }

    @Test func `default scopes that the provider does not list are reported and not requested`() async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { $0["scopes_supported"] = ["openid", "email"] }, at: .openIDConfiguration, times: nil)
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 1) { try await $0.decide() }
            fixture.plan(duringPause: 2) { try await $0.decide() }
            var signIn = try fixture.signIn()
            func leftOut() -> [[Scope]] {
                fixture.events.compactMap { if case .scopesLeftOut(let scopes) = $0 { scopes } else { nil } }
            }
            _ = try await signIn.run(store: MemoryTokenStore())
            #expect(leftOut() == [[.profile, .offlineAccess]])
            // Scopes that the app names are requested in any case.
            signIn.scope = [.openID, .offlineAccess]
            _ = try await signIn.run(store: MemoryTokenStore())
            #expect(leftOut().count == 1)
            #expect(
                world.provider.log(.deviceAuthorization).map { $0.form["scope"] } == [
                    "openid", "openid offline_access",
                ])
        }
    }

    // RFC 8628 §3.1: as at the token endpoint (RFC 6749 §3.2.1).
    @Test func `a client with a secret authenticates at both endpoints`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            var signIn = try fixture.signIn()
            (signIn.clientID, signIn.clientSecret) = ("demo-confidential", Secret(secret))
            fixture.plan(duringPause: 1) { try await $0.decide() }
            let state = try await signIn.run(store: MemoryTokenStore())
            #expect(await state.record.idToken != nil)
            for endpoint in [Endpoint.deviceAuthorization, .token] {
                let request = try #require(world.provider.log(endpoint).first)
                #expect(request.headers[.authorization]?.hasPrefix("Basic ") == true)
                #expect(request.form["client_id"] == nil)
            }
            signIn.clientSecret = Secret("wrong")
            #expect(await authError { try await signIn.run(store: MemoryTokenStore()) }?.code == .invalidClient)
        }
    }

    @Test(
        arguments: [
            ("nonce", .editIDToken { $0.claims["nonce"] = "nobody sent one" }),
            ("aud", .editIDToken { $0.claims["aud"] = "other" }),
            ("at_hash", .editIDToken { $0.claims["at_hash"] = "AA" }),
            ("signature", .editIDToken { $0.signature = .unpublishedKey(.rs256) }),
            ("expected an ID token", .editDocument { $0["id_token"] = nil }),
        ] as [(String, Fault)])
    func `a wrong ID token ends the sign-in with nothing stored`(what: String, fault: Fault) async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            fixture.plan(duringPause: 1) { fixture in
                try await fixture.decide()
                fixture.world.provider.fault(fault, at: .token)
            }
            let error = try #require(await authError { try await fixture.signIn().run(store: store) })
            #expect(error.code == .invalidIDToken)
            #expect(error.message.contains(what), "\(error)")
            #expect(await store.saves == 0)
        }
    }

    @Test func `without openid there is no ID token to verify, and no keys are needed`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            world.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: .openIDConfiguration)
            var signIn = try fixture.signIn()
            signIn.scope = ["api"]
            fixture.plan(duringPause: 1) { try await $0.decide() }
            let state = try await signIn.run(store: MemoryTokenStore())
            #expect(await state.record.idToken == nil)
            #expect(world.provider.count(.keys) == 0)
        }
    }

    // RFC 8628 §4
    @Test func `an endpoint that is only in the RFC 8414 document is found`() async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 1) { try await $0.decide() }
            _ = try await fixture.signIn().run(store: MemoryTokenStore())
            #expect(world.provider.count(.oauthMetadata) == 1)
            world.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = nil }, at: .oauthMetadata, times: nil)
            let error = try #require(await authError { try await fixture.signIn().run(store: MemoryTokenStore()) })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains("device_authorization_endpoint"))
        }
    }

    @Test(arguments: ["token_endpoint", "jwks_uri"])
    func `the required metadata is checked before the code is shown`(member: String) async throws {
        try await World.run { world in
            for endpoint in [LocalProvider.Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.editDocument { $0[member] = nil }, at: endpoint, times: nil)
            }
            let fixture = DeviceFixture(world)
            let error = try #require(await authError { try await fixture.signIn().run(store: MemoryTokenStore()) })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains(member))
            #expect(world.provider.count(.deviceAuthorization) == 0)
        }
    }

    @Test func `an unreadable store is reported before the code is shown`() async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            await store.refuse(with: TestStore.Refusal())
            #expect(await authError { try await fixture.signIn().run(store: store) }?.code == .store)
            #expect(world.provider.log.isEmpty)
        }
    }

    @Test func `a last step that fails leaves the stored session alone`() async throws {
        try await World.run { world in
            let earlier = try await world.signIn().record
            let (fixture, store) = (DeviceFixture(world), TestStore(earlier))
            fixture.plan(duringPause: 1) { try await $0.decide() }
            var signIn = try fixture.signIn()
            signIn.confirm = { _ in throw AuthError(.unavailable, .resource, "not today") }
            #expect(await authError { try await signIn.run(store: store) }?.code == .unavailable)
            #expect(await store.record == earlier)
        }
    }

    @Test(arguments: [Endpoint.deviceAuthorization, .token])
    func `cancellation ends a request that is under way`(endpoint: Endpoint) async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            let hold = world.provider.hold(endpoint)
            let task = Task { try await fixture.signIn().run(store: store) }
            try await hold.arrived()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await store.saves == 0)
            hold.release()
        }
    }

    @Test func `cancellation ends a pause of the real clock at once`() async throws {
        try await World.run { world in
            let (shown, show) = AsyncStream.makeStream(of: Void.self)
            world.provider.fault(.editDocument { $0["interval"] = 60 }, at: .deviceAuthorization)
            var signIn = try DeviceSignIn(
                issuer: Issuer(world.provider.issuer), clientID: "demo", environment: world.environment)
            signIn.observe = { event in if case .code = event { show.yield() } }
            let waiting = signIn
            let task = Task { try await waiting.run(store: MemoryTokenStore()) }
            for await _ in shown { break }
            let start = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            // The pause would be a minute.
            #expect(start.duration(to: .now) < .seconds(30))
            #expect(world.provider.count(.token) == 0)
        }
    }

    @Test func `the device code is in no log, no error and no event`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 2) { fixture in
                let code = fixture.code?.deviceCode.reveal() ?? ""
                let body: JSON = ["error": "invalid_grant", "error_description": .string("bad code: \(code)")]
                fixture.world.provider.fault(.status(.badRequest, json: body), at: .token)
            }
            let error = try #require(await authError { try await fixture.signIn().run(store: MemoryTokenStore()) })
            let code = try #require(fixture.code).deviceCode.reveal()
            try #require(world.provider.log(.token).last?.form["device_code"] == code)
            var texts = world.log.lines + ["\(error)", String(reflecting: error)]
            for event in fixture.events {
                var dumped = ""
                dump(event, to: &dumped)
                texts += ["\(event)", dumped]
            }
            #expect(error.message.contains("[redacted]"))
            #expect(texts.count > 5 && !texts.contains { $0.contains(code) })
        }
    }
}
