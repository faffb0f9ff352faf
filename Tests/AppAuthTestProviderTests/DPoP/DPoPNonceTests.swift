import JOSE
import AppAuthTestProvider
import Testing

/// The provider's nonce in DPoP proofs (RFC 9449 §8, §9).
@Suite struct DPoPNonceTests {
    private func ask(_ provider: LocalProvider, _ proof: String) async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [
                ("grant_type", "client_credentials"), ("client_id", "demo-service"),
                ("client_secret", "service-secret-of-thirty-two-bytes"),
            ],
            [("DPoP", proof)])
    }

    private func expectChallenge(_ response: Wire.Response) -> String {
        #expect(response.status == 400)
        #expect(response.json?["error"]?.string == "use_dpop_nonce")
        #expect(response.headers("DPoP-Nonce").count == 1)
        return response.header("DPoP-Nonce") ?? ""
    }

    @Test func `without nonces none is given out`() async throws {
        try await withLocalProvider { provider in
            let response = try await ask(provider, try DPoPKey().proof("POST", provider.url(.token)))
            #expect(response.status == 200)
            #expect(response.header("DPoP-Nonce") == nil)
        }
    }

    @Test func `the token endpoint asks for its nonce, gives it out, and takes the one before it`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(
            .demo {
                $0.clock = clock.read
                $0.dpopNonce = .required(lifetime: 10)
            }
        ) { provider in
            let (key, url) = (try DPoPKey(), provider.url(.token))
            func ask(nonce: String?) async throws -> Wire.Response {
                try await self.ask(provider, key.proof("POST", url, nonce: nonce, at: clock.now))
            }
            let nonce = expectChallenge(try await ask(nonce: nil))
            #expect(expectChallenge(try await ask(nonce: "another")) == nonce)
            let first = try await ask(nonce: nonce)
            #expect(first.status == 200)
            #expect(first.header("DPoP-Nonce") == nonce)
            clock.advance(10)
            let second = try await ask(nonce: nonce)
            #expect(second.status == 200)
            let next = try #require(second.header("DPoP-Nonce"))
            #expect(next != nonce)
            clock.advance(9.5)
            #expect(try await ask(nonce: nonce).status == 200)
            #expect(try await ask(nonce: next).status == 200)
            clock.advance(0.5)
            #expect(expectChallenge(try await ask(nonce: nonce)) != nonce)
            #expect(try await ask(nonce: next).status == 200)
            provider.forgetDPoPNonces()
            let fresh = expectChallenge(try await ask(nonce: next))
            #expect(try await ask(nonce: fresh).status == 200)
        }
    }

    @Test func `a proof that was challenged is used up`() async throws {
        try await withLocalProvider(.demo { $0.dpopNonce = .required() }) { provider in
            let (key, url) = (try DPoPKey(), provider.url(.token))
            let same: (inout DPoPKey.Draft) -> Void = { $0.claims["jti"] = "same" }
            let nonce = expectChallenge(try await ask(provider, try key.proof("POST", url, same)))
            let again = try await ask(provider, try key.proof("POST", url, nonce: nonce, same))
            #expect(again.json?["error"]?.string == "invalid_dpop_proof")
        }
    }

    @Test func `a pushed request may lack a proof, and a proof may not lack the nonce`() async throws {
        try await withLocalProvider(.demo { $0.dpopNonce = .required() }) { provider in
            let (flow, key, url) = (Flow(provider: provider), try DPoPKey(), provider.url(.pushedAuthorization))
            let plain = try await flow.push()
            #expect(plain.status == 201)
            let nonce = expectChallenge(try await flow.push([:], [("DPoP", try key.proof("POST", url))]))
            #expect(plain.header("DPoP-Nonce") == nonce)
            let response = try await flow.push([:], [("DPoP", try key.proof("POST", url, nonce: nonce))])
            #expect(response.status == 201)
        }
    }

    @Test(arguments: [Endpoint.userInfo, .api])
    func `a resource asks for its nonce with a challenge`(endpoint: Endpoint) async throws {
        try await withLocalProvider(.demo { $0.dpopNonce = .required() }) { provider in
            let (key, url) = (try DPoPKey(), provider.url(endpoint))
            let token = try provider.mintSession(boundTo: key.thumbprint).accessToken
            let challenge = try await Wire.send("GET", url, key.fields("GET", url, token: token))
            #expect(challenge.status == 401)
            let field = try #require(challenge.header("WWW-Authenticate"))
            #expect(field.hasPrefix("DPoP "))
            #expect(field.contains(#"error="use_dpop_nonce""#))
            let nonce = try #require(challenge.header("DPoP-Nonce"))
            let response = try await Wire.send("GET", url, key.fields("GET", url, token: token, nonce: nonce))
            #expect(response.status == 200)
            #expect(response.header("DPoP-Nonce") == nonce)
        }
    }
}
