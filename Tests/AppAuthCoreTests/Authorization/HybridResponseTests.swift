import AppAuthCore
import JOSE
import LocalProvider
import Testing

/// OpenID Connect Core §3.3: what an ID token beside the code is good for, at a real server.
@Suite(.timeLimit(.minutes(1)))
struct HybridResponseTests {
    @Test func `a sign-in with an ID token beside the code ends in a session`() async throws {
        #expect(try await signIn() == nil)
    }

    @Test(arguments: ["c_hash", "s_hash"])
    func `a hash of something else is refused, whether it was asked for or not`(name: String) async throws {
        let error = try await signIn { $0.claims[name] = "another" }
        #expect(error?.code == .invalidIDToken)
        #expect(error?.message.contains("expected '\(name)' to be '") == true)
    }

    @Test func `without c_hash it is refused, without s_hash where that was asked for`() async throws {
        #expect(try await signIn { $0.claims["c_hash"] = nil }?.code == .invalidIDToken)
        #expect(try await signIn(requiresStateHash: true) { $0.claims["s_hash"] = nil }?.code == .invalidIDToken)
        #expect(try await signIn { $0.claims["s_hash"] = nil } == nil)
    }

    /// Core §3.3.3.6.
    @Test func `the second ID token is about the same person`() async throws {
        let error = try await signIn(second: { $0.claims["sub"] = "somebody else" })
        #expect(error?.code == .invalidIDToken)
        #expect(error?.message.contains("of the one that came with the code") == true)
    }

    /// The browser brings the first ID token: the provider's time is that of its other answers.
    @Test(
        arguments: [(-86_399, nil), (3600, nil), (86_399, nil), (-90_000, .clockSkew)]
            as [(Double, AuthError.Code?)])
    func `a clock that is wrong by a day or less keeps nobody from signing in`(
        skew: Double, code: AuthError.Code?
    ) async throws {
        #expect(try await signIn(providerAhead: skew)?.code == code)
    }

    /// The error that a sign-in ends with.
    private func signIn(
        providerAhead skew: Double = 0, requiresStateHash: Bool = false,
        first: (@Sendable (inout JWTDraft) -> Void)? = nil, second: (@Sendable (inout JWTDraft) -> Void)? = nil
    ) async throws -> AuthError? {
        let outcome = Guarded<AuthError?>(nil)
        try await World.run(providerAhead: skew) { world in
            var options = AuthorizationRequest.Options()
            (options.responseType, options.responseMode) = (.codeIDToken, .formPost)
            options.requiresStateHash = requiresStateHash
            let client = try await world.client()
            if let first {
                for endpoint in [Endpoint.authorization, .interaction] {
                    world.provider.fault(.editIDToken(first), at: endpoint, times: nil)
                }
            }
            if let second { world.provider.fault(.editIDToken(second), at: .token) }
            let response = try await world.authorize(client, options: options)
            let error = await authError {
                try await AuthState(exchanging: response, store: MemoryTokenStore(), environment: world.environment)
            }
            outcome.withLock { $0 = error }
            // A code that nothing vouches for is not sent.
            #expect(world.provider.count(.token) == (first == nil && skew > -90_000 || error == nil ? 1 : 0))
        }
        return outcome.withLock { $0 }
    }
}
