import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §3.3: an ID token beside the code, at a real server.
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

    /// Core §3.3.2.12: anyone with the client's secret could have made it.
    @Test func `an HMAC with the client's secret is refused where the provider merely lists it`() async throws {
        let secret = "demo-secret-of-at-least-32-bytes!"
        let error = try await signIn(secret: secret) {
            ($0.header["kid"], $0.signature) = (nil, .secret(.hs256, Array(secret.utf8)))
        }
        #expect(error?.code == .invalidIDToken && error?.message.contains("found 'HS256'") == true)
        let registered = try await signIn(secret: secret, algorithm: "HS256") {
            ($0.header["kid"], $0.signature) = (nil, .secret(.hs256, Array(secret.utf8)))
        } second: {
            ($0.header["kid"], $0.signature) = (nil, .secret(.hs256, Array(secret.utf8)))
        }
        #expect(registered == nil)
    }

    /// Core §3.3.3.6.
    @Test func `the second ID token is about the same user`() async throws {
        let error = try await signIn(second: { $0.claims["sub"] = "another user" })
        #expect(error?.code == .invalidIDToken)
        #expect(error?.message.contains("of the ID token that came with the code") == true)
    }

    /// The first ID token comes by the browser: the provider's time is that of its other responses.
    @Test(
        arguments: [(-86_399, nil), (3600, nil), (86_399, nil), (-90_000, .clockSkew)]
            as [(Double, AuthError.Code?)])
    func `a clock that is wrong by a day or less does not prevent a sign-in`(
        skew: Double, code: AuthError.Code?
    ) async throws {
        #expect(try await signIn(providerAhead: skew)?.code == code)
    }

    /// The error that a sign-in ends with.
    private func signIn(
        providerAhead skew: Double = 0, requiresStateHash: Bool = false, secret: String? = nil,
        algorithm: String? = nil,
        first: (@Sendable (inout JWTDraft) -> Void)? = nil, second: (@Sendable (inout JWTDraft) -> Void)? = nil
    ) async throws -> AuthError? {
        let outcome = LockedValue<AuthError?>(nil)
        var configuration = LocalProvider.Configuration.demo
        if let secret {
            (configuration.clients[0].secret, configuration.clients[0].authentication) = (secret, [.basic])
        }
        try await World.run(configuration, providerAhead: skew) { world in
            var options = AuthorizationRequest.Options()
            (options.responseType, options.responseMode) = (.codeIDToken, .formPost)
            options.requiresStateHash = requiresStateHash
            if secret != nil {
                world.provider.fault(
                    .editDocument { $0["id_token_signing_alg_values_supported"] = ["RS256", "HS256"] },
                    at: .openIDConfiguration)
            }
            var client = Client(
                id: "demo", authentication: secret.map { .clientSecretBasic(Secret($0)) } ?? .none,
                provider: try await world.metadata())
            client.idTokenRules.signedResponseAlgorithm = algorithm
            if let first {
                for endpoint in [Endpoint.authorization, .interaction] {
                    world.provider.fault(.editIDToken(first), at: endpoint, times: nil)
                }
            }
            if let second { world.provider.fault(.editIDToken(second), at: .token) }
            let response = try await world.authorize(client, options: options)
            let error = await authError {
                try await AuthState.exchange(response, store: MemoryTokenStore(), environment: world.environment)
            }
            outcome.withLock { $0 = error }
            // A code that nothing vouches for is not sent.
            #expect(world.provider.count(.token) == (first == nil && skew > -90_000 || error == nil ? 1 : 0))
        }
        return outcome.withLock { $0 }
    }
}
