import JOSE
import AppAuthTestProvider
import Testing

/// Userinfo (OpenID Connect Core §5.3) and the demo resource, as RFC 6750 has it.
@Suite struct ResourceTests {
    @Test(arguments: [Endpoint.userInfo, .api])
    func `a request without a token gets a challenge without an error`(endpoint: Endpoint) async throws {
        try await withLocalProvider { provider in
            let response = try await Wire.send("GET", provider.url(endpoint))
            #expect(response.status == 401)
            #expect(response.header("WWW-Authenticate") == #"Bearer realm="local-provider""#)
        }
    }

    @Test(arguments: [Endpoint.userInfo, .api])
    func `a dead token gets invalid_token`(endpoint: Endpoint) async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = Flow(provider: provider)
            let token = try provider.mintSession().accessToken
            clock.advance(3599)
            #expect(try await flow.bearer(endpoint, token).status == 200)
            clock.advance(1)
            for dead in [token, "never-was"] {
                let response = try await flow.bearer(endpoint, dead)
                #expect(response.status == 401)
                #expect(response.header("WWW-Authenticate")?.contains(#"error="invalid_token""#) == true)
            }
        }
    }

    @Test func `a token counts only in a single Authorization field`() async throws {
        try await withLocalProvider { provider in
            let (url, token) = (provider.url(.userInfo), try provider.mintSession().accessToken)
            let field = ("Authorization", "Bearer \(token)")
            #expect(try await Wire.send("GET", url + "?access_token=\(token)").status == 400)
            #expect(try await Wire.post(url, [("access_token", token)]).status == 400)
            #expect(try await Wire.send("GET", url, [field, field]).status == 400)
            #expect(try await Wire.send("GET", url, [("Authorization", "Bearer \(token) x")]).status == 400)
            #expect(try await Wire.send("GET", url, [("Authorization", "Basic \(token)")]).status == 401)
            #expect(try await Wire.send("GET", url, [("Authorization", "bearer \(token)")]).status == 200)
            #expect(try await Wire.post(url, [], [field]).status == 200)
            #expect(try await Wire.send("DELETE", url, [field]).status == 405)
        }
    }

    @Test func `userinfo gives the claims of the scope and needs openid`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let mail = try await flow.bearer(.userInfo, provider.mintSession(scope: "openid email").accessToken)
            #expect(mail.json?.object?.names.sorted() == ["email", "email_verified", "sub"])
            let api = try await flow.bearer(.userInfo, provider.mintSession(scope: "api").accessToken)
            #expect(api.status == 403)
            #expect(api.header("WWW-Authenticate")?.contains(#"error="insufficient_scope""#) == true)
        }
    }

    @Test func `userinfo is signed for a client that asked for it`() async throws {
        var client = RegisteredClient.demo
        client.userInfoAlgorithm = .es256
        try await withLocalProvider(.demo { $0.clients = [client] }) { provider in
            let session = try provider.mintSession()
            let response = try await Flow(provider: provider).bearer(.userInfo, session.accessToken)
            #expect(response.header("Content-Type") == "application/jwt")
            let claims = try await verifiedClaims(response.text, provider)
            #expect(claims["iss"]?.string == provider.issuer)
            #expect(claims["aud"]?.string == "demo")
            #expect(claims["sub"]?.string == "248289761001")
            provider.fault(.editDocument { $0["sub"] = "other" }, at: .userInfo)
            let edited = try await Flow(provider: provider).bearer(.userInfo, session.accessToken)
            #expect(try await verifiedClaims(edited.text, provider)["sub"]?.string == "other")
        }
    }

    @Test func `the echo reports the request`() async throws {
        try await withLocalProvider { provider in
            let token = try provider.mintSession().accessToken
            let response = try await Wire.send(
                "PUT", provider.url(.api) + "?a=b+c", [("Authorization", "Bearer \(token)")], body: "hällo")
            #expect(response.json?["method"]?.string == "PUT")
            #expect(response.json?["query"]?["a"]?.string == "b c")
            #expect(response.json?["body"]?.string == "hällo")
            #expect(response.json?["client_id"]?.string == "demo")
        }
    }
}
