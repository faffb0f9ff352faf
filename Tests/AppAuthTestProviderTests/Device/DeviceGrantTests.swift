import JOSE
import AppAuthTestProvider
import Testing

/// The device authorization endpoint and its grant (RFC 8628 §3.1 to §3.5).
@Suite struct DeviceGrantTests {
    @Test func `a device gets its codes, and its tokens once they are approved`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = DeviceFlow(provider: provider)
            let response = try await flow.begin()
            #expect(response.userCode.wholeMatch(of: /[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}/) != nil)
            #expect(response.page == provider.issuer + "/device")
            #expect(response.pageWithCode == "\(response.page)?user_code=\(response.userCode)")
            #expect(response.document["expires_in"]?.int == 600)
            #expect(response.document["interval"]?.int == 5)
            #expect(try await flow.error(response.deviceCode) == "authorization_pending")
            #expect(try await flow.decide("allow", response).contains("The device is connected"))
            let tokens = try #require(try await flow.poll(response.deviceCode).json)
            #expect(tokens["scope"]?.string == "openid profile offline_access")
            #expect(tokens["refresh_token"]?.string != nil)
            let claims = try await verifiedClaims(tokens["id_token"]?.string, provider)
            #expect(claims["sub"]?.string == "248289761001")
            #expect(claims["nonce"] == nil)
            // Once, as a code.
            #expect(try await flow.error(response.deviceCode) == "invalid_grant")
        }
    }

    @Test func `metadata names the endpoint and the grant`() async throws {
        try await withLocalProvider { provider in
            for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
                let document = try #require(try await Wire.send("GET", provider.url(endpoint)).json)
                #expect(document["device_authorization_endpoint"]?.string == provider.url(.deviceAuthorization))
                #expect(document["grant_types_supported"]?.strings?.contains(DeviceFlow.grantType) == true)
            }
        }
    }

    // RFC 8628 §3.5
    @Test func `a client that polls too soon has to slow down permanently`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = DeviceFlow(provider: provider)
            let code = try await flow.begin().deviceCode
            for (pause, expected) in [
                (0.0, "authorization_pending"), (5.0, "authorization_pending"), (4.9, "slow_down"),
                (9.9, "slow_down"), (15.0, "authorization_pending"), (14.9, "slow_down"),
            ] {
                clock.advance(pause)
                #expect(try await flow.error(code) == expected, "after \(pause) s")
            }
        }
    }

    @Test func `a code that was not approved in time has expired, for the device and for the page`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = DeviceFlow(provider: provider)
            let response = try await flow.begin()
            clock.advance(599)
            #expect(try await flow.error(response.deviceCode) == "authorization_pending")
            clock.advance(1)
            #expect(try await flow.error(response.deviceCode) == "expired_token")
            let browser = TestBrowser()
            _ = try await browser.open(response.page)
            _ = try await browser.submit("continue", [("user_code", response.userCode)])
            #expect(browser.page?.status == 422)
        }
    }

    @Test func `no is access_denied, with and without signing in`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = DeviceFlow(provider: provider)
            let first = try await flow.begin()
            #expect(try await flow.decide("deny", first).contains("Nothing was shared with Demo App"))
            #expect(try await flow.error(first.deviceCode) == "access_denied")
            let second = try await flow.begin()
            let browser = TestBrowser()
            _ = try await browser.open(second.pageWithCode)
            _ = try await browser.submit("continue", [("user_code", second.userCode)])
            _ = try await browser.submit("deny")
            #expect(try await flow.error(second.deviceCode) == "access_denied")
        }
    }

    @Test func `a device code is valid only for its own client`() async throws {
        try await withLocalProvider(
            .demo { $0.clients.append(RegisteredClient(id: "other", grantTypes: [DeviceFlow.grantType])) }
        ) { provider in
            let flow = DeviceFlow(provider: provider)
            let code = try await flow.begin().deviceCode
            #expect(try await flow.poll(code, client: "other").json?["error"]?.string == "invalid_grant")
            #expect(try await flow.error("AAAA") == "invalid_grant")
            #expect(try await flow.error("") == "invalid_request")
            #expect(try await flow.error(code) == "authorization_pending")
        }
    }

    @Test(
        arguments: [
            ([("client_id", "demo"), ("scope", "openid")], 200, nil),
            ([("client_id", "demo")], 400, "invalid_scope"),
            ([("client_id", "demo"), ("scope", "unknown")], 400, "invalid_scope"),
            ([("client_id", "demo"), ("scope", "openid"), ("scope", "openid")], 400, "invalid_request"),
            ([("client_id", "nobody"), ("scope", "openid")], 401, "invalid_client"),
            ([("client_id", "demo-confidential"), ("scope", "openid")], 401, "invalid_client"),
            (
                [
                    ("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes"),
                    ("scope", "api"),
                ], 400,
                "unauthorized_client"
            ),
        ] as [([(name: String, value: String)], Int, String?)])
    func `a request for a code is checked like a token request`(
        form: [(name: String, value: String)], status: Int, error: String?
    ) async throws {
        try await withLocalProvider { provider in
            let response = try await Wire.post(provider.url(.deviceAuthorization), form)
            #expect(response.status == status)
            #expect(response.json?["error"]?.string == error)
            #expect(response.header("Cache-Control") == "no-store")
            #expect(try await Wire.send("GET", provider.url(.deviceAuthorization)).status == 405)
        }
    }

    @Test func `a client that may not use the grant gets no tokens by it`() async throws {
        try await withLocalProvider(.demo { $0.clients = [RegisteredClient(id: "demo")] }) { provider in
            let error = try await DeviceFlow(provider: provider).error("AAAA")
            #expect(error == "unauthorized_client")
        }
    }
}
