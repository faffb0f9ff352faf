import JOSE
import Testing

/// RFC 7517 §4.2 to §4.4: the permitted uses of a key.
@Suite struct KeyUseTests {
    private func jwk(_ name: String, use: String? = nil, keyOps: [String]? = nil, alg: String? = nil) throws -> JWK {
        var jwk = try Vector(name).jwk()
        (jwk.use, jwk.keyOps, jwk.alg) = (use, keyOps, alg)
        return jwk
    }

    @Test func `a key without a statement fits the algorithms of its type and curve`() throws {
        let fitting: [(String, [SignatureAlgorithm])] = [
            ("rfc7515-a2", [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]), ("rfc7515-a3", [.es256]),
            ("rfc7515-a4", [.es512]), ("rfc8037-a", [.edDSA, .ed25519]),
        ]
        for (name, algorithms) in fitting {
            let jwk = try jwk(name)
            #expect(SignatureAlgorithm.allCases.filter(jwk.fits) == algorithms)
        }
    }

    @Test func `a key for encryption does not fit`() throws {
        #expect(try jwk("rfc7515-a2", use: "sig").fits(.rs256))
        #expect(try !jwk("rfc7515-a2", use: "enc").fits(.rs256))
        #expect(try !jwk("rfc7515-a2", use: "SIG").fits(.rs256))
        #expect(try !jwk("rfc7515-a2", use: "").fits(.rs256))
    }

    @Test func `a key whose operations do not name verify does not fit`() throws {
        #expect(try jwk("rfc7515-a2", keyOps: ["verify"]).fits(.rs256))
        #expect(try jwk("rfc7515-a2", keyOps: ["sign", "verify"]).fits(.rs256))
        #expect(try !jwk("rfc7515-a2", keyOps: ["sign"]).fits(.rs256))
        #expect(try !jwk("rfc7515-a2", keyOps: ["encrypt", "wrapKey"]).fits(.rs256))
        #expect(try !jwk("rfc7515-a2", keyOps: []).fits(.rs256))
    }

    @Test func `a key for one algorithm fits only that one`() throws {
        let jwk = try jwk("rfc7515-a2", alg: "PS256")
        #expect(SignatureAlgorithm.allCases.filter(jwk.fits) == [.ps256])
        #expect(try !self.jwk("rfc7515-a2", alg: "RSA-OAEP").fits(.rs256))
        #expect(try !self.jwk("rfc7515-a2", alg: "rs256").fits(.rs256))
        #expect(try !self.jwk("rfc7515-a2", alg: "ES256").fits(.es256))
    }

    @Test func `Ed25519 is another name of EdDSA, as RFC 9864 has it`() throws {
        #expect(try jwk("rfc8037-a", alg: "Ed25519").fits(.edDSA))
        #expect(try jwk("rfc8037-a", alg: "EdDSA").fits(.ed25519))
        #expect(try !jwk("rfc8037-a", alg: "Ed448").fits(.edDSA))
        #expect(try !jwk("rfc8037-a", alg: "Ed448").fits(.ed25519))
        #expect(try !jwk("rfc7515-a2", alg: "Ed25519").fits(.edDSA))
    }

    @Test func `a key verifies nothing that it is not for`() throws {
        let vector = try Vector("rfc7515-a2")
        let jws = try vector.jws()
        #expect(jws.isSigned(by: try VerificationKey(try jwk("rfc7515-a2", use: "sig")), algorithm: .rs256))
        #expect(!jws.isSigned(by: try VerificationKey(try jwk("rfc7515-a2", use: "enc")), algorithm: .rs256))
        #expect(!jws.isSigned(by: try VerificationKey(try jwk("rfc7515-a2", alg: "RS384")), algorithm: .rs256))
    }
}
