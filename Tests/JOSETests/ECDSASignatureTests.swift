import JOSE
import Testing

@Suite struct ECDSASignatureTests {
    static let algorithms: [SignatureAlgorithm] = [.es256, .es384, .es512]

    private struct Signed {
        let key: VerificationKey
        let algorithm: SignatureAlgorithm
        let message = Array("a message".utf8)
        let signature: [UInt8]

        init(_ algorithm: SignatureAlgorithm) throws {
            let signer = try SigningKey.generate(algorithm)
            key = try VerificationKey(signer.publicKey)
            self.algorithm = algorithm
            signature = try signer.sign(message)
        }

        var half: Int { signature.count / 2 }
        var r: [UInt8] { Array(signature[..<half]) }
        var s: [UInt8] { Array(signature[half...]) }

        func isValid(_ signature: [UInt8]) -> Bool { key.verifies(signature, of: message, algorithm: algorithm) }
    }

    /// The order n of each curve (SEC 2 §2.4.2, §2.5.1, §2.6.1), in the length of a coordinate.
    private static func order(_ algorithm: SignatureAlgorithm) -> [UInt8] {
        let hexadecimal =
            switch algorithm {
            case .es256: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"
            case .es384:
                "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973"
            default:
                "01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
                    + "FA51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409"
            }
        let digits = hexadecimal.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private static func sum(_ left: [UInt8], _ right: [UInt8]) -> (bytes: [UInt8], overflows: Bool) {
        var (bytes, carry) = (left, 0)
        for position in left.indices.reversed() {
            carry += Int(left[position]) + Int(right[position])
            bytes[position] = UInt8(carry & 0xFF)
            carry >>= 8
        }
        return (bytes, carry > 0)
    }

    @Test(arguments: algorithms)
    func `a signature has twice the length of a coordinate`(algorithm: SignatureAlgorithm) throws {
        let signed = try Signed(algorithm)
        #expect(signed.signature.count == 2 * Self.order(algorithm).count)
        #expect(signed.isValid(signed.signature))
        #expect(!signed.isValid([]))
        #expect(!signed.isValid(Array(signed.signature.dropLast())))
        #expect(!signed.isValid(Array(signed.signature.dropFirst())))
        #expect(!signed.isValid(signed.signature + [0]))
        #expect(!signed.isValid([0] + signed.r + [0] + signed.s))
        #expect(!signed.isValid(signed.r))
    }

    /// DER writes a number shorter that begins with zeros, and one longer that begins with a set bit.
    @Test func `a signature is valid however its numbers begin`() throws {
        let signer = try SigningKey.generate(.es256)
        let key = try VerificationKey(signer.publicKey)
        var seen: Set<String> = []
        for number in 0..<20_000 where seen.count < 6 {
            let message = Array("\(number)".utf8)
            let signature = try signer.sign(message)
            #expect(key.verifies(signature, of: message, algorithm: .es256))
            for (name, first) in [("r", signature[0]), ("s", signature[32])] {
                seen.insert(name + (first == 0 ? " zero" : first >= 0x80 ? " high" : " low"))
            }
        }
        #expect(seen.count == 6)
    }

    @Test(arguments: algorithms)
    func `zero is neither r nor s`(algorithm: SignatureAlgorithm) throws {
        let signed = try Signed(algorithm)
        let zero = [UInt8](repeating: 0, count: signed.half)
        #expect(!signed.isValid(zero + signed.s))
        #expect(!signed.isValid(signed.r + zero))
        #expect(!signed.isValid(zero + zero))
        let one = [UInt8](repeating: 0, count: signed.half - 1) + [1]
        #expect(!signed.isValid(one + one))
    }

    @Test(arguments: algorithms)
    func `the order of the curve and more is neither r nor s`(algorithm: SignatureAlgorithm) throws {
        let signed = try Signed(algorithm)
        let order = Self.order(algorithm)
        let ones = [UInt8](repeating: 0xFF, count: signed.half)
        #expect(!signed.isValid(order + signed.s))
        #expect(!signed.isValid(signed.r + order))
        #expect(!signed.isValid(order + order))
        #expect(!signed.isValid(order + [UInt8](repeating: 0, count: signed.half)))
        #expect(!signed.isValid(ones + ones))
    }

    /// r + n and s + n name the same residues. P-521 has the room to write them; the others rarely do.
    @Test func `a residue that is not reduced is no signature`() throws {
        let signed = try Signed(.es512)
        let order = Self.order(.es512)
        let (r, s) = (Self.sum(signed.r, order), Self.sum(signed.s, order))
        #expect(!r.overflows && !s.overflows)
        #expect(signed.isValid(signed.r + signed.s))
        #expect(!signed.isValid(r.bytes + signed.s))
        #expect(!signed.isValid(signed.r + s.bytes))
    }

    @Test(arguments: algorithms)
    func `r and s in the other order are no signature`(algorithm: SignatureAlgorithm) throws {
        let signed = try Signed(algorithm)
        #expect(!signed.isValid(signed.s + signed.r))
    }

    /// RFC 7518 §3.4 has r and s side by side, not in DER as in X.509 and TLS.
    @Test(arguments: algorithms)
    func `a signature in DER is refused`(algorithm: SignatureAlgorithm) throws {
        func integer(_ bytes: [UInt8]) -> [UInt8] {
            let short = Array(bytes.drop { $0 == 0 })
            let signed = short[0] & 0x80 == 0 ? short : [0] + short
            return [0x02, UInt8(signed.count)] + signed
        }
        let signed = try Signed(algorithm)
        let content = integer(signed.r) + integer(signed.s)
        let length = content.count < 0x80 ? [UInt8(content.count)] : [0x81, UInt8(content.count)]
        #expect(!signed.isValid([0x30] + length + content))
    }
}
