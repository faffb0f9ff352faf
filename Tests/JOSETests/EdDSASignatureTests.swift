import JOSE
import Testing

@Suite struct EdDSASignatureTests {
    private let message = Array("a message".utf8)
    private let signature: [UInt8]
    private let key: VerificationKey

    init() throws {
        let signer = try SigningKey.generate(.edDSA)
        key = try VerificationKey(signer.publicKey)
        signature = try signer.sign(message)
    }

    private func isValid(_ signature: [UInt8]) -> Bool { key.verifies(signature, of: message, algorithm: .edDSA) }

    @Test func `a signature has 64 bytes`() {
        #expect(isValid(signature))
        #expect(signature.count == 64)
        #expect(!isValid([]))
        #expect(!isValid(Array(signature.dropLast())))
        #expect(!isValid(Array(signature.dropFirst())))
        #expect(!isValid(signature + [0]))
        #expect(!isValid([UInt8](repeating: 0, count: 64)))
    }

    /// RFC 8032 §5.1.7: S is below the order L = 2^252 + 27742317777372353535851937790883648493, little endian.
    @Test func `an S that is not reduced is no signature`() {
        let order: [UInt8] =
            [
                0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14,
            ] + [UInt8](repeating: 0, count: 15) + [0x10]
        var (bytes, carry) = (signature, 0)
        for position in 0..<32 {
            carry += Int(signature[32 + position]) + Int(order[position])
            bytes[32 + position] = UInt8(carry & 0xFF)
            carry >>= 8
        }
        #expect(carry == 0)
        #expect(!isValid(bytes))
        for bit: UInt8 in [0x20, 0x40, 0x80] {
            var high = signature
            high[63] |= bit
            #expect(!isValid(high))
        }
    }

    @Test func `R and S of two signatures do not mix`() throws {
        let signer = try SigningKey.generate(.edDSA)
        let other = try signer.sign(message)
        #expect(!isValid(Array(signature[..<32] + other[32...])))
        #expect(!isValid(Array(other[..<32] + signature[32...])))
    }

    @Test func `another message is not signed, nor is an empty one`() {
        #expect(!key.verifies(signature, of: message + [0], algorithm: .edDSA))
        #expect(!key.verifies(signature, of: [UInt8](), algorithm: .edDSA))
    }
}
