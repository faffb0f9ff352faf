import JOSE
import Testing

/// RFC 7515 appendix A, RFC 7520 §4.1 to §4.4, RFC 8037 appendix A.
@Suite struct RFCVectorTests {
    @Test(arguments: Vector.signed)
    func `a published signature is valid`(name: String) throws {
        let vector = try Vector(name)
        #expect(try vector.jws().isSigned(by: try vector.key(), algorithm: try vector.algorithm()))
    }

    @Test(arguments: Vector.signed)
    func `a published signature is not valid for another payload`(name: String) throws {
        let vector = try Vector(name)
        var parts = try vector.text("token").split(separator: ".").map(String.init)
        parts[1] = Base64URL.encode(Array("another payload".utf8))
        let (key, algorithm) = (try vector.key(), try vector.algorithm())
        #expect(try !JWS(compact: parts.joined(separator: ".")).isSigned(by: key, algorithm: algorithm))
    }

    @Test(arguments: Vector.signed)
    func `a published signature is not valid with one bit flipped anywhere`(name: String) throws {
        let vector = try Vector(name)
        let (jws, key, algorithm) = (try vector.jws(), try vector.key(), try vector.algorithm())
        let input = Array(try vector.text("token").utf8)
        let signed = Array(input[..<input.lastIndex(of: UInt8(ascii: "."))!])
        #expect(key.verifies(jws.signature, of: signed, algorithm: algorithm))
        for position in stride(from: 0, to: jws.signature.count, by: 7) {
            var signature = jws.signature
            signature[position] ^= 1 << UInt8(position % 8)
            #expect(!key.verifies(signature, of: signed, algorithm: algorithm), "bit flipped in byte \(position)")
        }
    }

    @Test(arguments: Vector.signed)
    func `a published signature is not valid for another algorithm`(name: String) throws {
        let vector = try Vector(name)
        let (jws, key, algorithm) = (try vector.jws(), try vector.key(), try vector.algorithm())
        for other in SignatureAlgorithm.allCases where other != algorithm {
            #expect(!jws.isSigned(by: key, algorithm: other))
        }
    }

    @Test(arguments: Vector.signed)
    func `a published signature is not valid for another key of its type`(name: String) throws {
        let vector = try Vector(name)
        let other = try TestKeys.signing(try vector.algorithm())
        let key = try VerificationKey(other.publicKey)
        #expect(try !vector.jws().isSigned(by: key, algorithm: try vector.algorithm()))
    }

    @Test(arguments: Vector.authenticated)
    func `a published authentication code is valid`(name: String) throws {
        let vector = try Vector(name)
        #expect(try vector.jws().isSigned(bySecret: try vector.bytes("secret"), algorithm: .hs256))
    }

    @Test(arguments: Vector.authenticated)
    func `a published authentication code is not valid for another secret, algorithm or payload`(name: String) throws {
        let vector = try Vector(name)
        var secret = try vector.bytes("secret")
        #expect(try !vector.jws().isSigned(bySecret: secret, algorithm: .hs384))
        var parts = try vector.text("token").split(separator: ".").map(String.init)
        parts[1] = "e30"
        #expect(try !JWS(compact: parts.joined(separator: ".")).isSigned(bySecret: secret, algorithm: .hs256))
        secret[0] ^= 1
        #expect(try !vector.jws().isSigned(bySecret: secret, algorithm: .hs256))
    }

    @Test func `RS256 signs as RFC 7520 §4.1 does`() throws {
        let vector = try Vector("rfc7520-4.1")
        let key = try SigningKey(pem: try PrivateKeyPEM.rsa(vector), algorithm: .rs256)
        #expect(try key.publicKey.material == vector.jwk().material)
        let token = try vector.text("token")
        let input = token[..<token.lastIndex(of: ".")!]
        #expect(try key.sign(Array(input.utf8)) == vector.jws().signature)
        #expect(try key.sign(Array(input.dropLast().utf8)) != vector.jws().signature)
    }

    @Test func `EdDSA signs as RFC 8037 appendix A.4 does`() throws {
        let vector = try Vector("rfc8037-a")
        let key = try SigningKey(pem: try PrivateKeyPEM.ed25519(vector), algorithm: .edDSA)
        #expect(try key.publicKey.material == vector.jwk().material)
        let token = try vector.text("token")
        let input = token[..<token.lastIndex(of: ".")!]
        #expect(try key.sign(Array(input.utf8)) == vector.jws().signature)
        #expect(try key.sign(Array(input.dropLast().utf8)) != vector.jws().signature)
    }
}
