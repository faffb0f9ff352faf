import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import TestFixtures
import Testing

/// JWT Secured Authorization Response Mode (JARM), at a real server.
@Suite(.timeLimit(.minutes(1)))
struct SignedSignInTests {
    private func options(
        _ mode: AuthorizationRequest.ResponseMode, _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) -> AuthorizationRequest.Options {
        var options = AuthorizationRequest.Options()
        options.responseMode = mode
        edit(&options)
        return options
    }

    private func signIn(_ world: World, _ options: AuthorizationRequest.Options) async throws -> AuthState {
        let response = try await world.authorize(world.client(), options: options)
        return try await AuthState.exchange(response, store: MemoryTokenStore(), environment: world.environment)
    }

    @Test(arguments: [AuthorizationRequest.ResponseMode.queryJWT, .formPostJWT, .jwt])
    func `a signed response signs in, by the address or by a form`(mode: AuthorizationRequest.ResponseMode) async throws
    {
        try await World.run { world in
            let state = try await signIn(world, options(mode))
            #expect(await state.record.idToken?.subject == User.alice.subject)
            let sent = try #require(world.provider.log(.authorization).first)
            #expect(sent.query["response_mode"] == mode.rawValue)
        }
    }

    // JARM §2.1: an error comes as the claims of a token too.
    @Test(arguments: [AuthorizationRequest.ResponseMode.queryJWT, .formPostJWT])
    func `an error in a signed response is the provider's own, and no code is sent`(
        mode: AuthorizationRequest.ResponseMode
    ) async throws {
        try await World.run { world in
            let asked = options(mode) { $0.prompt = ["none"] }
            let error = try #require(await authError { try await signIn(world, asked) })
            #expect(error.code == "login_required" && error.stage == .authorization)
            #expect(error.server?.errorDescription?.isEmpty == false && !error.isTemporary)
            #expect(world.provider.count(.token) == 0)
        }
    }

    @Test func `an error with another issuer's signature is not the provider's`() async throws {
        try await World.run { world in
            world.provider.fault(
                .editAuthorizationResponse { $0.signature = .unpublishedKey(.rs256) }, at: .authorization)
            let asked = options(.queryJWT) { $0.prompt = ["none"] }
            let error = try #require(await authError { try await signIn(world, asked) })
            #expect(error.code == .invalidRedirect && error.server == nil)
            #expect(error.message.contains("by the provider’s key, found another"))
        }
    }

    private static let flaws = [
        DraftFlaw("another iss", "invalid signed response: expected 'iss' to be 'http") {
            $0.claims["iss"] = "https://other.example"
        },
        DraftFlaw("another iss", "found 'https://other.example'") { $0.claims["iss"] = "https://other.example" },
        DraftFlaw("no iss", "found none") { $0.claims["iss"] = nil },
        DraftFlaw("an iss of another kind", "found a number") { $0.claims["iss"] = 1 },
        DraftFlaw("another aud", "to contain 'demo', found 'other'") { $0.claims["aud"] = "other" },
        DraftFlaw("no aud", "expected 'aud' to be a string or an array of strings, found none") {
            $0.claims["aud"] = nil
        },
        DraftFlaw(
            "an aud of another kind",
            "expected 'aud' to be a string or an array of strings, found an array with other values"
        ) { $0.claims["aud"] = ["demo", 1] },
        DraftFlaw("no exp", "expected 'exp', found none") { $0.claims["exp"] = nil },
        DraftFlaw("an exp in words", "expected 'exp' to be a number of seconds since 1970, found 'soon'") {
            $0.claims["exp"] = "soon"
        },
        DraftFlaw("an exp in the past", "invalid signed response: it expired 60 s ago by ") {
            $0.claims["exp"] = 1_749_999_940
        },
    ]

    @Test(arguments: flaws) func `a signed response that is wrong in one respect is refused`(flaw: DraftFlaw)
        async throws
    {
        try await World.run { world in
            world.provider.fault(.editAuthorizationResponse(flaw.edit), at: .interaction, times: nil)
            let error = try #require(await authError { try await signIn(world, options(.queryJWT)) })
            #expect(error.code == .invalidRedirect && error.message.contains(flaw.message), "\(error.message)")
            #expect(world.provider.count(.token) == 0)
            world.provider.clearFaults()
            _ = try await signIn(world, options(.queryJWT))
        }
    }
}
