import JOSE
import AppAuthTestProvider
import Testing

/// Codes and tokens that are bound to a key (RFC 9449 §5, §6, §7, §10).
@Suite struct DPoPTokenTests {
    private func expectChallenge(_ response: Wire.Response, _ error: String) {
        #expect(response.status == 401)
        let challenge = response.header("WWW-Authenticate") ?? ""
        #expect(challenge.hasPrefix("DPoP "))
        #expect(challenge.contains(#"error="\#(error)""#))
        #expect(challenge.contains(#"algs="RS256 "#))
    }

    @Test func `a public client's tokens are valid only with their key`() async throws {
        try await withLocalProvider { provider in
            let (flow, key, url) = (Flow(provider: provider), try DPoPKey(), provider.url(.token))
            let code = try #require(try await flow.authorize()["code"])
            let response = try await Wire.post(url, flow.codeForm(code), [("DPoP", try key.proof("POST", url))])
            #expect(response.status == 200)
            #expect(response.json?["token_type"]?.string == "DPoP")
            let token = try #require(response.json?["access_token"]?.string)
            for endpoint in [Endpoint.userInfo, .api] {
                let fields = try key.fields("GET", provider.url(endpoint), token: token)
                #expect(try await Wire.send("GET", provider.url(endpoint), fields).status == 200)
                // RFC 9449 §7.2.
                expectChallenge(try await flow.bearer(endpoint, token), "invalid_token")
            }
            let form = [
                (name: "grant_type", value: "refresh_token"), ("client_id", "demo"),
                ("refresh_token", try #require(response.json?["refresh_token"]?.string)),
            ]
            for fields in [[], [("DPoP", try DPoPKey().proof("POST", url))]] {
                let refused = try await Wire.post(url, form, fields)
                #expect(refused.json?["error"]?.string == "invalid_grant")
            }
            let refreshed = try await Wire.post(url, form, [("DPoP", try key.proof("POST", url))])
            #expect(refreshed.json?["token_type"]?.string == "DPoP")
            // Without the key, a second use ends nothing: the sender is not the client.
            let again = try await Wire.post(url, form)
            #expect(again.json?["error"]?.string == "invalid_grant")
            #expect(provider.isAlive(try #require(refreshed.json?["refresh_token"]?.string)))
        }
    }

    @Test func `a resource takes a right proof beside the token and no other`() async throws {
        try await withLocalProvider { provider in
            let (key, url) = (try DPoPKey(), provider.url(.api))
            let token = try provider.mintSession(boundTo: key.thumbprint).accessToken
            let scheme = ("Authorization", "DPoP \(token)")
            func get(_ proof: String?, scheme: (String, String) = ("", "")) async throws -> Wire.Response {
                try await Wire.send("GET", url, [scheme] + (proof.map { [("DPoP", $0)] } ?? []))
            }
            expectChallenge(try await get(nil, scheme: scheme), "invalid_dpop_proof")
            expectChallenge(try await get(key.proof("GET", url), scheme: scheme), "invalid_dpop_proof")
            let other = try key.proof("GET", url, token: "another")
            expectChallenge(try await get(other, scheme: scheme), "invalid_dpop_proof")
            let posted = try key.proof("POST", url, token: token)
            expectChallenge(try await get(posted, scheme: scheme), "invalid_dpop_proof")
            let foreign = try DPoPKey().proof("GET", url, token: token)
            expectChallenge(try await get(foreign, scheme: scheme), "invalid_token")
            let right = try key.proof("GET", url, token: token)
            #expect(try await get(right, scheme: ("Authorization", "dpop \(token)")).status == 200)
            expectChallenge(try await get(right, scheme: scheme), "invalid_dpop_proof")
            // The query is no part of htu.
            let fields = try key.fields("GET", url, token: token)
            #expect(try await Wire.send("GET", url + "?a=b", fields).status == 200)
        }
    }

    @Test func `a bearer token with the scheme DPoP is refused`() async throws {
        try await withLocalProvider { provider in
            let (token, url) = (try provider.mintSession().accessToken, provider.url(.api))
            let fields = try DPoPKey().fields("GET", url, token: token)
            expectChallenge(try await Wire.send("GET", url, fields), "invalid_token")
            #expect(try await Flow(provider: provider).bearer(.api, token).status == 200)
        }
    }

    /// RFC 9449 §10 and §10.1.
    @Test(arguments: [true, false])
    func `a code can be bound to a key`(isPushed: Bool) async throws {
        try await withLocalProvider { provider in
            let (flow, key, url) = (Flow(provider: provider), try DPoPKey(), provider.url(.token))
            let browser = TestBrowser()
            func code() async throws -> String {
                guard isPushed else {
                    return try #require(try await flow.authorize(["dpop_jkt": key.thumbprint], in: browser)["code"])
                }
                let proof = try key.proof("POST", provider.url(.pushedAuthorization))
                let response = try await flow.push([:], [("DPoP", proof)])
                let uri = try #require(response.json?["request_uri"]?.string)
                return try #require(try await browser.authorize(flow.url(naming: uri))["code"])
            }
            for fields in [[], [("DPoP", try DPoPKey().proof("POST", url))]] {
                let refused = try await Wire.post(url, flow.codeForm(code()), fields)
                #expect(refused.json?["error"]?.string == "invalid_grant")
            }
            let response = try await Wire.post(url, flow.codeForm(code()), [("DPoP", try key.proof("POST", url))])
            #expect(response.json?["token_type"]?.string == "DPoP")
        }
    }

    @Test func `dpop_jkt is a thumbprint, and agrees with a proof beside it`() async throws {
        try await withLocalProvider { provider in
            let (flow, key, url) = (Flow(provider: provider), try DPoPKey(), provider.url(.pushedAuthorization))
            #expect(try await flow.refusal(["dpop_jkt": "short"])["error"] == "invalid_request")
            for (thumbprint, status) in [(try DPoPKey().thumbprint, 400), (key.thumbprint, 201)] {
                let proof = try key.proof("POST", url)
                let response = try await flow.push(["dpop_jkt": thumbprint], [("DPoP", proof)])
                #expect(response.status == status)
            }
            let wrong = try await flow.push([:], [("DPoP", try key.proof("POST", provider.url(.token)))])
            #expect(wrong.json?["error"]?.string == "invalid_dpop_proof")
        }
    }

    @Test func `a client can be held to DPoP`() async throws {
        var client = RegisteredClient.demoService
        client.requiresDPoP = true
        try await withLocalProvider(.demo { $0.clients = [client] }) { provider in
            let form = [
                (name: "grant_type", value: "client_credentials"), ("client_id", "demo-service"),
                ("client_secret", "service-secret-of-thirty-two-bytes"),
            ]
            let url = provider.url(.token)
            let plain = try await Wire.post(url, form)
            #expect(plain.status == 400)
            #expect(plain.json?["error"]?.string == "invalid_dpop_proof")
            let proof = try DPoPKey().proof("POST", url)
            #expect(try await Wire.post(url, form, [("DPoP", proof)]).status == 200)
        }
    }

    /// RFC 9449 §5 and §6.2.
    @Test func `introspection shows the key, and a confidential client's refresh token has none`() async throws {
        try await withLocalProvider { provider in
            let key = try DPoPKey()
            func introspect(_ token: String?) async throws -> JSON? {
                try await Wire.post(
                    provider.url(.introspection),
                    [
                        ("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes"),
                        ("token", try #require(token)),
                    ]
                ).json
            }
            let session = try provider.mintSession(boundTo: key.thumbprint)
            let access = try await introspect(session.accessToken)
            #expect(access?["token_type"]?.string == "DPoP")
            #expect(access?["cnf"]?["jkt"]?.string == key.thumbprint)
            let bearer = try await introspect(provider.mintSession().accessToken)
            #expect(bearer?["token_type"]?.string == "Bearer")
            #expect(bearer?["cnf"] == nil)
            let confidential = RegisteredClient.demoConfidential
            let token = try provider.mintSession(client: confidential.id, boundTo: key.thumbprint).refreshToken
            let flow = Flow(provider: provider, clientID: confidential.id)
            let refreshed = try await flow.refresh(
                #require(token), [("client_secret", try #require(confidential.secret))])
            #expect(refreshed.json?["token_type"]?.string == "Bearer")
        }
    }
}
