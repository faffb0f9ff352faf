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

    /// OpenID Connect Core §5.1. An app shows the picture without a token.
    @Test(arguments: ["", "/tenant"])
    func `the claim picture leads to the user's picture`(path: String) async throws {
        let configuration = LocalProvider.Configuration.demo {
            $0.issuerPath = path
            $0.users += [
                User(name: "bob", password: "secret", claims: ["picture": "https://a.example/b"]),
                User(name: "carol", password: "secret"),
            ]
        }
        try await withLocalProvider(configuration) { provider in
            let flow = Flow(provider: provider)
            let session = try provider.mintSession(scope: "openid profile")
            let claims = try #require(try await flow.bearer(.userInfo, session.accessToken).json)
            let url = try #require(claims["picture"]?.string)
            #expect(url == provider.issuer + "/pictures/alice")
            let picture = try await Wire.send("GET", url)
            #expect(picture.status == 200)
            #expect(picture.header("Content-Type") == "image/png")
            #expect(picture.isComplete)
            #expect(picture.body.starts(with: [0x89] + Array("PNG\r\n".utf8)))
            #expect(picture.body == User.alice.picture)
            #expect(try await Wire.post(url, []).status == 405)

            // No other user has one here. A claim of the test's own stays as it is.
            for (name, claim) in [("bob", "https://a.example/b"), ("carol", nil)] {
                let token = try provider.mintSession(user: name, scope: "openid profile").accessToken
                #expect(try await flow.bearer(.userInfo, token).json?["picture"]?.string == claim)
                #expect(try await Wire.send("GET", provider.issuer + "/pictures/\(name)").status == 404)
            }
            let mail = try provider.mintSession(scope: "openid email").accessToken
            #expect(try await flow.bearer(.userInfo, mail).json?["picture"] == nil)
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
