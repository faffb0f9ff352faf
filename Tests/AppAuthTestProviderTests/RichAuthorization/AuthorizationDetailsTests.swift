import JOSE
import AppAuthTestProvider
import Testing

/// Rich authorization requests (RFC 9396).
@Suite struct AuthorizationDetailsTests {
    private let payment: JSON = [
        "type": "payment_initiation", "actions": ["initiate"], "locations": ["https://bank.example/payments"],
        "instructedAmount": ["currency": "EUR", "amount": "123.50"], "creditorName": "Merchant <A>",
    ]
    private let account: JSON = ["type": "account_information", "actions": ["list_accounts"]]
    private let configuration = LocalProvider.Configuration.demo {
        $0.authorizationDetailsTypes = ["payment_initiation", "account_information"]
    }

    private func tokens(_ flow: Flow, _ back: Parameters) async throws -> JSON? {
        try await flow.exchange(#require(back["code"])).json
    }

    private func text(_ details: JSON...) -> String { JSON.array(details).serialized() }

    @Test func `the granted details are in the response and at introspection`() async throws {
        try await withLocalProvider(configuration) { provider in
            let flow = Flow(provider: provider)
            let back = try await flow.authorize(["authorization_details": text(payment, account)])
            let tokens = try #require(try await tokens(flow, back))
            #expect(tokens["authorization_details"] == .array([payment, account]))
            let introspection = try await Wire.post(
                provider.url(.introspection),
                [
                    ("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes"),
                    ("token", try #require(tokens["access_token"]?.string)),
                ])
            #expect(introspection.json?["authorization_details"] == .array([payment, account]))
            let refreshed = try await flow.refresh(#require(tokens["refresh_token"]?.string))
            #expect(refreshed.json?["authorization_details"] == .array([payment, account]))
            let plain = try await flow.authorize()
            let without = try await flow.exchange(#require(plain["code"]))
            #expect(without.status == 200)
            #expect(without.json?["authorization_details"] == nil)
        }
    }

    @Test func `the consent page shows them, each time`() async throws {
        try await withLocalProvider(configuration) { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            let changes: KeyValuePairs<String, String?> = ["prompt": nil, "authorization_details": text(payment)]
            for isFirst in [true, false] {
                #expect(try await browser.open(flow.authorizationURL(changes)) == nil)
                if isFirst { #expect(try await browser.signIn() == nil) }
                let page = try #require(browser.page?.text)
                #expect(page.contains("payment_initiation"))
                #expect(page.contains("<code>Merchant &lt;A&gt;</code>"))
                #expect(page.contains("123.50"))
                #expect(try await browser.submit("allow") != nil)
            }
            // Without them the user is not asked again.
            #expect(try await browser.open(flow.authorizationURL(["prompt": nil])) != nil)
        }
    }

    /// RFC 9396 §5 and §2.2.
    @Test(arguments: [
        "{}", "[]", "[1]", "no JSON", #"[{"actions":["initiate"]}]"#, #"[{"type":"unknown"}]"#, #"[{"type":1}]"#,
        #"[{"type":"payment_initiation"},{"type":"unknown"}]"#,
        #"[{"type":"payment_initiation","actions":"initiate"}]"#,
        #"[{"type":"payment_initiation","locations":[1]}]"#, #"[{"type":"payment_initiation","identifier":1}]"#,
    ])
    func `details of another kind are refused at each endpoint`(details: String) async throws {
        try await withLocalProvider(configuration) { provider in
            let flow = Flow(provider: provider)
            let refusal = try await flow.refusal(["authorization_details": details])
            #expect(refusal["error"] == "invalid_authorization_details")
            let pushed = try await flow.push(["authorization_details": details])
            #expect(pushed.status == 400)
            #expect(pushed.json?["error"]?.string == "invalid_authorization_details")
            let asked = try await ask(provider, details)
            #expect(asked.status == 400)
            #expect(asked.json?["error"]?.string == "invalid_authorization_details")
            let right = try await flow.push(["authorization_details": #"[{"type":"payment_initiation"}]"#])
            #expect(right.status == 201)
        }
    }

    private func ask(_ provider: LocalProvider, _ details: String) async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [
                ("grant_type", "client_credentials"), ("client_id", "demo-service"),
                ("client_secret", "service-secret-of-thirty-two-bytes"), ("authorization_details", details),
            ])
    }

    @Test func `a client may ask for details for itself`() async throws {
        try await withLocalProvider(configuration) { provider in
            let response = try await ask(provider, text(account))
            #expect(response.json?["authorization_details"] == .array([account]))
        }
    }

    /// RFC 9396 §6.
    @Test func `a token request may ask for fewer and not for others`() async throws {
        try await withLocalProvider(configuration) { provider in
            let flow = Flow(provider: provider)
            let wanted: KeyValuePairs<String, String?> = ["authorization_details": text(payment, account)]
            let browser = TestBrowser()
            let other = text(["type": "account_information", "actions": ["close_account"]])
            let spent = try #require(try await flow.authorize(wanted, in: browser)["code"])
            let refused = try await flow.exchange(spent, ["authorization_details": other])
            #expect(refused.json?["error"]?.string == "invalid_authorization_details")
            let code = try #require(try await flow.authorize(wanted, in: browser)["code"])
            let token = try #require(try await flow.exchange(code).json?["refresh_token"]?.string)
            let beyond = try await flow.refresh(token, [("authorization_details", other)])
            #expect(beyond.json?["error"]?.string == "invalid_authorization_details")
            let fewer = try await flow.refresh(token, [("authorization_details", text(account))])
            #expect(fewer.json?["authorization_details"] == .array([account]))
        }
    }

    @Test func `details need no scope`() async throws {
        try await withLocalProvider(configuration) { provider in
            let flow = Flow(provider: provider)
            let back = try await flow.authorize(["scope": nil, "authorization_details": text(account)])
            let tokens = try #require(try await tokens(flow, back))
            #expect(tokens["authorization_details"] == .array([account]))
            #expect(tokens["id_token"] == nil)
        }
    }

    @Test func `the metadata names the types`() async throws {
        try await withLocalProvider(configuration) { provider in
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            let types = metadata["authorization_details_types_supported"]?.strings
            #expect(types == ["payment_initiation", "account_information"])
        }
    }
}
