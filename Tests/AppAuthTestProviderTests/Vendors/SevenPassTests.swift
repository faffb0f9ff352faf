import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// 7Pass as an OpenID provider: registrations, scopes, lifetimes, custom parameters, logout.
@Suite struct SevenPassTests {
    @Test(arguments: ["oauthtest://oauth-callback", "de.7pass.example:/cb/authz", "http://127.0.0.1:49152/callback"])
    func `a user signs in, and the ID token has her claims`(redirectURI: String) async throws {
        try await withSevenPass { flow in
            var flow = flow
            flow.redirectURI = redirectURI
            let response = try await flow.authorize()
            #expect(response["state"] == "st&te")
            let tokens = try await flow.exchange(response["code"])
            #expect(tokens.status == 200)
            #expect(tokens.json?["expires_in"]?.int == 7200)
            let claims = try await verifiedClaims(tokens.json?["id_token"]?.string, flow.sevenPass.provider)
            #expect(claims["sub"]?.string == "7p-248289761001")
            #expect(claims["email"]?.string == "alice@example.com")
            #expect(claims["given_name"]?.string == "Alice")
            #expect(claims["family_name"]?.string == "Liddell")
        }
    }

    @Test(arguments: ["oauthtest://oauth-callback/", "oauthtest://other", "de.7pass.example:/cb", "https://a.example/"])
    func `another redirect URI is refused on a page`(redirectURI: String) async throws {
        try await withSevenPass { flow in
            let response = try await Wire.send("GET", flow.authorizationURL(["redirect_uri": redirectURI]))
            #expect(response.status == 400)
            #expect(response.header("Location") == nil)
        }
    }

