import Foundation

/// Private keys of published vectors in PEM, since the library reads no private JWK.
enum PrivateKeyPEM {
    /// PKCS#1: version, modulus, exponents, primes and coefficients (RFC 8017 appendix A.1.2).
    static func rsa(_ vector: Vector) throws -> String {
        let numbers = try [[0]] + ["n", "e", "d", "p", "q", "dp", "dq", "qi"].map(vector.privateBytes)
        return pem("RSA PRIVATE KEY", element(0x30, numbers.flatMap(integer)))
    }

    /// PKCS#8 around the 32 bytes of the key (RFC 8410 §7).
    static func ed25519(_ vector: Vector) throws -> String {
        let algorithm = element(0x30, element(0x06, [0x2B, 0x65, 0x70]))
        let key = element(0x04, element(0x04, try vector.privateBytes("d")))
        return pem("PRIVATE KEY", element(0x30, integer([0]) + algorithm + key))
    }

    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        element(0x02, bytes[0] & 0x80 == 0 ? bytes : [0] + bytes)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count
        if length < 0x80 { return [tag, UInt8(length)] + content }
        return [tag, 0x82, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    }

    static func pem(_ label: String, _ der: [UInt8]) -> String {
        let lines = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }
}
