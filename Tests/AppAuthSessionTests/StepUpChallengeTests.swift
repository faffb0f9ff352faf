import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9470 §3.
struct StepUpChallengeTests {
    @Test(
        arguments: [
            (#"Bearer error="insufficient_user_authentication", acr_values="a b", max_age="5""#, ["a", "b"], 5),
            (#"bearer error="insufficient_user_authentication", error_description="x", acr_values="a""#, ["a"], nil),
            (#"DPoP algs="ES256", error="insufficient_user_authentication", max_age=0"#, [], 0),
            (#"Basic realm="x", Bearer error="insufficient_user_authentication""#, [], nil),
            (#"Bearer error="insufficient_user_authentication", max_age="-1""#, [], nil),
            (#"Bearer error="insufficient_user_authentication", max_age="soon""#, [], nil),
        ] as [(String, [String], Int?)])
    func `the demands of a resource are read from its challenge`(field: String, acr: [String], age: Int?) throws {
        let challenge = try #require(response(401, field).stepUpChallenge)
        #expect(challenge.acrValues == acr)
        #expect(challenge.maxAge == age)
    }

    @Test func `the challenge may be in any of several header fields`() throws {
        var response = HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: #"Basic realm="x""#])
        response.headerFields.append(
            HTTPField(
                name: .wwwAuthenticate, value: #"Bearer error="insufficient_user_authentication", max_age="5""#))
        #expect(TransportResponse(response, body: []).stepUpChallenge?.maxAge == 5)
    }

    @Test(arguments: [
        (401, #"Bearer error="invalid_token", acr_values="a""#),
        (403, #"Bearer error="insufficient_user_authentication""#),
        (401, #"Bearer error="insufficient_scope", scope="a""#), (403, #"Basic error="insufficient_scope", scope="a""#),
        (401, #"Basic error="insufficient_user_authentication""#), (401, ""),
        (200, #"Bearer error="insufficient_user_authentication""#),
    ])
    func `no other response demands anything`(status: Int, field: String) {
        #expect(response(status, field).stepUpChallenge == nil)
    }

    /// RFC 6750 §3.1.
    @Test func `a resource can demand scopes`() throws {
        let field = #"Bearer error="insufficient_scope", scope="read write", resource_metadata="https://r.example/m""#
        let challenge = try #require(response(403, field).stepUpChallenge)
        #expect(challenge.scope == ["read", "write"])
        var options = AuthorizationRequest.Options()
        options.meet(challenge)
        #expect(options == .init())
        #expect(response(403, #"Bearer error="insufficient_scope""#).stepUpChallenge?.scope == [])
    }

    @Test func `a new sign-in requests the demanded values, and keeps the other options`() throws {
        var options = AuthorizationRequest.Options()
        (options.acrValues, options.maxAge) = (["old"], 900)
        let age = try #require(
            response(401, #"Bearer error="insufficient_user_authentication", max_age="5""#).stepUpChallenge)
        options.meet(age)
        #expect((options.acrValues, options.maxAge) == (["old"], 5))
        let context = try #require(
            response(401, #"Bearer error="insufficient_user_authentication", acr_values="mfa""#).stepUpChallenge)
        options.meet(context)
        #expect((options.acrValues, options.maxAge) == (["mfa"], 5))
    }

    // {"access_token":{"acrs":{"essential":true,"value":"c1?>"}}}, in both alphabets.
    @Test(arguments: [
        "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzE/PiJ9fX0=",
        "eyJhY2Nlc3NfdG9rZW4iOnsiYWNycyI6eyJlc3NlbnRpYWwiOnRydWUsInZhbHVlIjoiYzE_PiJ9fX0",
    ])
    func `the claims that a resource demands are requested besides the app's`(claims: String) throws {
        let field = #"Bearer realm="", error="insufficient_claims", claims="\#(claims)""#
        let challenge = try #require(response(401, field).stepUpChallenge)
        var options = AuthorizationRequest.Options()
        options.claims = ["id_token": ["email": .null], "access_token": ["old": .null]]
        options.maxAge = 900
        options.meet(challenge)
        #expect(
            options.claims == [
                "id_token": ["email": .null], "access_token": ["acrs": ["essential": true, "value": "c1?>"]],
            ])
        #expect(options.maxAge == 900)
    }

    // No claims, no base64, `[]`, and `{`.
    @Test(arguments: ["", #", claims="%""#, #", claims="W10=""#, #", claims="ew==""#])
    func `claims that are no JSON object demand nothing`(claims: String) {
        #expect(response(401, #"Bearer error="insufficient_claims""# + claims).stepUpChallenge == nil)
    }

    @Test func `the sign-in that a resource demands satisfies it`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.acrValues.append("urn:example:two-factors")
        configuration.authenticationRequirements = [.api: .init(acrValues: ["urn:example:two-factors"], maxAge: 60)]
        try await World.run(configuration) { world in
            let client = try await world.client()
            let exchange = TransportRequest(
                HTTPRequest(method: .get, url: try SecureURL(world.provider.url(.api))))
            let weak = try await world.signIn(client)
            let refused = try await weak.send(exchange)
            #expect(refused.status == .unauthorized)
            // No refresh helps.
            #expect(world.provider.count(.token) == 1)
            var options = AuthorizationRequest.Options()
            options.meet(try #require(refused.stepUpChallenge))
            let response = try await world.authorize(client, options: options)
            let strong = try await AuthState.exchange(
                response, store: MemoryTokenStore(), environment: world.environment)
            #expect(await strong.record.idToken?.authenticationContext == "urn:example:two-factors")
            #expect(try await strong.send(exchange).status == .ok)
        }
    }

    private func response(_ status: Int, _ field: String) -> TransportResponse {
        TransportResponse(
            HTTPResponse(status: .init(code: status), headerFields: field.isEmpty ? [:] : [.wwwAuthenticate: field]),
            body: [])
    }
}
