import Foundation
import JOSE
import AppAuthTestProvider
import Testing

@Suite struct TokenEndpointTests {
    private func code(_ flow: Flow, _ changes: KeyValuePairs<String, String?> = [:]) async throws -> String {
        try #require(try await flow.authorize(changes)["code"])
    }

    @Test(
        arguments: [
            ("grant_type", nil, "invalid_request"), ("grant_type", "telepathy", "unsupported_grant_type"),
            ("code", nil, "invalid_request"), ("code", "guessed", "invalid_grant"),
            ("redirect_uri", nil, "invalid_grant"),
            ("redirect_uri", "http://127.0.0.1:49153/callback", "invalid_grant"),
            ("code_verifier", nil, "invalid_grant"),
            ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl", "invalid_grant"),
            ("code_verifier", "too-short", "invalid_grant"),
            ("client_id", nil, "invalid_client"), ("client_id", "nobody", "invalid_client"),
        ] as [(String, String?, String)])
    func `a wrong parameter in the exchange is refused`(name: String, value: String?, error: String) async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let response = try await flow.exchange(code(flow), [name: value])
            #expect(response.status == (error == "invalid_client" ? 401 : 400))
            #expect(response.json?["error"]?.string == error)
            #expect(response.header("Cache-Control") == "no-store")
            #expect((response.header("WWW-Authenticate") != nil) == (error == "invalid_client"))
        }
    }

    /// RFC 6749 §4.1.2.
    @Test func `a code is valid once, and its second use revokes its tokens`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let code = try await code(flow)
            let tokens = try #require(try await flow.exchange(code).json)
            let access = try #require(tokens["access_token"]?.string)
            let refresh = try #require(tokens["refresh_token"]?.string)
            #expect(try await flow.bearer(.userInfo, access).status == 200)
            #expect(try await flow.exchange(code).json?["error"]?.string == "invalid_grant")
            #expect(try await flow.bearer(.userInfo, access).status == 401)
            #expect(try await flow.refresh(refresh).json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `a code belongs to its client, and another client does not spend it`() async throws {
        try await withLocalProvider(
            .demo { $0.clients.append(RegisteredClient(id: "other", redirectURIs: [.anyLoopback])) }
        ) {
            provider in
            let flow = Flow(provider: provider)
            let code = try await code(flow)
            #expect(try await flow.exchange(code, ["client_id": "other"]).json?["error"]?.string == "invalid_grant")
            #expect(try await flow.exchange(code).status == 200)
        }
    }

    @Test func `a code that was tried with a wrong verifier is spent`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let code = try await code(flow)
            _ = try await flow.exchange(code, ["code_verifier": String(repeating: "a", count: 43)])
            #expect(try await flow.exchange(code).json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `a code expires`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = Flow(provider: provider)
            let (early, late) = (try await code(flow), try await code(flow))
            clock.advance(59)
            #expect(try await flow.exchange(early).status == 200)
            clock.advance(1)
            #expect(try await flow.exchange(late).json?["error"]?.string == "invalid_grant")
        }
    }

    /// RFC 9700 §2.1.1: a challenge that was taken out on the way must not go unnoticed.
    @Test func `a verifier without a challenge is refused`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(
                provider: provider, clientID: "demo-confidential", secret: RegisteredClient.demoConfidential.secret)
            let none: KeyValuePairs<String, String?> = ["code_challenge": nil, "code_challenge_method": nil]
            let with = try await flow.exchange(code(flow, none))
            #expect(with.json?["error"]?.string == "invalid_grant")
            #expect(try await flow.exchange(code(flow, none), ["code_verifier": nil]).status == 200)
        }
    }

    @Test func `the request has to be a form, posted, with each parameter once and none in the URI`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let (url, form) = (provider.url(.token), flow.codeForm(try await code(flow)))
            let get = try await Wire.send("GET", url.appendingQuery(form))
            #expect(get.status == 405)
            #expect(get.header("Allow") == "POST")
            func error(_ response: Wire.Response) -> String? {
                response.status == 400 ? response.json?["error"]?.string : nil
            }
            let body = FormCoding.encode(form)
            let type = "application/x-www-form-urlencoded"
            #expect(error(try await Wire.send("POST", url, body: body)) == "invalid_request")
            #expect(
                error(try await Wire.send("POST", url, [("Content-Type", "application/json")], body: body))
                    == "invalid_request")
            #expect(error(try await Wire.post(url + "?client_id=demo", form)) == "invalid_request")
            #expect(error(try await Wire.post(url, form + [("code", "again")])) == "invalid_request")
            #expect(
                error(try await Wire.send("POST", url, [("Content-Type", type)], body: body + "&x=%zz"))
                    == "invalid_request")
            #expect(
                error(try await Wire.send("POST", url, [("Content-Type", type)], body: body + "&x=%ff"))
                    == "invalid_request")
            // None of them spent the code.
            let utf8 = [("Content-Type", "Application/X-WWW-Form-URLEncoded; charset=UTF-8")]
            #expect(try await Wire.send("POST", url, utf8, body: body).status == 200)
        }
    }

    /// RFC 8707 §2.
    @Test func `a token for a resource is valid only there`() async throws {
        try await withLocalProvider(.demo { $0.resources = ["https://bank.example/"] }) { provider in
            let flow = Flow(provider: provider)
            let code = try await code(flow, ["resource": provider.url(.api), "prompt": "consent"])
            let tokens = try #require(try await flow.exchange(code).json)
            let access = try #require(tokens["access_token"]?.string)
            #expect(try await flow.bearer(.api, access).status == 200)
            #expect(try await flow.bearer(.userInfo, access).status == 401)
            let refresh = try #require(tokens["refresh_token"]?.string)
            let other = try await flow.refresh(refresh, [("resource", "https://bank.example/")])
            #expect(other.json?["error"]?.string == "invalid_target")
            #expect(try await flow.refresh(refresh, [("resource", provider.url(.api))]).status == 200)
        }
    }

    @Test func `a client can get tokens for itself`() async throws {
        try await withLocalProvider { provider in
            func ask(_ form: [(name: String, value: String)]) async throws -> Wire.Response {
                try await Wire.post(provider.url(.token), [("grant_type", "client_credentials")] + form)
            }
            let service = [("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes")]
            let response = try await ask(service + [("scope", "api")])
            #expect(response.json?["scope"]?.string == "api")
            #expect(response.json?["refresh_token"] == nil)
            #expect(response.json?["id_token"] == nil)
            let token = try #require(response.json?["access_token"]?.string)
            #expect(try await Flow(provider: provider).bearer(.api, token).json?["client_id"]?.string == "demo-service")
            #expect(try await Flow(provider: provider).bearer(.userInfo, token).status == 403)
            #expect(try await ask(service + [("scope", "openid")]).json?["error"]?.string == "invalid_scope")
            #expect(try await ask([("client_id", "demo")]).json?["error"]?.string == "unauthorized_client")
        }
    }

    @Test func `a password can be exchanged by clients that may`() async throws {
        try await withLocalProvider { provider in
            func ask(_ client: [(name: String, value: String)], _ password: String) async throws -> Wire.Response {
                try await Wire.post(
                    provider.url(.token),
                    [("grant_type", "password"), ("username", "alice"), ("password", password)]
                        + [("scope", "openid offline_access")] + client)
            }
            let client = [
                ("client_id", "demo-confidential"), ("client_secret", RegisteredClient.demoConfidential.secret ?? ""),
            ]
            let response = try await ask(client, "looking-glass")
            #expect(response.status == 200)
            #expect(response.json?["refresh_token"] != nil)
            _ = try await verifiedClaims(response.json?["id_token"]?.string, provider)
            #expect(try await ask(client, "wrong").json?["error"]?.string == "invalid_grant")
            let demo = try await ask([("client_id", "demo")], "looking-glass")
            #expect(demo.json?["error"]?.string == "unauthorized_client")
        }
    }

    @Test(arguments: [false, true])
    func `a provider can issue refresh tokens unasked at every sign-in`(unasked: Bool) async throws {
        try await withLocalProvider(.demo { $0.givesRefreshTokensUnasked = unasked }) { provider in
            let client: [(name: String, value: String)] = [
                ("client_id", "demo-confidential"), ("client_secret", RegisteredClient.demoConfidential.secret ?? ""),
            ]
            let owner: [(name: String, value: String)] = [("username", "alice"), ("password", "looking-glass")]
            let response = try await Wire.post(provider.url(.token), [("grant_type", "password")] + owner + client)
            #expect((response.json?["refresh_token"]?.string != nil) == unasked)
            let direct = try await Wire.post(provider.url(.token), [("grant_type", "client_credentials")] + client)
            #expect(direct.status == 200)
            #expect(direct.json?["refresh_token"] == nil)
        }
    }
}
