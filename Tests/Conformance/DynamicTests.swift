import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Registration, and requests by reference. The rest of the plan is in ``ConfigTests`` and ``BasicTests``.
@Suite(.timeLimit(.minutes(1)))
struct DynamicTests {
    @Test("oidcc-client-test-discovery-webfinger-acct", arguments: [Plan.dynamic])
    func issuerOfAccount(plan: Plan) async throws {
        try await findsIssuer(plan) { "acct:alice@\($0.authority)" }
    }

    @Test("oidcc-client-test-discovery-webfinger-url", arguments: [Plan.dynamic])
    func issuerOfURL(plan: Plan) async throws {
        try await findsIssuer(plan) { "\($0.scheme)://\($0.authority)/alice" }
    }

    private func findsIssuer(_ plan: Plan, of identifier: (SecureURL) -> String) async throws {
        try await plan.run({ $0.issuerPath = "/tenant" }) { party in
            let identifier = identifier(try SecureURL(party.provider.issuer))
            let issuer = try await Discovery(environment: party.environment).issuer(of: identifier)
            #expect(issuer.string == party.provider.issuer)
            let question = try #require(party.provider.log.first)
            #expect(question.endpoint == .webFinger && question.query["resource"] == identifier)
            try await party.use(party.signIn())
            #expect(party.provider.log[1].path == "/tenant/.well-known/openid-configuration")
        }
    }

    @Test("oidcc-client-test-dynamic-registration", arguments: [Plan.dynamic])
    func registration(plan: Plan) async throws {
        try await plan.run { party in
            let client = try await party.client()
            try await party.use(party.signIn(client))
            #expect(party.provider.count(.clientRegistration) == 1)
            #expect(party.provider.log(.authorization).first?.query["client_id"] == client.id)
        }
    }

    /// A native app has no place for a request object but the provider's own (RFC 9126 §3).
    @Test("oidcc-client-test-request-uri-signed-rs256", arguments: [Plan.dynamic])
    func signedRequestByReference(plan: Plan) async throws {
        try await plan.run { party in
            let key = try SharedKeys.key(.rs256)
            let clientKey = try ClientKey(pem: key.pem)
            let party = party.with { $0.clientKey = { _ in clientKey } }
            let client = try await party.client { $0.jwks = [clientKey.publicJWK] }
            let state = try await party.signIn(client) {
                ($0.signingKeyName, $0.isPushed) = ("the client’s", true)
            }
            try await party.use(state)
            let pushed = try #require(party.provider.log(.pushedAuthorization).first?.form["request"])
            #expect(try JWS(compact: pushed).header.alg == "RS256")
            let names = try #require(party.provider.log(.authorization).first?.query.names)
            #expect(names.sorted() == ["client_id", "request_uri"])
        }
    }

    @Test("oidcc-client-test-userinfo-signed", arguments: [Plan.dynamic])
    func signedUserInfo(plan: Plan) async throws {
        try await plan.run { party in
            let client = try await party.client { $0["userinfo_signed_response_alg"] = "RS256" }
            let state = try await party.signIn(client)
            let claims = try await state.userInfo()
            #expect(claims.subject == User.alice.subject && claims["aud"]?.string == client.id)
            // A document that the provider's key has not signed is refused.
            let error = await authError {
                party.provider.fault(.damagedBody, at: .userInfo)
                return try await state.userInfo()
            }
            #expect(error?.code == .invalidResponse)
            #expect(error?.message.contains("expected a signature by the provider’s key, found another") == true)
        }
    }
}

extension Fault {
    /// One character of a token's signature is another.
    fileprivate static let damagedBody = Fault.editReply { reply in
        let location = reply.body.count - 20
        reply.body[location] = reply.body[location] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    }
}
