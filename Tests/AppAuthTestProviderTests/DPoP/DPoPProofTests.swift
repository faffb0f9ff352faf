import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Each check of a DPoP proof with one thing wrong (RFC 9449 §4.3). The right case is ``DPoPKey/proof(_:_:token:nonce:at:signedBy:_:)``.
@Suite struct DPoPProofTests {
    private func ask(_ provider: LocalProvider, _ proofs: [String]) async throws -> Wire.Response {
        try await Wire.post(
            provider.url(.token),
            [
                ("grant_type", "client_credentials"), ("client_id", "demo-service"),
                ("client_secret", "service-secret-of-thirty-two-bytes"),
            ],
            proofs.map { ("DPoP", $0) })
    }

    private func expectRefusal(_ response: Wire.Response) {
        #expect(response.status == 400)
        #expect(response.json?["error"]?.string == "invalid_dpop_proof")
    }

    @Test(arguments: SignatureAlgorithm.available)
    func `a proof of any algorithm gets a token of the type DPoP`(algorithm: SignatureAlgorithm) async throws {
        try await withLocalProvider { provider in
            let proof = try DPoPKey(algorithm).proof("POST", provider.url(.token))
            let response = try await ask(provider, [proof])
            #expect(response.status == 200)
            #expect(response.json?["token_type"]?.string == "DPoP")
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            let algorithms = metadata["dpop_signing_alg_values_supported"]?.strings
            #expect(algorithms?.contains(algorithm.rawValue) == true)
        }
    }

    static let wrong: [(String, @Sendable (inout DPoPKey.Draft) -> Void)] = [
        ("no typ", { $0.header["typ"] = nil }), ("another typ", { $0.header["typ"] = "JWT" }),
        ("no jwk", { $0.header["jwk"] = nil }), ("a broken jwk", { $0.header["jwk"] = ["kty": "EC"] }),
        ("crit", { $0.header["crit"] = ["jwk"] }),
        ("no htm", { $0.claims["htm"] = nil }), ("another htm", { $0.claims["htm"] = "GET" }),
        ("no htu", { $0.claims["htu"] = nil }), ("another htu", { $0.claims["htu"] = "http://127.0.0.1/token" }),
        ("no jti", { $0.claims["jti"] = nil }), ("an empty jti", { $0.claims["jti"] = "" }),
        ("no iat", { $0.claims["iat"] = nil }), ("iat as text", { $0.claims["iat"] = "1800000000" }),
        ("an old iat", { $0.claims["iat"] = 1_799_999_939 }), ("an early iat", { $0.claims["iat"] = 1_800_000_061 }),
    ]

    @Test(arguments: wrong)
    func `a proof with one thing wrong is refused`(
        what: String, edit: @Sendable (inout DPoPKey.Draft) -> Void
    ) async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let url = provider.url(.token)
            let wrong = try DPoPKey().proof("POST", url, at: clock.now, edit)
            expectRefusal(try await ask(provider, [wrong]))
            let right = try DPoPKey().proof("POST", url, at: clock.now)
            #expect(try await ask(provider, [right]).status == 200)
        }
    }

    @Test func `an htu with a query or a fragment is refused`() async throws {
        try await withLocalProvider { provider in
            for end in ["?a=b", "#f", "/"] {
                expectRefusal(try await ask(provider, [try DPoPKey().proof("POST", provider.url(.token) + end)]))
            }
        }
    }

    @Test func `the time may be a minute off either way`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            for seconds in [-60.0, 60.0] {
                let proof = try DPoPKey().proof("POST", provider.url(.token), at: clock.now + seconds)
                #expect(try await ask(provider, [proof]).status == 200)
            }
        }
    }

    @Test func `a proof counts once, and not beside another`() async throws {
        try await withLocalProvider { provider in
            let (key, url) = (try DPoPKey(), provider.url(.token))
            let proof = try key.proof("POST", url)
            #expect(try await ask(provider, [proof]).status == 200)
            expectRefusal(try await ask(provider, [proof]))
            expectRefusal(try await ask(provider, [try key.proof("POST", url), try key.proof("POST", url)]))
            // The same jti of another key is another proof.
            let same: (inout DPoPKey.Draft) -> Void = { $0.claims["jti"] = "same" }
            #expect(try await ask(provider, [try key.proof("POST", url, same)]).status == 200)
            expectRefusal(try await ask(provider, [try key.proof("POST", url, same)]))
            #expect(try await ask(provider, [try DPoPKey().proof("POST", url, same)]).status == 200)
        }
    }

    @Test func `a signature has to be that of the public key in the proof`() async throws {
        try await withLocalProvider { provider in
            let (key, url) = (try DPoPKey(), provider.url(.token))
            expectRefusal(
                try await ask(provider, [try key.proof("POST", url, signedBy: SigningKey.generate(.es256))]))
            // A symmetric key and none at all.
            let parts = try key.proof("POST", url).split(separator: ".")
            let payload = try JSON(parsing: #require(Base64URL.decode(String(parts[1]))))
            let header: JSON.Object = ["typ": "dpop+jwt", "jwk": key.key.publicKey.json]
            let secret = Array(key.key.publicKey.json.serialized().utf8)
            expectRefusal(
                try await ask(provider, [try JWS.sign(payload, header: header, secret: secret, algorithm: .hs256)]))
            var none = header
            none["alg"] = "none"
            let text = Base64URL.encode(Array(JSON.object(none).serialized().utf8))
            expectRefusal(try await ask(provider, ["\(text).\(parts[1])."]))
            expectRefusal(try await ask(provider, ["no proof"]))
        }
    }

    /// RFC 9449 §4.3 step 7: the key must not be a private one, even if the signature is right.
    @Test func `a private key in the proof is refused`() async throws {
        // RFC 8037 appendix A.1.
        let jwk: JSON.Object = [
            "kty": "OKP", "crv": "Ed25519", "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        ]
        var open = jwk
        open["d"] = nil
        let key = try SigningKey(PrivateKey(jwk: .object(jwk)), .edDSA)
        try await withLocalProvider { [open] provider in
            for (member, isRefused) in [(jwk, true), (open, false)] {
                let proof = try DPoPKey().proof("POST", provider.url(.token), signedBy: key) {
                    $0.header["jwk"] = .object(member)
                }
                #expect(try await ask(provider, [proof]).status == (isRefused ? 400 : 200))
            }
        }
    }

    @Test func `a provider may accept only some algorithms`() async throws {
        try await withLocalProvider(.demo { $0.dpopAlgorithms = [.es256] }) { provider in
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            #expect(metadata["dpop_signing_alg_values_supported"]?.strings == ["ES256"])
            let url = provider.url(.token)
            expectRefusal(try await ask(provider, [try DPoPKey(.edDSA).proof("POST", url)]))
            #expect(try await ask(provider, [try DPoPKey(.es256).proof("POST", url)]).status == 200)
        }
    }
}
