import JOSE
import Testing

/// RFC 9964: ML-DSA, which libcrypto has since version 3.5.
@Suite struct MLDSATests {
    private static let isAvailable = SignatureAlgorithm.available.contains(.mlDSA44)
    private static let algorithms: [SignatureAlgorithm] = [.mlDSA44, .mlDSA65, .mlDSA87]

    private let vector: Vector

    init() throws { vector = try Vector("ml-dsa") }

    /// The private JWK of an algorithm, and a signature of the message with it.
    private func signed(_ algorithm: SignatureAlgorithm) throws -> (jwk: JSON, signature: [UInt8]) {
        let entry = try #require(
            vector.json["keys"]?.array?.first { $0["jwk"]?["alg"]?.string == algorithm.rawValue })
        return (
            try #require(entry["jwk"]), try #require(entry["signature"]?.string.flatMap(Base64URL.decode))
        )
    }

    private func publicJWK(_ algorithm: SignatureAlgorithm, _ changes: [String: JSON?] = [:]) throws -> JSON {
        var members = try #require(signed(algorithm).jwk.object)
        members["priv"] = nil
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    private var message: [UInt8] { get throws { Array(try vector.text("message").utf8) } }

    @Test func `the thumbprint is that of the RFC's example`() throws {
        let jwk = try JWK(publicJWK(.mlDSA44))
        #expect(try jwk.thumbprint == vector.text("thumbprint"))
        #expect(try jwk.json == publicJWK(.mlDSA44))
    }

    @Test(arguments: algorithms)
    func `a key fits its own algorithm only`(algorithm: SignatureAlgorithm) throws {
        let jwk = try JWK(publicJWK(algorithm))
        #expect(SignatureAlgorithm.allCases.filter(jwk.fits) == [algorithm])
    }

    @Test func `a key without its algorithm, of another length or with its seed is refused`() throws {
        let refused: [[String: JSON?]] = [
            ["alg": .some(nil)], ["alg": "ML-DSA-65"], ["alg": "SLH-DSA-SHA2-128s"], ["pub": .some(nil)],
            ["pub": "AAAA"], ["priv": "AA"],
        ]
        for changes in refused {
            let json = try publicJWK(.mlDSA44, changes)
            #expect(throws: JOSEError.self, "\(changes)") { try JWK(json) }
        }
    }

    @Test(.enabled(if: isAvailable, "libcrypto is older than 3.5"), arguments: algorithms)
    func `a signature of openssl is verified, and none with a bit turned`(algorithm: SignatureAlgorithm) throws {
        let (message, signature) = (try message, try signed(algorithm).signature)
        let key = try VerificationKey(JWK(publicJWK(algorithm)))
        #expect(key.verifies(signature, of: message, algorithm: algorithm))
        #expect(!key.verifies(signature, of: message + [0], algorithm: algorithm))
        #expect(!key.verifies(signature + [0], of: message, algorithm: algorithm))
        for index in [0, signature.count / 2, signature.count - 1] {
            var damaged = signature
            damaged[index] ^= 1
            #expect(!key.verifies(damaged, of: message, algorithm: algorithm))
        }
    }

    @Test(.enabled(if: isAvailable, "libcrypto is older than 3.5"), arguments: algorithms)
    func `a private key is read from its seed, which must be that of the public key`(
        algorithm: SignatureAlgorithm
    ) throws {
        var members = try #require(signed(algorithm).jwk.object)
        let signer = try SigningKey(PrivateKey(jwk: .object(members)), algorithm)
        let signature = try signer.sign(try message)
        #expect(try VerificationKey(signer.publicKey).verifies(signature, of: message, algorithm: algorithm))
        #expect(throws: JOSEError.self) { try SigningKey(PrivateKey(pem: signer.pem), .edDSA) }
        #expect(try SigningKey(PrivateKey(pem: signer.pem), algorithm).publicKey == signer.publicKey)

        for seed in ["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAA"] {
            members["priv"] = .string(seed)
            #expect(throws: JOSEError.self) { try PrivateKey(jwk: .object(members)) }
        }
    }

    @Test(.enabled(if: !isAvailable, "libcrypto has ML-DSA"), arguments: algorithms)
    func `an older libcrypto is named`(algorithm: SignatureAlgorithm) throws {
        let jwk = try JWK(publicJWK(algorithm))
        let calls: [() throws -> Void] = [
            { _ = try VerificationKey(jwk) }, { _ = try SigningKey.generate(algorithm) },
            { _ = try PrivateKey(jwk: try signed(algorithm).jwk) },
        ]
        for call in calls {
            let error = #expect(throws: JOSEError.self) { try call() }
            #expect(error?.description.hasPrefix("\(algorithm.rawValue) needs libcrypto 3.5") == true, "\(error)")
        }
    }
}
