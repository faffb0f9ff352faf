import JOSE
import AppAuthTestProvider
import Testing

/// Each check of an authorization request with one thing wrong. The right case is ``Flow/parameters(_:)``, which every
/// test of the flow sends.
@Suite struct AuthorizationTests {
    // MARK: Errors that must not redirect (RFC 6749 §4.1.2.1)

    @Test(
        arguments: [
            ("client_id", nil), ("client_id", "nobody"), ("redirect_uri", nil),
            ("redirect_uri", "https://evil.example/callback"), ("redirect_uri", "http://127.0.0.1:49152/callback#f"),
            ("redirect_uri", "http://user@127.0.0.1:49152/callback"),
            ("redirect_uri", "http://127.0.0.1.evil.example/"),
            ("redirect_uri", "http://127.0.0.1:99999/callback"), ("redirect_uri", "http://127.0.0.1:+80/"),
            ("redirect_uri", "http://localhost.evil.example/"), ("redirect_uri", "callback"),
        ] as [(String, String?)])
    func `a client or redirect URI that is not registered gets a page and no redirect`(name: String, value: String?)
        async throws
    {
        try await withLocalProvider { provider in
            let response = try await Wire.send("GET", Flow(provider: provider).authorizationURL([name: value]))
            #expect(response.status == 400)
            #expect(response.header("Location") == nil)
            #expect(response.header("Content-Type") == "text/html; charset=utf-8")
            if let value, value.contains("evil") { #expect(!response.text.contains(value)) }
        }
    }

    @Test func `the page about an unknown client names it, and the option that registers it`() async throws {
        try await withLocalProvider { provider in
            for (id, name) in [("my-app", "my-app"), ("<b>my app", "&lt;b&gt;myapp")] {
                let response = try await Wire.send("GET", Flow(provider: provider).authorizationURL(["client_id": id]))
                #expect(response.text.contains("start local-provider with --client \(name)"), "\(response.text)")
            }
            let tokens = try await Wire.post(
                provider.url(.token), [("grant_type", "authorization_code"), ("client_id", "my-app")])
            #expect(tokens.json?["error"]?.string == "invalid_client")
            #expect(tokens.json?["error_description"]?.string?.contains("--client my-app") == true)
        }
    }

    @Test(arguments: ["client_id", "redirect_uri"])
    func `a client or redirect URI that is repeated gets a page and no redirect`(name: String) async throws {
        try await withLocalProvider { provider in
            let parameters = Flow(provider: provider).parameters()
            let twice = parameters + parameters.filter { $0.name == name }
            let response = try await Wire.send("GET", provider.url(.authorization).appendingQuery(twice))
            #expect(response.status == 400)
            #expect(response.header("Location") == nil)
        }
    }

    /// RFC 8252 §7.3: any port, only for a loopback IP literal; RFC 9700 §2.1: everything else exactly.
    @Test(arguments: [
        ("http://127.0.0.1/callback", "http://127.0.0.1:5555/callback", true),
        ("http://127.0.0.1:80/callback", "http://127.0.0.1:5555/callback", true),
        ("http://[::1]/callback", "http://[::1]:5555/callback", true),
        ("http://127.0.0.1/callback", "http://127.0.0.1:5555/other", false),
        ("http://127.0.0.1/callback", "http://127.0.0.1:5555/callback?a=b", false),
        ("http://127.0.0.1/callback", "http://[::1]:5555/callback", false),
        ("http://127.0.0.1/callback", "https://127.0.0.1:5555/callback", false),
        ("http://localhost:5555/callback", "http://localhost:5555/callback", true),
        ("http://localhost/callback", "http://localhost:5555/callback", false),
        ("https://app.example/callback", "https://app.example/callback", true),
        ("https://app.example/callback", "https://app.example/callback/", false),
        ("https://app.example/callback", "https://app.example:443/callback", false),
        ("de.app.example:/callback", "de.app.example:/callback", true),
    ])
    func `a redirect URI is the registered one, and loopback may have any port`(
        registered: String, sent: String, fits: Bool
    ) {
        #expect(RedirectURI.exact(registered).matches(sent) == fits)
    }

    // MARK: Responses to the client

    @Test(
        arguments: [
            ("response_type", nil, "invalid_request"), ("response_type", "token", "unsupported_response_type"),
            ("response_mode", "fragment", "invalid_request"), ("scope", nil, "invalid_scope"),
            ("scope", "unknown", "invalid_scope"),
            ("code_challenge", nil, "invalid_request"), ("code_challenge_method", nil, "invalid_request"),
            ("code_challenge_method", "plain", "invalid_request"), ("code_challenge", "short", "invalid_request"),
            ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw+cM", "invalid_request"),
            ("prompt", "sleep", "invalid_request"), ("prompt", "none login", "invalid_request"),
            ("max_age", "soon", "invalid_request"), ("max_age", "-1", "invalid_request"),
            ("display", "hologram", "invalid_request"), ("request", "eyJ", "invalid_request_object"),
            ("request_uri", "https://a.example/r", "request_uri_not_supported"),
            ("registration", "{}", "registration_not_supported"), ("claims", "[]", "invalid_request"),
            (
                "claims", #"{"id_token":{"acr":{"essential":true,"values":["gold"]}}}"#,
                "unmet_authentication_requirements"
            ),
            ("resource", "https://unknown.example/", "invalid_target"), ("id_token_hint", "x.y.z", "invalid_request"),
            ("prompt", "none", "login_required"),
        ] as [(String, String?, String)])
    func `a wrong parameter goes back as an error with state and iss`(name: String, value: String?, error: String)
        async throws
    {
        try await withLocalProvider { provider in
            let response = try await Flow(provider: provider).refusal([name: value])
            #expect(response["error"] == error)
            #expect(response["state"] == "st&te=ü")
            #expect(response["iss"] == provider.issuer)
            #expect(response["code"] == nil)
        }
    }

    @Test func `a missing state goes back as an error unless the provider does without`() async throws {
        try await withLocalProvider { (provider) async throws in
            #expect(try await Flow(provider: provider).refusal(["state": nil])["error"] == "invalid_request")
        }
        try await withLocalProvider(.demo { $0.requiresState = false }) { (provider) async throws in
            #expect(try await Flow(provider: provider).authorize(["state": nil])["code"] != nil)
        }
    }

    @Test(arguments: ["scope", "nonce", "code_challenge", "prompt"])
    func `a parameter that is repeated goes back as an error`(name: String) async throws {
        try await withLocalProvider { provider in
            let parameters = Flow(provider: provider).parameters()
            let twice = parameters + parameters.filter { $0.name == name }
            let response = try await Wire.send("GET", provider.url(.authorization).appendingQuery(twice))
            #expect(try Flow.response(in: response.header("Location"))["error"] == "invalid_request")
        }
    }

    @Test func `a state that is repeated is not sent back`() async throws {
        try await withLocalProvider { provider in
            let twice = Flow(provider: provider).parameters() + [("state", "other")]
            let response = try await Wire.send("GET", provider.url(.authorization).appendingQuery(twice))
            let parameters = try Flow.response(in: response.header("Location"))
            #expect(parameters["error"] == "invalid_request")
            #expect(parameters["state"] == nil)
        }
    }

    @Test func `a client that may not use codes gets unauthorized_client`() async throws {
        var client = RegisteredClient.demo
        client.grantTypes = ["refresh_token"]
        try await withLocalProvider(.demo { $0.clients = [client] }) { (provider) async throws in
            #expect(try await Flow(provider: provider).refusal()["error"] == "unauthorized_client")
        }
    }

    @Test func `a confidential client may go without PKCE and a public one may not`() async throws {
        try await withLocalProvider { (provider) async throws in
            let none: KeyValuePairs<String, String?> = ["code_challenge": nil, "code_challenge_method": nil]
            #expect(try await Flow(provider: provider, clientID: "demo-confidential").authorize(none)["code"] != nil)
            #expect(try await Flow(provider: provider).refusal(none)["error"] == "invalid_request")
        }
    }

    @Test func `iss is sent only where the metadata says so`() async throws {
        try await withLocalProvider(.demo { $0.sendsIssuerParameter = false }) { provider in
            #expect(try await Flow(provider: provider).authorize()["iss"] == nil)
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            #expect(metadata["authorization_response_iss_parameter_supported"]?.bool == false)
        }
    }

    /// OpenID Connect Core §3.1.2.1: GET and POST.
    @Test func `the request may be posted`() async throws {
        try await withLocalProvider { (provider) async throws in
            let browser = TestBrowser()
            let flow = Flow(provider: provider)
            #expect(try await browser.submit(to: provider.url(.authorization), flow.parameters()) == nil)
            #expect(browser.page?.text.contains("type=\"password\"") == true)
            #expect(try await Wire.send("PUT", provider.url(.authorization)).status == 405)
            #expect(try await Wire.send("POST", provider.url(.authorization), body: "x=y").status == 400)
        }
    }

    /// OpenID Connect Core §11.
    @Test func `offline_access counts only together with prompt=consent`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let without = try await flow.exchange(#require(try await flow.authorize(["prompt": nil])["code"]))
            #expect(without.json?["refresh_token"] == nil)
            #expect(without.json?["scope"]?.string == "openid profile email")
            let with = try await flow.exchange(#require(try await flow.authorize()["code"]))
            #expect(with.json?["refresh_token"] != nil)
        }
    }

    @Test func `without openid there is no ID token, and unknown scopes are ignored`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let response = try await flow.exchange(#require(try await flow.authorize(["scope": "api unknown"])["code"]))
            #expect(response.json?["scope"]?.string == "api")
            #expect(response.json?["id_token"] == nil)
        }
    }

    @Test func `claims asked for by name come in the ID token and at userinfo`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let claims = #"{"id_token":{"phone_number":null},"userinfo":{"address":{"essential":true}}}"#
            let code = try #require(try await flow.authorize(["scope": "openid", "claims": claims])["code"])
            let tokens = try #require(try await flow.exchange(code).json)
            #expect(try await verifiedClaims(tokens["id_token"]?.string, provider)["phone_number"] != nil)
            let userInfo = try await flow.bearer(.userInfo, #require(tokens["access_token"]?.string))
            #expect(userInfo.json?["address"]?["locality"]?.string == "Oxford")
            #expect(userInfo.json?["phone_number"] == nil)
        }
    }
}
