import JOSE
import AppAuthTestProvider
import Testing

/// Step-up authentication (RFC 9470).
@Suite struct StepUpTests {
    private let strong = "urn:example:two-factors"

    private func configuration(
        _ requirement: AuthenticationRequirement = .init(), _ clock: ManualClock = ManualClock()
    ) -> LocalProvider.Configuration {
        .demo {
            $0.clock = clock.read
            $0.acrValues.append(strong)
            $0.authenticationRequirements = [.api: requirement]
        }
    }

    private func token(_ flow: Flow, _ back: Parameters) async throws -> String {
        let response = try await flow.exchange(#require(back["code"]))
        return try #require(response.json?["access_token"]?.string)
    }

    /// RFC 9470 §3.
    @Test func `a resource asks for another way to sign in, and gets it`() async throws {
        try await withLocalProvider(configuration(.init(acrValues: [strong, "urn:example:gold"]))) { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            let weak = try await token(flow, try await flow.authorize(in: browser))
            #expect(try await flow.bearer(.userInfo, weak).status == 200)
            let challenge = try await flow.bearer(.api, weak)
            #expect(challenge.status == 401)
            let field = try #require(challenge.header("WWW-Authenticate"))
            #expect(field.hasPrefix("Bearer "))
            #expect(field.contains(#"error="insufficient_user_authentication""#))
            #expect(field.contains(#"acr_values="\#(strong) urn:example:gold""#))
            #expect(!field.contains("max_age"))

            let changes: KeyValuePairs<String, String?> = ["acr_values": "urn:example:unknown \(strong)"]
            let code = try #require(try await flow.authorize(changes, in: browser)["code"])
            let tokens = try #require(try await flow.exchange(code).json)
            let claims = try await verifiedClaims(tokens["id_token"]?.string, provider)
            #expect(claims["acr"]?.string == strong)
            #expect(try await flow.bearer(.api, #require(tokens["access_token"]?.string)).status == 200)
            #expect(try await flow.bearer(.api, weak).status == 401)
        }
    }

    @Test func `a resource asks for a sign-in of late`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(configuration(.init(maxAge: 60), clock)) { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            let old = try await token(flow, try await flow.authorize(in: browser))
            clock.advance(60)
            #expect(try await flow.bearer(.api, old).status == 200)
            clock.advance(1)
            let challenge = try await flow.bearer(.api, old)
            #expect(challenge.status == 401)
            let field = try #require(challenge.header("WWW-Authenticate"))
            #expect(field.contains(#"error="insufficient_user_authentication""#))
            #expect(field.hasSuffix(#", max_age="60""#))
            // The browser is signed in still, and has to sign in once more.
            let again = try await flow.authorize(["max_age": "60"], in: browser)
            #expect(try await flow.bearer(.api, token(flow, again)).status == 200)
        }
    }

    @Test func `a bound token gets the challenge in its own scheme`() async throws {
        try await withLocalProvider(configuration(.init(acrValues: [strong]))) { provider in
            let (key, url) = (try DPoPKey(), provider.url(.api))
            let token = try provider.mintSession(boundTo: key.thumbprint).accessToken
            // The provider's clock stands still.
            let time = ManualClock().now
            let response = try await Wire.send("GET", url, key.fields("GET", url, token: token, at: time))
            let field = try #require(response.header("WWW-Authenticate"))
            #expect(field.hasPrefix("DPoP "))
            #expect(field.contains(#"error="insufficient_user_authentication""#))
        }
    }

    @Test func `a sign-in that is too weak counts for nothing where another is asked for`() async throws {
        try await withLocalProvider(configuration()) { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            let code = try #require(try await flow.authorize(in: browser)["code"])
            let first = try await flow.exchange(code)
            let claims = try await verifiedClaims(first.json?["id_token"]?.string, provider)
            let usual = try #require(claims["acr"]?.string)
            let strongly: KeyValuePairs<String, String?> = ["acr_values": strong, "prompt": "none"]
            let silent = try await browser.open(flow.authorizationURL(strongly))
            #expect(try Flow.response(in: silent)["error"] == "login_required")
            #expect(try await browser.open(flow.authorizationURL(["acr_values": strong, "prompt": nil])) == nil)
            #expect(try await browser.signIn() != nil)
            // Now it is strong, and an unknown acr is ignored.
            for wish in [strong, "urn:example:unknown"] {
                let response = try await browser.open(flow.authorizationURL(["acr_values": wish, "prompt": "none"]))
                #expect(try Flow.response(in: response)["code"] != nil)
            }
            // The other way round it is another sign-in, too: acr_values names ways, not levels.
            let back = try await browser.open(flow.authorizationURL(["acr_values": usual, "prompt": "none"]))
            #expect(try Flow.response(in: back)["error"] == "login_required")
        }
    }

    @Test func `an essential acr is had or refused, and the metadata names them`() async throws {
        try await withLocalProvider(configuration()) { provider in
            let flow = Flow(provider: provider)
            func claims(_ value: String) -> String { #"{"id_token":{"acr":{"essential":true,"value":"\#(value)"}}}"# }
            let code = try #require(try await flow.authorize(["claims": claims(strong)])["code"])
            let token = try #require(try await flow.exchange(code).json?["id_token"]?.string)
            #expect(try await verifiedClaims(token, provider)["acr"]?.string == strong)
            let refusal = try await flow.refusal(["claims": claims("urn:example:unknown")])
            #expect(refusal["error"] == "unmet_authentication_requirements")
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            #expect(metadata["acr_values_supported"]?.strings?.last == strong)
        }
    }

    /// RFC 8693 §1.1: the token that comes out is about the same sign-in.
    @Test func `a token that was exchanged is as strong as the one before`() async throws {
        try await withLocalProvider(configuration(.init(acrValues: [strong]))) { provider in
            let flow = Flow(provider: provider)
            let type = "urn:ietf:params:oauth:token-type:access_token"
            for (acr, status) in [(strong, 200), (nil, 401)] {
                let access = try await token(flow, try await flow.authorize(["acr_values": acr]))
                let response = try await Wire.post(
                    provider.url(.token),
                    [
                        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                        ("client_id", "demo-confidential"),
                        ("client_secret", RegisteredClient.demoConfidential.secret ?? ""),
                        ("subject_token", access), ("subject_token_type", type),
                    ])
                let exchanged = try #require(response.json?["access_token"]?.string)
                #expect(try await flow.bearer(.api, exchanged).status == status)
            }
        }
    }

    /// RFC 9470 §6.2.
    @Test func `introspection says how and when the user signed in`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(configuration(.init(), clock)) { provider in
            let flow = Flow(provider: provider)
            let access = try await token(flow, try await flow.authorize(["acr_values": strong]))
            let introspection = try await Wire.post(
                provider.url(.introspection),
                [
                    ("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes"),
                    ("token", access),
                ])
            #expect(introspection.json?["acr"]?.string == strong)
            #expect(introspection.json?["auth_time"]?.int == 1_800_000_000)
        }
    }
}
