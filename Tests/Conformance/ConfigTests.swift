import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Discovery, and keys that change.
@Suite(.timeLimit(.minutes(1)))
struct ConfigTests {
    private static let both: [Plan] = [.config, .dynamic]

    @Test("oidcc-client-test-discovery-openid-config", arguments: both)
    func metadata(plan: Plan) async throws {
        try await plan.accepts({ $0.issuerPath = "/tenant" }) { party in
            #expect(party.provider.log.isEmpty)
            _ = try await party.metadata()
            #expect(party.provider.log.map(\.path) == ["/tenant/.well-known/openid-configuration"])
        }
    }

    @Test("oidcc-client-test-discovery-jwks-uri-keys", arguments: both)
    func keys(plan: Plan) async throws {
        try await plan.run { party in
            let state = try await party.signIn()
            #expect(party.provider.count(.keys) == 1)
            let token = try JWS(compact: try #require(await state.record.idToken?.rawValue.reveal()))
            let published = try await party.publishedKeys()
            #expect(published["keys"]?.array?.contains { $0["kid"]?.string == token.header.kid } == true)
            try await party.use(state)
        }
    }

    @Test("oidcc-client-test-discovery-issuer-mismatch", arguments: both)
    func otherIssuer(plan: Plan) async throws { try await plan.refusesOtherIssuer() }

    /// The provider signs with a key that its key set has had for less time than the set is cached on the way.
    @Test("oidcc-client-test-signing-key-rotation-just-before-signing", arguments: both)
    func keysChangeBeforeSigning(plan: Plan) async throws {
        try await plan.run { party in
            let before = try await party.publishedKeys()
            try party.provider.rotateSigningKeys()
            party.provider.fault(.editDocument { $0["keys"] = before["keys"] }, at: .keys)
            let earlier = party.provider.count(.keys)
            let state = try await party.signIn()
            #expect(party.provider.count(.keys) - earlier == 2)
            try await party.use(state)
        }
    }

    @Test("oidcc-client-test-signing-key-rotation", arguments: both)
    func keysChangeBetweenSignIns(plan: Plan) async throws {
        try await plan.run { party in
            let client = try await party.client()
            let first = try await party.signIn(client)
            try party.provider.rotateSigningKeys()
            try party.provider.withdrawOldSigningKeys()
            let second = try await party.signIn(client)
            #expect(party.provider.count(.keys) == 2)
            let (old, new) = (try await first.signingKeyID, try await second.signingKeyID)
            let published = try await party.publishedKeys()["keys"]?.array?.compactMap { $0["kid"]?.string } ?? []
            #expect(published.contains(new) && !published.contains(old))
            try await party.use(second)

            // The first session has kept the old keys, which may be cached for an hour.
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(try await first.signingKeyID == new && party.provider.count(.keys) == 4)

            // The withdrawn key counts neither for the session that knew it, which keeps its ID token, nor for a new one.
            party.fault(idToken: { $0.signature = .formerKey(.rs256) })
            func expectRefusal(_ error: AuthError?) {
                #expect(error?.code == .invalidIDToken)
                #expect(error?.message.contains("a matching key in the provider’s key set, found none") == true)
            }
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(try await first.signingKeyID == new)
            expectRefusal(await first.record.idTokenError(at: .current))
            expectRefusal(await authError { try await party.signIn(client) })
        }
    }
}

extension Plan {
    /// Discovery §4.3: nothing of such a document is used.
    func refusesOtherIssuer() async throws {
        try await run { party in
            let other = party.provider.issuer + "/other"
            party.provider.fault(.editDocument { $0["issuer"] = .string(other) }, at: .openIDConfiguration)
            let error = await authError { try await party.use(party.signIn()) }
            #expect(error?.code == .issuerMismatch)
            #expect(
                error?.message
                    == "the provider at '\(party.provider.issuer)' calls itself '\(other)'. If you trust it, use "
                    + "exactly that issuer")
            #expect(party.provider.log.map(\.endpoint) == [.openIDConfiguration])
        }
    }
}

extension AuthState {
    /// The `kid` of the key that signed the session's ID token.
    fileprivate var signingKeyID: String {
        get throws {
            let token = try #require(record.idToken).rawValue
            return try #require(JWS(compact: token.reveal()).header.kid)
        }
    }
}

extension RelyingParty {
    /// The provider's key set as anybody gets it now.
    func publishedKeys() async throws -> JSON {
        try await environment.document(at: SecureURL(provider.url(.keys)), stage: .keys).0
    }
}
