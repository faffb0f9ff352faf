import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Pushed authorization requests (RFC 9126).
@Suite struct PushedAuthorizationTests {
    @Test func `a pushed request gets a reference that leads to a code`() async throws {
        try await withLocalProvider(.demo { $0.pushedRequestLifetime = 7 }) { provider in
            let flow = Flow(provider: provider)
            let response = try await flow.push()
            #expect(response.status == 201)
            #expect(response.header("Cache-Control") == "no-store")
            #expect(response.json?["expires_in"]?.int == 7)
            let uri = try #require(response.json?["request_uri"]?.string)
            #expect(uri.hasPrefix("urn:ietf:params:oauth:request_uri:"))
            let back = try await TestBrowser().authorize(flow.url(naming: uri))
            #expect(back["state"] == "st&te=ü")
            let tokens = try await flow.exchange(#require(back["code"]))
            #expect(tokens.status == 200)
            let claims = try await verifiedClaims(tokens.json?["id_token"]?.string, provider)
            #expect(claims["nonce"]?.string == "n-0S6_WzA2Mj")
            #expect(try await flow.pushed() != uri)
        }
    }

    @Test func `parameters beside the reference do not count`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let url = try await flow.url(naming: flow.pushed()) + "&scope=address&state=other&prompt=none"
            let back = try await TestBrowser().authorize(url)
            #expect(back["state"] == "st&te=ü")
            let tokens = try await flow.exchange(#require(back["code"]))
            #expect(tokens.json?["scope"]?.string == "openid profile email offline_access")
        }
    }

    /// RFC 9126 §4, §7.1 and §7.3.
    @Test func `a reference is valid once, for a while, and for its client`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = Flow(provider: provider)
            func status(_ uri: String, client: String = "demo") async throws -> Int? {
                try await Wire.send("GET", flow.url(naming: uri, client: client)).status
            }
            let uri = try await flow.pushed()
            #expect(try await status(uri, client: "demo-confidential") == 400)
            #expect(try await status(uri) == 303)
            let again = try await Wire.send("GET", flow.url(naming: uri))
            #expect(again.status == 400)
            #expect(again.header("Location") == nil)
            let (late, inTime) = (try await flow.pushed(), try await flow.pushed())
            clock.advance(59)
            #expect(try await status(inTime) == 303)
            clock.advance(1)
            #expect(try await status(late) == 400)
            #expect(try await status("urn:ietf:params:oauth:request_uri:never-was") == 400)
            let named = try await flow.url(naming: flow.pushed())
            #expect(try await Wire.send("GET", named + "&client_id=demo").status == 400)
            #expect(try await Wire.send("GET", named).status == 303)
        }
    }

    /// RFC 9126 §2.3: the client gets the errors of the authorization endpoint.
    @Test(
        arguments: [
            ("redirect_uri", "https://evil.example/", "invalid_request"), ("redirect_uri", nil, "invalid_request"),
            ("response_type", "token", "unsupported_response_type"), ("scope", "unknown", "invalid_scope"),
            ("code_challenge", nil, "invalid_request"), ("code_challenge_method", "plain", "invalid_request"),
            ("state", nil, "invalid_request"), ("prompt", "none login", "invalid_request"),
            ("request_uri", "urn:ietf:params:oauth:request_uri:x", "invalid_request"),
            ("request_uri", "https://a.example/r", "invalid_request"),
        ] as [(String, String?, String)])
    func `a wrong parameter is refused when it is pushed`(name: String, value: String?, error: String) async throws {
        try await withLocalProvider { provider in
            let response = try await Flow(provider: provider).push([name: value])
            #expect(response.status == 400)
            #expect(response.json?["error"]?.string == error)
            #expect(response.json?["error_description"]?.string?.isEmpty == false)
        }
    }

    @Test func `a push is a POST of a form without repeated parameters`() async throws {
        try await withLocalProvider { provider in
            let (url, flow) = (provider.url(.pushedAuthorization), Flow(provider: provider))
            let got = try await Wire.send("GET", url.appendingQuery(flow.parameters()))
            #expect(got.status == 405)
            let twice = try await Wire.post(url, flow.parameters() + [("scope", "openid")])
            #expect(twice.json?["error"]?.string == "invalid_request")
            let inQuery = try await Wire.post(url + "?scope=openid", flow.parameters())
            #expect(inQuery.status == 400)
        }
    }

    @Test func `the client authenticates as at the token endpoint`() async throws {
        let key = try SigningKey.generate(.es256)
        let signing = RegisteredClient(id: "signing", keys: [key.publicKey], redirectURIs: [.anyLoopback])
        try await withLocalProvider(.demo { $0.clients += [signing] }) { provider in
            let confidential = RegisteredClient.demoConfidential
            var flow = Flow(provider: provider, clientID: confidential.id)
            let nothing = try await flow.push()
            #expect(nothing.status == 401)
            #expect(nothing.json?["error"]?.string == "invalid_client")
            flow.secret = "wrong"
            #expect(try await flow.push().status == 401)
            flow.secret = confidential.secret
            let back = try await TestBrowser().authorize(flow.url(naming: flow.pushed()))
            #expect(try await flow.exchange(#require(back["code"])).status == 200)
            // RFC 6749 §4.1.1: the client_id is a parameter of the request, too.
            #expect(try await flow.push(["client_id": nil]).status == 401)
            #expect(try await Flow(provider: provider).push(["client_id": "nobody"]).status == 401)

            // RFC 9126 §2: the endpoint itself is an audience that counts.
            for (audience, status) in [(provider.url(.pushedAuthorization), 201), (provider.url(.userInfo), 401)] {
                let assertion = try JWS.sign(
                    [
                        "iss": "signing", "sub": "signing", "aud": .string(audience),
                        "iat": .number(.init(Int(Date().timeIntervalSince1970))),
                        "exp": .number(.init(Int(Date().timeIntervalSince1970) + 60)),
                        "jti": .string(UUID().uuidString),
                    ], with: key)
                let response = try await Flow(provider: provider, clientID: "signing").push([
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                    "client_assertion": assertion,
                ])
                #expect(response.status == status)
            }
        }
    }

    /// RFC 9126 §5.
    @Test func `a provider can require it, and its metadata says so`() async throws {
        for isRequired in [false, true] {
            try await withLocalProvider(.demo { $0.requiresPushedRequests = isRequired }) { provider in
                let flow = Flow(provider: provider)
                let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
                #expect(metadata["require_pushed_authorization_requests"]?.bool == isRequired)
                let endpoint = metadata["pushed_authorization_request_endpoint"]?.string
                #expect(endpoint == provider.url(.pushedAuthorization))
                let pushed = try await TestBrowser().authorize(flow.url(naming: flow.pushed()))
                #expect(pushed["code"] != nil)
                let plain = try await Wire.send("GET", flow.authorizationURL(["prompt": "none"]))
                let error = try Flow.response(in: plain.header("Location"))["error"]
                #expect(error == (isRequired ? "invalid_request" : "login_required"))
            }
        }
    }
}
