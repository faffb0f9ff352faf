import AppAuthProtocol
import AppAuthSession
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §3.1.3.7 steps 6 to 8, RFC 8725 §3.1 and §3.2.
struct IDTokenSignatureTests {
    // oidcc-client-test-idtoken-sig-rs256, rp-id_token-sig-es256; oidcc-client-test-invalid-sig-rs256, …-es256
    @Test(arguments: SignatureAlgorithm.available)
    func `a signature is accepted by the right key, and refused by another one or with a bit turned`(
        algorithm: SignatureAlgorithm
    ) throws {
        let (signer, other) = (try Signer(algorithm), try Signer(algorithm, number: 1))
        let verifier = try Signer.verifier(algorithms: [algorithm.rawValue])
        let token = try signer.token()
        _ = try verifier.verify(token, keys: signer.keys, expecting: .usual)
        expect("signature", try verifier.verify(token, keys: other.keys, expecting: .usual))
        expect("signature", try verifier.verify(damaged(token), keys: signer.keys, expecting: .usual))
        let forged = try other.token { $0["sub"] = "root" }
        expect("signature", try verifier.verify(forged, keys: signer.keys, expecting: .usual))
    }

    // fapi2-…-invalid-alternate-alg
    @Test func `an algorithm that the provider does not list is refused`() throws {
        let signer = try Signer(.es256)
        let verifier = try Signer.verifier(algorithms: ["RS256"])
        expect("algorithm of 'RS256'", try verifier.verify(signer.token(), keys: signer.keys, expecting: .usual))
    }

    @Test func `a provider that lists nothing signs with RS256 (Core §15.1)`() throws {
        let client = Client(id: "s6BhdRkqt3", provider: try Signer.provider(nil))
        var verifier = IDTokenVerifier(client: client)
        verifier.now = { Timestamp(wall: Signer.now) }
        let (rs256, es256) = (try Signer(.rs256), try Signer(.es256))
        _ = try verifier.verify(rs256.token(), keys: rs256.keys, expecting: .usual)
        expect("algorithm of 'RS256'", try verifier.verify(es256.token(), keys: es256.keys, expecting: .usual))
    }

    @Test(.enabled(if: !SignatureAlgorithm.available.contains(.mlDSA65), "libcrypto has ML-DSA"))
    func `an algorithm that libcrypto is too old for is named`() throws {
        let header = JSON.object(["alg": "ML-DSA-65", "kid": "key-1"])
        let parts = [header, .object(Signer.claims)].map { Base64URL.encode(Array($0.serialized().utf8)) }
        let token = Secret(parts.joined(separator: ".") + ".AAAA")
        let verifier = try Signer.verifier(algorithms: ["ML-DSA-65"])
        expect(
            "ML-DSA-65 needs libcrypto 3.5 or newer", try verifier.verify(token, keys: Signer().keys, expecting: .usual)
        )
    }

    // RFC 9864 names EdDSA with Ed25519 so.
    @Test(arguments: ["EdDSA", "Ed25519"])
    func `EdDSA may be listed by either name`(name: String) throws {
        let signer = try Signer(.edDSA)
        _ = try Signer.verifier(algorithms: [name]).verify(signer.token(), keys: signer.keys, expecting: .usual)
    }

    // oidcc-client-test-idtoken-sig-none, fapi2-…-invalid-null-alg
    @Test(arguments: ["none", "None", "NONE", ""])
    func `a token without a signature is refused, also by a provider that lists none`(alg: String) throws {
        let header = JSON.object(["alg": .string(alg), "kid": "key-1"])
        let parts = [header, .object(Signer.claims)].map { Base64URL.encode(Array($0.serialized().utf8)) }
        let verifier = try Signer.verifier(algorithms: ["none", "None", "NONE", "", "ES256"])
        let keys = try Signer().keys
        for signature in ["", "AA"] {
            let token = Secret(parts.joined(separator: ".") + "." + signature)
            expect("a supported algorithm", try verifier.verify(token, keys: keys, expecting: .usual))
        }
    }

    // rp-id_token-sig-hs256, oidcc-client-test-invalid-sig-hs256
    @Test(arguments: MACAlgorithm.allCases)
    func `HS256 and its like are verified with the client secret`(algorithm: MACAlgorithm) throws {
        let keys = try Signer.keySet([])
        let secret = String(repeating: "a client secret ", count: algorithm.digest.byteCount / 16)
        let token = mac(secret, algorithm)
        let verifier = try Signer.verifier(secret: secret)
        _ = try verifier.verify(token, keys: keys, expecting: .usual)
        let other = try Signer.verifier(secret: secret.replacing("a", with: "b"))
        expect("by the client secret", try other.verify(token, keys: keys, expecting: .usual))
        expect("by the client secret", try verifier.verify(damaged(token), keys: keys, expecting: .usual))
        expect("the client has no secret", try Signer.verifier().verify(token, keys: keys, expecting: .usual))
    }

