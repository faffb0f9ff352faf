import JOSE
import Testing

@Suite struct RSASignatureTests {
    static let algorithms: [SignatureAlgorithm] = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]

    private static let signer = Result { try TestKeys.signing(.rs256) }
    private let message = Array("a message".utf8)

    /// A key, and a signature over the message with one algorithm.
    private func signed(_ algorithm: SignatureAlgorithm) throws -> (VerificationKey, [UInt8]) {
        let signer = try SigningKey(pem: try Self.signer.get().pem, algorithm: algorithm)
        return (try VerificationKey(signer.publicKey), try signer.sign(message))
    }

    @Test(arguments: algorithms)
    func `a signature that is shorter or longer by a byte is not valid`(algorithm: SignatureAlgorithm) throws {
        let (key, signature) = try signed(algorithm)
        #expect(key.verifies(signature, of: message, algorithm: algorithm))
        #expect(!key.verifies(Array(signature.dropLast()), of: message, algorithm: algorithm))
        #expect(!key.verifies(Array(signature.dropFirst()), of: message, algorithm: algorithm))
        #expect(!key.verifies(signature + [0], of: message, algorithm: algorithm))
        #expect(!key.verifies([0] + signature, of: message, algorithm: algorithm))
        #expect(!key.verifies([], of: message, algorithm: algorithm))
    }

    @Test(arguments: algorithms)
    func `zeros, ones and the modulus itself are no signatures`(algorithm: SignatureAlgorithm) throws {
        let (key, signature) = try signed(algorithm)
        guard case .rsa(let modulus, _) = key.jwk.material else { throw JOSEError("expected an RSA key") }
        #expect(modulus.count == signature.count)
        #expect(!key.verifies([UInt8](repeating: 0, count: 256), of: message, algorithm: algorithm))
        #expect(!key.verifies([UInt8](repeating: 0, count: 255) + [1], of: message, algorithm: algorithm))
        #expect(!key.verifies([UInt8](repeating: 0xFF, count: 256), of: message, algorithm: algorithm))
        #expect(!key.verifies(modulus, of: message, algorithm: algorithm))
    }

    /// RFC 8017 §8.1.2 and §8.2.2, step 1: a signature is as long as the modulus, leading zeros included.
    @Test(arguments: [SignatureAlgorithm.rs256, .ps256])
    func `a signature keeps its leading zero`(algorithm: SignatureAlgorithm) throws {
        let vector = try Vector("rsa-leading-zero")
        let key = try vector.key()
        let found = try #require(vector.json[algorithm.rawValue])
        let message = Array(try #require(found["message"]?.string).utf8)
        let signature = try #require(found["signature"]?.string.flatMap(Base64URL.decode))
        #expect(signature[0] == 0)
        #expect(key.verifies(signature, of: message, algorithm: algorithm))
        #expect(!key.verifies(Array(signature.drop { $0 == 0 }), of: message, algorithm: algorithm))
    }

    /// RFC 7518 §3.5: the salt is as long as the digest.
    @Test(arguments: [("32", true), ("0", false), ("20", false), ("64", false)])
    func `PS256 accepts only a salt of 32 bytes`(length: String, valid: Bool) throws {
        let vector = try Vector("pss-salt-length")
        let signature = try #require(vector.json["signatures"]?[length]?.string.flatMap(Base64URL.decode))
        let message = Array(try vector.text("message").utf8)
        #expect(try vector.key().verifies(signature, of: message, algorithm: .ps256) == valid)
    }

    @Test func `PKCS1 and PSS are not taken for each other`() throws {
        let (key, signature) = try signed(.rs256)
        #expect(!key.verifies(signature, of: message, algorithm: .ps256))
        let (other, salted) = try signed(.ps256)
        #expect(!other.verifies(salted, of: message, algorithm: .rs256))
    }
}
