import AppAuthProtocol
import HTTPTypes
import Testing

/// `WWW-Authenticate` by RFC 9110 §11.6.1, and its parameters by RFC 6750 §3.
struct ChallengeTests {
    @Test(arguments: [
        #"Bearer error="invalid_token""#, "Bearer error=invalid_token", "bEARER ERROR=\"invalid_token\"",
        #"Bearer realm="example", error="invalid_token", error_description="The access token expired""#,
        #"Bearer realm="a, b=\"c\" \\", error="invalid_token""#, "Bearer error = \"invalid_token\"",
        #"Basic realm="x", Bearer error="invalid_token""#, #"Bearer error="invalid_token", Basic realm="x""#,
        #"Negotiate, Bearer error="invalid_token""#, #"Negotiate YII=, Bearer error="invalid_token""#,
        #"NTLM TlRMTVNTUAAB==, Bearer error="invalid_token""#, #"Basic a/b+c, Bearer error="invalid_token""#,
        "\t, ,Bearer\terror=\"invalid_token\",", #"DPoP algs="ES256", Bearer scope="a b",error="invalid_token""#,
        #"dPoP error="invalid_token", algs="ES256""#, "error=invalid_token",
        #"error="invalid_token", error_description="x""#,
    ])
    func `a challenge with invalid_token is found among others`(field: String) {
        #expect(response([field]).saysInvalidToken)
    }

    @Test(arguments: [
        "", "Bearer", #"Bearer realm="x""#, #"Bearer error="insufficient_scope""#, #"Bearer error="Invalid_token""#,
        #"Bearer error="invalid_token"#, #"Basic error="invalid_token""#,
        #"Bearer realm="error=invalid_token""#, #"Bearer xerror="invalid_token""#, "error=",
        #"Bearer error_description="x", Basic error="invalid_token""#, "Bearer =invalid_token", "= \" ,,,",
    ])
    func `any other challenge is none of an invalid token`(field: String) {
        #expect(!response([field]).saysInvalidToken)
    }

    @Test func `several fields count as one list`() {
        #expect(response([#"Basic realm="x""#, #"Bearer error="invalid_token""#]).saysInvalidToken)
        #expect(!response([]).saysInvalidToken)
    }

    /// The userinfo endpoint has no other reason to reject a token of its issuer.
    @Test func `the userinfo endpoint may leave out the reason, or the status`() {
        let token = AccessToken(value: Secret("a"), received: .current, lifetime: .seconds(60))
        let body = Array(#"{"error":"invalid_token"}"#.utf8)
        #expect(response([]).mayMean(invalid: token))
        #expect(response(["Bearer"], body: Array(#"{"detail":"Unauthorized"}"#.utf8)).mayMean(invalid: token))
        #expect(response([], 400, body: body).mayMean(invalid: token))
        for field in ["Bearer", #"Basic error="x""#, #"Bearer error="invalid_token""#, #"error="invalid_token""#] {
            #expect(response([field], body: body).mayMean(invalid: token), "\(field)")
        }
        #expect(!response([#"Bearer error="insufficient_scope""#], body: body).mayMean(invalid: token))
        for status in [200, 400, 403, 404, 500] { #expect(!response([], status).mayMean(invalid: token), "\(status)") }
        #expect(!response([], 500, body: body).mayMean(invalid: token))
        #expect(!response([#"Bearer error="insufficient_scope""#]).mayMean(invalid: token))
        // Only then may 403 mean the end of the token.
        let endless = AccessToken(value: Secret("a"), received: .current, lifetime: nil)
        #expect(response([], 403).mayMean(invalid: endless))
        #expect(!response([#"Bearer error="insufficient_scope""#], 403).mayMean(invalid: endless))
        #expect(!response([], 500).mayMean(invalid: endless))
    }

    @Test(arguments: [200, 400, 403, 407, 500])
    func `the status has to be 401`(status: Int) {
        #expect(!response([#"Bearer error="invalid_token""#], status).saysInvalidToken)
    }

    @Test func `challenges are read with their parameters`() {
        let found = Challenge.challenges(in: #"Digest Realm="a\"b", qop=auth, Negotiate dG9r==, Bearer"#)
        #expect(found.map(\.scheme) == ["digest", "negotiate", "bearer"])
        #expect(found.map(\.parameters) == [["realm": "a\"b", "qop": "auth"], [:], [:]])
    }

    @Test func `a field is parsed by its bytes, not by its characters`() {
        // A quote with a combining mark behind it is still a quote, and a backslash one that escapes.
        let found = Challenge.challenges(
            in: "Bearer realm=\"\u{301}a\", error=\"invalid_token\"\u{301}, DPoP \u{301}x=\"\\\u{301}\", y=z")
        #expect(found.first?.parameters["realm"] == "\u{301}a")
        #expect(found.first?.parameters["error"] == "invalid_token")
        #expect(Challenge.challenges(in: "Bearer\r\n").map(\.scheme) == ["bearer\r\n"])
        // The Kelvin sign is no K.
        #expect(Challenge.challenges(in: "\u{212A}B a=b").map(\.scheme) == ["\u{212A}b"])
    }

    private func response(_ fields: [String], _ status: Int = 401, body: [UInt8] = []) -> TransportResponse {
        var response = HTTPResponse(status: .init(code: status))
        for field in fields { response.headerFields.append(HTTPField(name: .wwwAuthenticate, value: field)) }
        return TransportResponse(response, body: body)
    }
}
