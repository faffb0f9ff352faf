import JOSE
import AppAuthTestProvider
import Testing

/// CIBA Core at the provider, in poll mode.
@Suite struct BackchannelTests {
    private static let secret = [
        ("client_id", "demo-confidential"), ("client_secret", "s3cret: 100% äß+/= and thirty-two"),
    ]
    .map { (name: $0.0, value: $0.1) }

    private func begin(
        _ provider: LocalProvider, _ changes: KeyValuePairs<String, String?> = [:]
    ) async throws -> Wire.Response {
        var form: [(name: String, value: String)] = [("scope", "openid"), ("login_hint", "alice")] + Self.secret
        for (name, value) in changes {
            form.removeAll { $0.name == name }
            if let value { form.append((name, value)) }
        }
        return try await Wire.post(provider.url(.backchannelAuthentication), form)
    }

    private func poll(_ provider: LocalProvider, _ id: String) async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [("grant_type", "urn:openid:params:grant-type:ciba"), ("auth_req_id", id)] + Self.secret)
    }

    @Test func `tokens come once the user has approved, and once`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let response = try #require(try await begin(provider).json)
            let id = try #require(response["auth_req_id"]?.string)
            #expect(response["expires_in"] == 600 && response["interval"] == 5)
            #expect(try await poll(provider, id).json?["error"] == "authorization_pending")
            #expect(try await poll(provider, id).json?["error"] == "slow_down")
            try provider.decide(id, isAllowed: true)
            clock.advance(10)
            let tokens = try await poll(provider, id)
            #expect(tokens.status == 200 && tokens.json?["id_token"] != nil)
            #expect(try await poll(provider, id).json?["error"] == "invalid_grant")
            #expect(provider.waitingApprovals.isEmpty)
        }
    }

    @Test func `a refusal and an expiry are reported`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let first = try #require(try await begin(provider).json?["auth_req_id"]?.string)
            try provider.decide(first, isAllowed: false)
            #expect(try await poll(provider, first).json?["error"] == "access_denied")
            let second = try #require(
                try await begin(provider, ["requested_expiry": "30"]).json?["auth_req_id"]?.string)
            clock.advance(30)
            #expect(try await poll(provider, second).json?["error"] == "expired_token")
            #expect(throws: ProviderError.self) { try provider.decide(second, isAllowed: true) }
        }
    }

    @Test(
        arguments: [
            ("login_hint", nil, "invalid_request"), ("id_token_hint", "e30.e30.AA", "invalid_request"),
            ("login_hint", "nobody", "unknown_user_id"), ("scope", "profile", "invalid_scope"),
            ("requested_expiry", "0", "invalid_request"), ("requested_expiry", "soon", "invalid_request"),
            ("binding_message", "two\nlines", "invalid_binding_message"), ("client_secret", "wrong", "invalid_client"),
        ] as [(String, String?, String)])
    func `a request that is wrong in one respect is refused`(name: String, value: String?, code: String) async throws {
        try await withLocalProvider { provider in
            let response = try await begin(provider, [name: value])
            #expect(response.json?["error"]?.string == code, "\(response.text)")
        }
    }

    @Test func `a public client may not ask`() async throws {
        try await withLocalProvider { provider in
            let response = try await begin(provider, ["client_id": "demo", "client_secret": nil])
            #expect(response.json?["error"] == "unauthorized_client")
        }
    }
}
