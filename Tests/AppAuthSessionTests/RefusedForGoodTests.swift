import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Refreshes that only the user can repair. The session stays, and a refresh that succeeds all the same clears it.
@Suite(.timeLimit(.minutes(1)))
struct RefusedForGoodTests {
    private struct Case {
        var fault: Fault
        /// Whether the error needs the user, refresh by refresh.
        var expected: [Bool]
        var hasRefreshed = true
        /// The seconds between two refreshes.
        var between = 0.0
    }

    private static func oauth(_ code: String, _ status: HTTPResponse.Status = .badRequest) -> Fault {
        .status(status, json: ["error": .string(code)])
    }

    /// Gitea's words.
    private static func gitea(_ description: JSON) -> Fault {
        .status(.badRequest, json: ["error": "unauthorized_client", "error_description": description])
    }

    private func expect(_ tested: Case) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            if tested.hasRefreshed { _ = try await state.freshAccessToken(forceRefresh: true) }
            world.provider.fault(tested.fault, at: .token, times: tested.expected.count)
            for needsSignIn in tested.expected {
                world.clock.advance(by: tested.between)
                let thrown = await authError { try await state.freshAccessToken(forceRefresh: true) }
                let error = try #require(thrown)
                #expect(error.needsSignIn == needsSignIn, "\(error.message)")
                #expect(await state.record.needsSignIn == needsSignIn)
                #expect(await state.isAuthorized)
            }
            // In another process.
            let last = tested.expected.last ?? false
            let stored = try AuthStateRecord(decoding: try #require(await store.record).encoded(), from: "test")
            #expect(stored.needsSignIn == last && stored.isUsable(at: world.clock.timestamp))
            let other = try #require(await AuthState(restoring: TestStore(stored), environment: world.environment))
            // The first failure causes no pause.
            if tested.expected.count > 1 {
                let early = await authError { try await other.freshAccessToken(minimumValidity: .seconds(7200)) }
                #expect(early?.isHeldBack == true && early?.needsSignIn == last)
            }
            world.clock.advance(by: 3600)
            #expect(stored.isUsable(at: world.clock.timestamp) == !last)
            // The session stays.
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await !state.record.needsSignIn)
        }
    }

    @Test(arguments: ["interaction_required", "login_required", "consent_required", "account_selection_required"])
    func `a provider that needs the user is not asked again in vain`(code: String) async throws {
        try await expect(Case(fault: Self.oauth(code), expected: [true, true]))
        try await expect(Case(fault: Self.oauth(code), expected: [true], hasRefreshed: false))
        try await expect(Case(fault: Self.oauth(code, .serviceUnavailable), expected: [false, false]))
    }

    // RFC 6749 §5.2
    @Test(arguments: ["unauthorized_client", "invalid_request", "token_expired", "invalid_token", "access_denied"])
    func `a refresh token that worked before, and is refused twice, needs the user`(code: String) async throws {
        try await expect(Case(fault: Self.oauth(code), expected: [false, true, true]))
        try await expect(Case(fault: Self.oauth(code), expected: [false, false], hasRefreshed: false))
    }

    @Test func `a refusal that is repeated is told apart from a failure of the moment`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let refused = Self.oauth("unauthorized_client")
            for (fault, isRefusedAgain) in [(refused, false), (refused, true), (.status(.badGateway), false)] {
                world.provider.fault(fault, at: .token)
                _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
                #expect(await state.record.backoff?.isRefusedAgain == isRefusedAgain)
            }
        }
    }

    @Test(
        arguments: [
            ("unable to parse refresh token", true), ("token was already used", true),
            ("client is not authorized", false),
        ] as [(JSON, Bool)])
    func `a provider that names the refresh token needs the user the second time`(words: JSON, isOfToken: Bool)
        async throws
    {
        try await expect(Case(fault: Self.gitea(words), expected: [false, isOfToken], hasRefreshed: false))
    }

    @Test(
        arguments: [
            (.badRequest, true), (.unauthorized, true), (.forbidden, false), (.notFound, false),
            (.requestTimeout, false),
            (.tooEarly, false), (.tooManyRequests, false), (.internalServerError, false), (.found, false),
        ] as [(HTTPResponse.Status, Bool)])
    func `of the statuses without a code, those of a refusal need the user`(
        status: HTTPResponse.Status, isRefusal: Bool
    ) async throws {
        try await expect(Case(fault: .status(status), expected: [false, isRefusal]))
    }

    /// GitHub and Slack have a code beside the status of a success, Atlassian beside 403.
    @Test(
        arguments: [
            (.ok, true), (.forbidden, true), (.badRequest, true), (.notFound, false), (.internalServerError, false),
        ] as [(HTTPResponse.Status, Bool)])
    func `a code needs the user with more statuses`(status: HTTPResponse.Status, isRefusal: Bool) async throws {
        try await expect(Case(fault: Self.oauth("bad_refresh_token", status), expected: [false, isRefusal]))
    }

    @Test(arguments: ["invalid_client", "invalid_scope", "invalid_dpop_proof", "server_error"])
    func `other errors do not need the user`(code: String) async throws {
        try await expect(Case(fault: Self.oauth(code), expected: [false, false]))
    }

    @Test func `a success in between begins the count again`() async throws {
        try await expect(Case(fault: Self.oauth("invalid_request"), expected: [false]))
        try await World.run { world in
            let state = try await world.signIn()
            for _ in 1...3 {
                _ = try await state.freshAccessToken(forceRefresh: true)
                world.provider.fault(Self.oauth("invalid_request"), at: .token)
                let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
                #expect(error?.code == "invalid_request" && error?.needsSignIn == false)
            }
        }
    }

    @Test func `a network error in between does not begin the count again, and needs no user`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            _ = try await state.freshAccessToken(forceRefresh: true)
            let faults = [Self.oauth("unauthorized_client"), .status(.badGateway), Self.oauth("unauthorized_client")]
            for (fault, expected) in zip(faults, [false, false, true]) {
                world.provider.fault(fault, at: .token)
                let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
                #expect(error?.needsSignIn == expected)
            }
        }
    }

    // Core §12.2
    @Test(arguments: ["iss", "aud", "azp", "nonce", "at_hash"])
    func `a refused ID token that the provider has signed is refused for good`(claim: String) async throws {
        let fault = Fault.editIDToken { $0.claims[claim] = "https://other.example" }
        try await expect(Case(fault: fault, expected: [true, true]))
        try await expect(Case(fault: fault, expected: [true], hasRefreshed: false))
    }

    @Test(arguments: [(.damaged(.rs256), false), (.none, true)] as [(JWTDraft.Signature, Bool)])
    func `one that the provider has not signed may be a fault of the moment, and no longer the second time`(
        signature: JWTDraft.Signature, isCertainAtOnce: Bool
    ) async throws {
        let fault = Fault.editIDToken { $0.signature = signature }
        try await expect(Case(fault: fault, expected: [false, true], between: 61))
        // A newer key may fit the signature, and keys are fetched at most once a minute.
        try await expect(Case(fault: fault, expected: [false, isCertainAtOnce]))
    }

    @Test func `what one caller requests does not need the user`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            _ = try await state.freshAccessToken(forceRefresh: true)
            let parameters = TokenParameters(scope: ["openid"])
            world.provider.fault(Self.oauth("invalid_request"), at: .token, times: 2)
            for _ in 1...2 {
                let error = await authError {
                    try await state.freshAccessToken(forceRefresh: true, parameters: parameters)
                }
                #expect(error?.code == "invalid_request" && error?.needsSignIn == false)
            }
            #expect(await !state.record.needsSignIn)
        }
    }
}