    @Test func `PKCE is required, and the code needs the verifier`() async throws {
        try await withSevenPass { flow in
            let url = flow.authorizationURL(["code_challenge": nil, "code_challenge_method": nil])
            let refusal = try flow.response(in: try await Wire.send("GET", url).header("Location"))
            #expect(refusal["error"] == "invalid_request")
            let code = try await flow.authorize()["code"]
            let response = try await flow.exchange(code, ["code_verifier": String(repeating: "a", count: 43)])
            #expect(response.json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `offline access counts only together with prompt consent`() async throws {
        try await withSevenPass { flow in
            let without = try await flow.exchange(flow.authorize(["prompt": nil])["code"])
            #expect(without.status == 200)
            #expect(without.json?["refresh_token"] == nil)
            let with = try await flow.exchange(flow.authorize(["prompt": "consent"])["code"])
            #expect(with.json?["refresh_token"]?.string != nil)
        }
    }

    @Test func `custom parameters are recorded, and fbapp_pres is 0 or 1`() async throws {
        try await withSevenPass { flow in
            _ = try await flow.authorize(["fbapp_pres": "1"])
            let seen = try #require(flow.sevenPass.log(.authorization).first?.query)
            #expect(seen["utm_campaign"] == "a23_45")
            #expect(seen["fbapp_pres"] == "1")
            let wrong = try await Wire.send("GET", flow.authorizationURL(["fbapp_pres": "2"])).header("Location")
            #expect(try flow.response(in: wrong)["error"] == "invalid_request")
            let none = try await Wire.send("GET", flow.authorizationURL(["fbapp_pres": nil])).header("Location")
            #expect(none?.contains("/interaction/") == true)
        }
    }

    @Test func `an older registration sends its secret, a newer one has none`() async throws {
        try await withSevenPass { flow in
            let legacy: KeyValuePairs<String, String?> = ["client_id": "seven-pass-legacy"]
            let code = try await flow.authorize(legacy)["code"]
            let none = try await flow.exchange(code, legacy)
            #expect(none.status == 401)
            #expect(none.json?["error"]?.string == "invalid_client")
            let with: KeyValuePairs<String, String?> = [
                "client_id": "seven-pass-legacy", "client_secret": "legacy-secret",
            ]
            #expect(try await flow.exchange(code, with).status == 200)
            let newer = try await flow.authorize()["code"]
            #expect(try await flow.exchange(newer, ["client_secret": "x"]).json?["error"]?.string == "invalid_client")
        }
    }

    @Test func `an access token is valid for two hours`() async throws {
        try await withSevenPass({ $0.options = ManualClock().options }) { flow in
            let token = try flow.accessToken()
            flow.sevenPass.advance(7199)
            #expect(try await flow.call("me", token).status == 200)
            flow.sevenPass.advance(1)
            #expect(try await flow.call("me", token).status == 401)
        }
    }

    @Test func `a refresh token is valid for 90 days, prolonged at each use`() async throws {
        try await withSevenPass({ $0.options = ManualClock().options }) { flow in
            let day = 86_400
            let token = try flow.sevenPass.provider.mintSession(client: "seven-pass-app").refreshToken
            for _ in 0..<2 {
                flow.sevenPass.advance(90 * day - 1)
                let response = try await flow.refresh(token)
                #expect(response.status == 200)
                #expect(response.json?["refresh_token"] == nil)
            }
            flow.sevenPass.advance(90 * day)
            #expect(try await flow.refresh(token).json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `refresh tokens can rotate`() async throws {
        try await withSevenPass({ $0.rotatesRefreshTokens = true }) { flow in
            let token = try flow.sevenPass.provider.mintSession(client: "seven-pass-app").refreshToken
            let response = try await flow.refresh(token)
            #expect(response.json?["refresh_token"]?.string != token)
            #expect(try await flow.refresh(token).status == 400)
        }
    }

    @Test func `tokens are revoked with token, token_type_hint and client_id`() async throws {
        try await withSevenPass { flow in
            let session = try flow.sevenPass.provider.mintSession(client: "seven-pass-app")
            let url = flow.sevenPass.provider.url(.revocation)
            let right: KeyValuePairs<String, String?> = [
                "token": session.refreshToken, "token_type_hint": "refresh_token", "client_id": "seven-pass-app",
            ]
            #expect(try await Wire.post(url, form(right, ["client_id": nil])).status == 401)
            #expect(try await flow.refresh(session.refreshToken).status == 200)
            #expect(try await Wire.post(url, form(right)).status == 200)
            #expect(try await flow.refresh(session.refreshToken).status == 400)
            #expect(try await flow.call("me", session.accessToken).status == 401)
            let metadata = try await Wire.send("GET", flow.sevenPass.provider.url(.openIDConfiguration)).json
            #expect(metadata?["revocation_endpoint"]?.string == url)
        }
    }

    @Test func `the session in the browser ends with id_token_hint and post_logout_redirect_uri`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            let tokens = try await flow.exchange(flow.authorize(in: browser)["code"])
            let hint = try #require(tokens.json?["id_token"]?.string)
            let url = flow.sevenPass.provider.url(.endSession)
            let wrong = url.appendingQuery([("id_token_hint", hint), ("post_logout_redirect_uri", "x:/y")])
            #expect(try await browser.open(wrong) == nil)
            #expect(browser.page?.status == 400)
            #expect(browser.hasCookies(for: flow.sevenPass.issuer))
            let right = url.appendingQuery([
                ("id_token_hint", hint), ("post_logout_redirect_uri", "oauthtest://oauth-callback"),
            ])
            #expect(try await browser.open(right) == "oauthtest://oauth-callback")
            #expect(!browser.hasCookies(for: flow.sevenPass.issuer))
        }
    }

    @Test(arguments: ["oauthtest://oauth-callback/", "http://127.0.0.1:49152/cb", "http://localhost/callback"])
    func `a redirect that is not registered exactly is refused`(redirectURI: String) async throws {
        try await withSevenPass { flow in
            let url = flow.authorizationURL(["redirect_uri": redirectURI])
            let refused = try await Wire.send("GET", url)
            #expect(refused.status == 400)
            let accepted = try await Wire.send("GET", flow.authorizationURL())
            #expect(accepted.status == 303)
        }
    }

    @Test func `faults come when asked for, and the demo's credentials work`() async throws {
        try await withSevenPass { flow in
            flow.sevenPass.fault(.htmlPage, at: .me)
            flow.sevenPass.fault(.lostResponse, at: .optIns)
            let token = try flow.accessToken()
            #expect(try await flow.call("me", token).text.hasPrefix("<!doctype html>"))
            #expect(try await flow.call("me/optins", token).bytes.isEmpty)
            #expect(flow.sevenPass.count(.me) == 1)
            let demo = flow.sevenPass.demo
            #expect(demo["issuer"]?.string == flow.sevenPass.issuer)
            #expect(demo["api_base"]?.string == flow.sevenPass.origin(of: .api) + "/api/accounts/")
            let client = try #require(demo["clients"]?.array?[1])
            let response = try await flow.token([
                "grant_type": "password", "login": demo["username"]?.string, "password": demo["password"]?.string,
                "client_id": client["client_id"]?.string, "client_secret": client["client_secret"]?.string,
            ])
            #expect(response.status == 200)
        }
    }
}
