import JOSE
import AppAuthTestProvider
import Testing

@Suite struct FlowTests {
    @Test(arguments: ["", "/tenant", "/a/b"])
    func `a user signs in and the client gets verified claims`(path: String) async throws {
        try await withLocalProvider(.demo { $0.issuerPath = path }) { provider in
            let flow = Flow(provider: provider)
            let response = try await flow.authorize()
            #expect(response["state"] == "st&te=ü")
            #expect(response["iss"] == provider.issuer)
            let tokens = try await flow.exchange(#require(response["code"]))
            #expect(tokens.status == 200)
            #expect(tokens.header("Cache-Control") == "no-store")
            #expect(tokens.json?["token_type"]?.string == "Bearer")
            #expect(tokens.json?["expires_in"]?.int == 3600)
            #expect(tokens.json?["scope"]?.string == "openid profile email offline_access")

            let claims = try await verifiedClaims(tokens.json?["id_token"]?.string, provider)
            #expect(claims["iss"]?.string == provider.issuer)
            #expect(claims["aud"]?.string == "demo")
            #expect(claims["sub"]?.string == "248289761001")
            #expect(claims["nonce"]?.string == "n-0S6_WzA2Mj")
            #expect(claims["auth_time"]?.int != nil)
            #expect(claims["email"]?.string == "alice@example.com")

            let token = try #require(tokens.json?["access_token"]?.string)
            let userInfo = try await flow.bearer(.userInfo, token)
            #expect(userInfo.json?["sub"]?.string == "248289761001")
            #expect(userInfo.json?["name"]?.string == "Alice Liddell")
            #expect(try await flow.bearer(.api, token).json?["sub"]?.string == "248289761001")

            let refreshToken = try #require(tokens.json?["refresh_token"]?.string)
            let refreshed = try await flow.refresh(refreshToken)
            #expect(refreshed.status == 200)
            #expect(refreshed.json?["refresh_token"]?.string != refreshToken)
            let later = try await verifiedClaims(refreshed.json?["id_token"]?.string, provider)
            #expect(later["sub"] == claims["sub"])
            #expect(later["auth_time"] == claims["auth_time"])
            #expect(later["nonce"] == nil)
        }
    }

    /// OpenID Connect Core §3.1.3.6: the left half of the hash of the access token, by the algorithm of the signature.
    @Test(arguments: SignatureAlgorithm.available)
    func `an ID token can be signed with any algorithm and fits its access token`(algorithm: SignatureAlgorithm)
        async throws
    {
        var client = RegisteredClient.demo
        client.idTokenAlgorithm = algorithm
        try await withLocalProvider(.demo { $0.clients = [client] }) { provider in
            let session = try provider.mintSession()
            let claims = try await verifiedClaims(session.idToken, provider)
            let hash = algorithm.digest?.hash(session.accessToken)
            #expect(claims["at_hash"]?.string == hash.map { Base64URL.encode(Array($0.prefix($0.count / 2))) })
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            let algorithms = try #require(metadata["id_token_signing_alg_values_supported"]?.strings)
            #expect(algorithms.contains(algorithm.rawValue))
        }
    }

    @Test func `the provider responses on IPv6 and as localhost`() async throws {
        for (host, prefix) in [("::1", "http://[::1]:"), ("localhost", "http://localhost:")] {
            try await withLocalProvider(host: host) { provider in
                #expect(provider.issuer.hasPrefix(prefix))
                let response = try await Wire.send("GET", provider.url(.openIDConfiguration))
                #expect(response.json?["issuer"]?.string == provider.issuer)
            }
        }
    }

    @Test(arguments: ["0.0.0.0", "192.168.1.1", "::", "example.com"])
    func `an address that is not loopback is refused`(host: String) async throws {
        await #expect(throws: ProviderError.self) { try await LocalProvider.start(host: host) }
    }

    @Test func `a port that is taken is refused`() async throws {
        try await withLocalProvider { provider in
            await #expect(throws: ProviderError.self) { try await LocalProvider.start(port: provider.port) }
        }
    }
}
