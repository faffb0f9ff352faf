import JOSE
import Testing

@Suite struct SigningTests {
    @Test(arguments: SignatureAlgorithm.available)
    func `the public key verifies the signatures of a new key`(algorithm: SignatureAlgorithm) throws {
        let signer = try TestKeys.signing(algorithm)
        let key = try VerificationKey(signer.publicKey)
        for message in [[], [0], Array("a message".utf8), [UInt8](repeating: 7, count: 100_000)] {
            let signature = try signer.sign(message)
            #expect(key.verifies(signature, of: message, algorithm: algorithm))
            #expect(!key.verifies(signature, of: message + [0], algorithm: algorithm))
        }
    }

    @Test(arguments: SignatureAlgorithm.available)
    func `a token comes back with its claims and header`(algorithm: SignatureAlgorithm) throws {
        let (signer, other) = (try TestKeys.signing(algorithm), try TestKeys.signing(algorithm, isOther: true))
        let token = try JWS.sign(
            ["sub": "ada", "exp": 1_700_000_000], header: ["kid": "1", "typ": "JWT"], with: signer)
        let jws = try JWS(compact: token)
        #expect(jws.header.alg == algorithm.rawValue)
        #expect(jws.header.kid == "1")
        #expect(jws.header.typ == "JWT")
        #expect(try JSON(parsing: jws.payload)["sub"] == "ada")
        #expect(jws.isSigned(by: try VerificationKey(signer.publicKey), algorithm: algorithm))
        #expect(!jws.isSigned(by: try VerificationKey(other.publicKey), algorithm: algorithm))
    }

    @Test(arguments: MACAlgorithm.allCases)
    func `a token with a shared secret comes back`(algorithm: MACAlgorithm) throws {
        let secret = try randomBytes(64)
        let jws = try JWS(compact: JWS.sign(["sub": "ada"], secret: secret, algorithm: algorithm))
        #expect(jws.header.alg == algorithm.rawValue)
        #expect(jws.signature.count == algorithm.digest.byteCount)
        #expect(jws.isSigned(bySecret: secret, algorithm: algorithm))
        #expect(!jws.isSigned(bySecret: secret + [1], algorithm: algorithm))
        #expect(!jws.isSigned(bySecret: [], algorithm: algorithm))
    }

    @Test func `the header's algorithm is the key's, even if the caller sets another`() throws {
        let signer = try SigningKey.generate(.es256)
        let jws = try JWS(compact: JWS.sign([:], header: ["alg": "none", "typ": "JWT"], with: signer))
        #expect(jws.header.alg == "ES256")
        #expect(jws.header.typ == "JWT")
    }

    @Test(arguments: SignatureAlgorithm.available)
    func `a private key comes back from PEM`(algorithm: SignatureAlgorithm) throws {
        let signer = try TestKeys.signing(algorithm)
        #expect(signer.pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let again = try SigningKey(pem: signer.pem, algorithm: algorithm)
        #expect(again.publicKey == signer.publicKey)
        #expect(again.pem == signer.pem)
        let key = try VerificationKey(signer.publicKey)
        #expect(key.verifies(try again.sign([1, 2, 3]), of: [1, 2, 3], algorithm: algorithm))
    }

    @Test func `a private key signs only with an algorithm of its own type and curve`() throws {
        let families: [[SignatureAlgorithm]] = [
            [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512], [.es256], [.es384], [.es512], [.edDSA, .ed25519],
        ]
        for family in families {
            let pem = try TestKeys.signing(family[0]).pem
            for algorithm in SignatureAlgorithm.available {
                let key = try? SigningKey(pem: pem, algorithm: algorithm)
                #expect((key != nil) == family.contains(algorithm), "\(family[0]) as \(algorithm)")
            }
        }
    }

    /// Curves of the same length, a key type of another use, keys that are too short (RFC 7518 §3.3), an exponent of more
    /// than 64 bits, and encrypted keys, for which libcrypto would ask on the terminal.
    @Test func `a private key of another curve, type or size is refused, and an encrypted one`() throws {
        let keys = try #require(try Vector("private-keys").json["keys"]?.array)
        #expect(keys.count == 12)
        for key in keys {
            let name = try #require(key["name"]?.string)
            let algorithm = try #require(key["algorithm"]?.string.flatMap(SignatureAlgorithm.init))
            let pem = try #require(key["pem"]?.string)
            let signer = try? SigningKey(pem: pem, algorithm: algorithm)
            #expect(key["fits"] == .bool(signer != nil), "\(name)")
            guard let signer else { continue }
            let verifier = try VerificationKey(signer.publicKey)
            #expect(verifier.verifies(try signer.sign([1]), of: [1], algorithm: algorithm), "\(name)")
        }
    }

    @Test func `a new RSA key has 2048 bits or more`() throws {
        #expect(throws: JOSEError.self) { try SigningKey.generate(.rs256, rsaBits: 1024) }
        let key = try SigningKey.generate(.rs256, rsaBits: 3072)
        guard case .rsa(let modulus, _) = key.publicKey.material else { throw JOSEError("expected an RSA key") }
        #expect(modulus.count == 384)
        #expect(try key.sign([1]).count == 384)
    }

    @Test(arguments: [
        "", "\n", "no PEM at all", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\n",
    ])
    func `a text that is no PEM private key is refused`(pem: String) {
        #expect(throws: JOSEError.self) { try SigningKey(pem: pem, algorithm: .rs256) }
    }

    @Test func `a PEM that is cut short is refused`() throws {
        let pem = try SigningKey.generate(.es256).pem
        #expect(throws: JOSEError.self) { try SigningKey(pem: String(pem.dropLast(40)), algorithm: .es256) }
    }
}
