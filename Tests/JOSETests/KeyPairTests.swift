import Foundation
import JOSE
import Testing

/// A private key has its own public part, in every format that it is read from.
@Suite struct KeyPairTests {
    /// The PEM of a key with bytes of it exchanged.
    private func pem(_ pem: String, _ own: [UInt8], _ other: [UInt8]) throws -> String {
        let lines = pem.split(separator: "\n").dropFirst().dropLast().joined()
        var der = Array(try #require(Data(base64Encoded: lines)))
        let location = try #require(der.firstRange(of: own))
        der.replaceSubrange(location, with: other)
        return PrivateKeyPEM.pem("PRIVATE KEY", der)
    }

    @Test(arguments: [SignatureAlgorithm.es256, .es384, .es512])
    func `an EC key in PEM with the public part of another key is refused`(algorithm: SignatureAlgorithm) throws {
        let (own, other) = (try SigningKey.generate(algorithm), try SigningKey.generate(algorithm))
        func point(_ key: SigningKey) throws -> [UInt8] {
            guard case .ec(_, let x, let y) = key.publicKey.material else { throw JOSEError("expected an EC key") }
            return x + y
        }
        #expect(throws: Never.self) {
            try PrivateKey(pem: pem(own.pem, point(own), point(own)))
        }
        let error = #expect(throws: JOSEError.self) {
            try PrivateKey(pem: pem(own.pem, point(own), point(other)))
        }
        #expect(error?.description.contains("do not match") == true)
    }

    @Test(
        arguments: [
            ("PUBLIC KEY", "a public key"), ("RSA PUBLIC KEY", "a public key"), ("CERTIFICATE", "a certificate"),
            ("OPENSSH PRIVATE KEY", "an OpenSSH key"), ("ENCRYPTED PRIVATE KEY", "an encrypted one"),
            ("PRIVATE KEY", "an unreadable one"),
        ])
    func `the error says what was found in place of a private key`(label: String, found: String) {
        let error = #expect(throws: JOSEError.self) { try PrivateKey(pem: PrivateKeyPEM.pem(label, [1, 2, 3])) }
        #expect(error?.description.contains(found) == true, "\(String(describing: error))")
    }

    @Test func `an RSA key in PEM with the modulus of another key is refused`() throws {
        let (own, other) = (try TestKeys.signing(.rs256), try TestKeys.signing(.rs256, isOther: true))
        func modulus(_ key: SigningKey) throws -> [UInt8] {
            guard case .rsa(let n, _) = key.publicKey.material else { throw JOSEError("expected an RSA key") }
            return n
        }
        #expect(throws: Never.self) { try PrivateKey(pem: pem(own.pem, modulus(own), modulus(own))) }
        let error = #expect(throws: JOSEError.self) {
            try PrivateKey(pem: pem(own.pem, modulus(own), modulus(other)))
        }
        #expect(error?.description.contains("do not match") == true)
    }

    // RFC 7518 §6.3.2.7
    @Test func `an RSA key of three primes is refused in PEM as in a JWK`() throws {
        let keys = try #require(try Vector("private-keys").json["keys"]?.array)
        let pem = try #require(keys.first { $0["name"]?.string == "RSA of three primes" }?["pem"]?.string)
        for read in [{ try PrivateKey(pem: pem) }, { try PrivateKey(jwk: ["kty": "RSA", "oth": []]) }] {
            let error = #expect(throws: JOSEError.self) { try read() }
            #expect(error?.description == "expected an RSA key of two primes, found one with more")
        }
    }
}
