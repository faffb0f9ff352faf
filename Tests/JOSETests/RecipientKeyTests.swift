import JOSE
import Testing

@Suite struct RecipientKeyTests {
    @Test(arguments: ["RSA", "P-256", "P-384", "P-521", "X25519"])
    func `a private key comes back from PEM`(name: String) throws {
        let key = try JWETests.key(name)
        let again = try RecipientKey(pem: key.pem, kid: "1")
        #expect(again.publicKey.material == key.publicKey.material)
        #expect(again.publicKey.use == "enc" && again.publicKey.kid == "1")
        let alg: KeyManagementAlgorithm = name == "RSA" ? .rsaOAEP : .ecdhES
        let jwe = try JWE(compact: JWE.encrypt([1], to: key.publicKey, alg, .a128GCM))
        #expect(try jwe.decrypted(by: again) == [1])
    }

    @Test func `a key that can only sign, or is too short, is refused`() throws {
        let ed25519 = try SigningKey.generate(.edDSA).pem
        #expect(throws: JOSEError.self) { try RecipientKey(pem: ed25519) }
        let keys = try #require(try Vector("private-keys").json["keys"]?.array)
        for key in keys {
            let (name, pem) = (try #require(key["name"]?.string), try #require(key["pem"]?.string))
            let isTaken = (try? RecipientKey(pem: pem)) != nil
            #expect(isTaken == (key["fits"] == true || name == "X25519"), "\(name)")
        }
        #expect(throws: JOSEError.self) { try RecipientKey.generate(.rsa(bits: 1024)) }
        #expect(throws: JOSEError.self) { try RecipientKey(pem: "no PEM") }
    }

    @Test(arguments: [nil, "enc"])
    func `a JWK without a use is for encryption`(use: String?) throws {
        let key = try RecipientKey(jwk: jwk(use.map { ["use": .string($0)] } ?? [:]))
        #expect(key.publicKey.use == "enc")
    }

    private func jwk(_ changes: JSON.Object) throws -> JSON {
        var object = try #require(try Vector("rfc7520-5.5").json["private"]?.object)
        for member in changes.members { object[member.name] = member.value }
        return .object(object)
    }

    @Test(
        arguments: [
            ([:], true), (["use": "sig"], false), (["alg": "ECDH-ES"], true), (["alg": "ES256"], false),
            (["alg": "RSA-OAEP"], false), (["key_ops": ["deriveKey"]], true), (["key_ops": ["deriveBits"]], true),
            (["key_ops": ["sign"]], false), (["d": "AQAB"], false), (["kid": 1], false),
            (["d": "0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo"], false),
        ] as [(JSON.Object, Bool)])
    func `a private JWK is accepted only for its use`(changes: JSON.Object, isTaken: Bool) throws {
        let jwk = try jwk(changes)
        #expect(((try? RecipientKey(jwk: jwk)) != nil) == isTaken)
    }

    /// RFC 7517 §4.3. Of the operations, none is the public key's in a key agreement.
    @Test(
        arguments: [
            (nil, true), ([], true), (["deriveKey"], true), (["deriveBits"], true), (["sign"], false),
            (["encrypt", "wrapKey"], false),
        ] as [([String]?, Bool)])
    func `a public key for agreement fits if its operations do not say otherwise`(
        operations: [String]?, fits: Bool
    ) throws {
        for name in ["P-256", "X25519"] {
            var key = try JWETests.key(name).publicKey
            key.keyOps = operations
            #expect(key.fits(.ecdhES) == fits)
        }
    }

    @Test func `a key for one algorithm decrypts only that one (RFC 8725 §3.1)`() throws {
        let jwk = try jwk(["alg": "ECDH-ES+A256KW"])
        let key = try RecipientKey(jwk: jwk)
        var open = key.publicKey
        open.alg = nil
        for alg in KeyManagementAlgorithm.allCases where open.fits(alg) {
            let jwe = try JWE(compact: JWE.encrypt([1], to: open, alg, .a128GCM))
            #expect((try? jwe.decrypted(by: key)) == (alg == .ecdhESA256KW ? [1] : nil))
        }
    }

    @Test func `a key for agreement verifies nothing, and one that signs encrypts nothing`() throws {
        let x25519 = try RecipientKey.generate(.x25519).publicKey
        #expect(throws: JOSEError.self) { try VerificationKey(x25519) }
        #expect(!SignatureAlgorithm.allCases.contains(where: x25519.fits))
        let encrypting = try RecipientKey.generate(.ec(.p256)).publicKey
        #expect(!SignatureAlgorithm.allCases.contains(where: encrypting.fits))
        let signing = try SigningKey.generate(.es256).publicKey
        #expect(!KeyManagementAlgorithm.allCases.contains(where: signing.fits))
    }
}
