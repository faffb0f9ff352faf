import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The modules of the comprehensive plan that no certification plan has.
@Suite(.timeLimit(.minutes(1)))
struct ComprehensiveTests {
    private static let all: [Plan] = [.comprehensive]

    @Test("oidcc-client-test-missing-aud", arguments: all)
    func missingAudience(plan: Plan) async throws {
        try await plan.refuses("expected 'aud' to be a string or an array of strings") { $0.claims["aud"] = nil }
    }

    @Test("oidcc-client-test-invalid-sig-es256", arguments: all)
    func invalidES256(plan: Plan) async throws {
        try await plan.refuses(
            "expected a signature by the provider’s key, found another", { $0.clients[0].idTokenAlgorithm = .es256 },
            idToken: { $0.signature = .damaged(.es256) })
    }

    @Test("oidcc-client-test-invalid-sig-hs256", arguments: all)
    func invalidHS256(plan: Plan) async throws {
        try await plan.refuses(
            .invalidIDToken, "expected an HS256 signature by the client secret, found another", after: [.token]
        ) { party in
            party.provider.fault(
                .editDocument { $0["id_token_signing_alg_values_supported"] = ["HS256"] }, at: .openIDConfiguration)
            party.fault(idToken: {
                $0.signature = .secret(.hs256, Array("another secret, which is as long as it has to be".utf8))
            })
        }
    }

    /// RFC 8705 §5, for a client whose tokens are bound to its certificate.
    @Test("oidcc-client-test-mtls-endpoint-aliases", arguments: [Plan.comprehensiveByTLS])
    func placesForCertificates(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            try await party.use(state)
            let hosts = party.provider.log.map { "\($0.endpoint.rawValue) \($0.host.hasPrefix("localhost"))" }
            #expect(hosts.contains("token true") && hosts.contains("userInfo false"))
            try await party.expectBoundToken(state)
        }
    }

    @Test("oidcc-client-test-aggregated-claims", arguments: all)
    func claimsOfOthers(plan: Plan) async throws {
        try await findsClaims(plan, isDistributed: false)
    }

    @Test("oidcc-client-test-distributed-claims", arguments: all)
    func claimsAtOthers(plan: Plan) async throws {
        try await findsClaims(plan, isDistributed: true)
    }

    /// Core §5.6.2: the provider has claims of a bank's, or says where they are.
    private func findsClaims(_ plan: Plan, isDistributed: Bool) async throws {
        let (bank, key) = ("https://bank.example", try SigningKey.generate(.es256))
        let foreign = ForeignClaims(
            ["credit_score": 650], by: bank, key: key, isDistributed: isDistributed, accessToken: "for the bank")
        try await plan.run({ $0.users[0].foreignClaims = [foreign] }) { party in
            let state = try await party.signIn()
            var jwk = key.publicKey
            jwk.kid = foreign.kid
            let keys = [jwk.json]
            party.provider.fault(.editDocument { $0["keys"] = .array(keys) }, at: .keys)
            let trusted = try ProviderMetadata(
                issuer: Issuer(bank), endpoints: [.keys: party.provider.url(.keys)],
                more: ["id_token_signing_alg_values_supported": ["ES256"]])
            let source = try #require(try await state.userInfo().sources.first)
            let reader = ClaimSourceReader(
                client: await state.record.client, trusting: [trusted], environment: party.environment)
            let found = try await reader.claims(of: source)
            #expect(found.isVerified && found.issuer == bank && found.claims["credit_score"] == 650)
            #expect(party.provider.count(.foreignClaims) == (isDistributed ? 1 : 0))
        }
    }
}