    // Core §3.1.3.7 step 7, §3.3.2.12
    @Test func `an HMAC counts for a token from the browser only where the client is registered so`() throws {
        let secret = "a client secret of thirty-two bytes"
        func verify(_ registered: String?, isFromBrowser: Bool) throws -> IDToken {
            let client = Client(
                id: "s6BhdRkqt3", authentication: .clientSecretBasic(Secret(secret)),
                provider: try Signer.provider(["ES256", "HS256"]))
            var verifier = IDTokenVerifier(client: client)
            verifier.client.idTokenRules.signedResponseAlgorithm = registered
            verifier.now = { Timestamp(wall: Signer.now) }
            var expected = IDTokenVerifier.Expectations.usual
            expected.isFromBrowser = isFromBrowser
            return try verifier.verify(mac(secret, .hs256), keys: Signer.keySet([]), expecting: expected)
        }
        expect("algorithm of 'ES256', found 'HS256'", try verify(nil, isFromBrowser: true))
        expect("algorithm of 'ES256', found 'HS256'", try verify("ES256", isFromBrowser: false))
        _ = try verify(nil, isFromBrowser: false)
        _ = try verify("HS256", isFromBrowser: true)
    }

    @Test func `the algorithm that an app names is the only one, also in a stored session`() throws {
        let (elliptic, rsa) = (try Signer(.es256), try Signer(.rs256))
        var client = Client(id: "s6BhdRkqt3", provider: try Signer.provider(["RS256", "ES256"]))
        client.idTokenRules.signedResponseAlgorithm = "ES256"
        let record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil)
        let stored = try AuthStateRecord(decoding: record.encoded(), from: "a test").client
        #expect(stored == client)
        for client in [client, stored] {
            var verifier = IDTokenVerifier(client: client)
            verifier.now = { Timestamp(wall: Signer.now) }
            _ = try verifier.verify(elliptic.token(), keys: elliptic.keys, expecting: .usual)
            expect(
                "algorithm of 'ES256', found 'RS256'",
                try verifier.verify(rsa.token(), keys: rsa.keys, expecting: .usual))
        }
    }

    // RFC 7518 §3.2, RFC 8725 §3.5, OpenID Connect Core §16.19
    @Test(arguments: MACAlgorithm.allCases)
    func `an HMAC with a secret that is shorter than its digest is refused`(algorithm: MACAlgorithm) throws {
        let needed = algorithm.digest.byteCount
        for count in [0, 1, needed - 1, needed, needed + 1] {
            let secret = String(repeating: "s", count: count)
            let (verifier, token) = (try Signer.verifier(secret: secret), mac(secret, algorithm))
            if count >= needed {
                _ = try verifier.verify(token, keys: Signer.keySet([]), expecting: .usual)
            } else {
                expect(
                    "expected a secret of at least \(needed) bytes for \(algorithm.rawValue), found \(count)",
                    try verifier.verify(token, keys: Signer.keySet([]), expecting: .usual))
            }
        }
    }

    @Test func `an HMAC with an empty secret, or with the public key as the secret, is refused (RFC 8725 §2.1)`() throws
    {
        let signer = try Signer(.rs256)
        let keys = try signer.keys
        let empty = try Signer.verifier(secret: "")
        expect("at least 32 bytes", try empty.verify(mac("", .hs256), keys: keys, expecting: .usual))
        let published = signer.jwk().serialized()
        for verifier in [try Signer.verifier(), try Signer.verifier(secret: "something else of length")] {
            expect("secret", try verifier.verify(mac(published, .hs256), keys: keys, expecting: .usual))
        }
    }

    @Test func `an HMAC is refused where the provider does not list it`() throws {
        let secret = "a client secret of thirty-two bytes"
        let verifier = try Signer.verifier(secret: secret, algorithms: ["RS256"])
        let token = mac(secret, .hs256)
        expect("algorithm of 'RS256'", try verifier.verify(token, keys: Signer.keySet([]), expecting: .usual))
    }

    @Test func `a header with crit is refused (RFC 7515 §4.1.11)`() throws {
        let signer = try Signer()
        let header: JSON.Object = ["kid": "key-1", "crit": ["b64"], "b64": true]
        let token = try JWS.sign(.object(Signer.claims), header: header, with: signer.key)
        expect("crit", try Signer.verifier().verify(Secret(token), keys: signer.keys, expecting: .usual))
    }

    @Test func `a key in the token itself is not used (RFC 8725 §3.10)`() throws {
        let (signer, attacker) = (try Signer(), try Signer())
        let header: JSON.Object = ["kid": "key-1", "jwk": attacker.jwk(), "jku": "https://evil.example/jwks"]
        let token = try JWS.sign(.object(Signer.claims), header: header, with: attacker.key)
        expect("signature", try Signer.verifier().verify(Secret(token), keys: signer.keys, expecting: .usual))
    }

    /// Made by hand, since signing refuses a secret that is too short.
    private func mac(_ secret: String, _ algorithm: MACAlgorithm) -> Secret {
        let parts = [["alg": .string(algorithm.rawValue)], JSON.object(Signer.claims)]
            .map { Base64URL.encode(Array(($0 as JSON).serialized().utf8)) }
        let input = parts.joined(separator: ".")
        return Secret(
            input + "." + Base64URL.encode(algorithm.digest.hmac(key: Array(secret.utf8), Array(input.utf8))))
    }

    private func damaged(_ token: Secret) throws -> Secret {
        var parts = token.reveal().split(separator: ".").map(String.init)
        var signature = try #require(Base64URL.decode(parts[2]))
        signature[signature.count / 2] ^= 1
        parts[2] = Base64URL.encode(signature)
        return Secret(parts.joined(separator: "."))
    }

    private func expect(
        _ what: String, _ operation: @autoclosure () throws -> IDToken, at location: SourceLocation = #_sourceLocation
    ) {
        let error = refusal(operation)
        #expect(error?.code == .invalidIDToken, sourceLocation: location)
        #expect(error?.message.contains(what) == true, "\(error?.message ?? "")", sourceLocation: location)
    }
}
