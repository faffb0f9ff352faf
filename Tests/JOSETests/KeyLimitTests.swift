import JOSE
import Testing

/// RFC 7518 §3.3, RFC 8725 §3.4: which keys are taken at all.
@Suite struct KeyLimitTests {
    /// An odd number of so many bits; it may have other than two prime factors, which is not checked.
    private func modulus(bits: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (bits + 7) / 8)
        bytes[0] = 1 << UInt8((bits - 1) % 8)
        bytes[bytes.count - 1] |= 1
        return bytes
    }

    @Test(arguments: [2048, 2049, 3072, 4096, 8191, 8192])
    func `an RSA key of 2048 to 8192 bits is taken`(bits: Int) {
        #expect(throws: Never.self) { try VerificationKey(JWK(.rsa(n: modulus(bits: bits), e: [1, 0, 1]))) }
    }

    @Test(arguments: [1, 8, 512, 1024, 2047, 8193, 16384, 32768])
    func `an RSA key of fewer or more bits is refused`(bits: Int) {
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: modulus(bits: bits), e: [1, 0, 1]))) }
    }

    @Test func `zeros in front of a modulus do not make it longer`() {
        #expect(throws: Never.self) { try VerificationKey(JWK(.rsa(n: [0] + modulus(bits: 2048), e: [1, 0, 1]))) }
        let padded = [UInt8](repeating: 0, count: 128) + modulus(bits: 1024)
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: padded, e: [1, 0, 1]))) }
    }

    @Test func `an even modulus is refused, and none`() {
        var even = modulus(bits: 2048)
        even[255] = 2
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: even, e: [1, 0, 1]))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: [], e: [1, 0, 1]))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: [0, 0], e: [1, 0, 1]))) }
    }

    @Test(arguments: [[3], [17], [1, 0, 1], [0, 1, 0, 1], [UInt8](repeating: 0xFF, count: 8)])
    func `an odd exponent from three to 64 bits is taken`(exponent: [UInt8]) {
        #expect(throws: Never.self) { try VerificationKey(JWK(.rsa(n: modulus(bits: 2048), e: exponent))) }
    }

    @Test(arguments: [[], [0], [1], [0, 1], [2], [1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 1]] as [[UInt8]])
    func `an exponent that is even, one, none or longer is refused`(exponent: [UInt8]) {
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.rsa(n: modulus(bits: 2048), e: exponent))) }
    }

    @Test(arguments: ["rfc7515-a3", "rfc7515-a4"])
    func `a point beside its curve is refused`(name: String) throws {
        guard case .ec(let curve, let x, var y) = try Vector(name).jwk().material else { throw JOSEError("no EC key") }
        #expect(throws: Never.self) { try VerificationKey(JWK(.ec(curve, x: x, y: y))) }
        y[y.count - 1] ^= 1
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(curve, x: x, y: y))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(curve, x: y, y: x))) }
    }

    @Test(arguments: [Curve.p256, .p384, .p521])
    func `zeros and ones are no point`(curve: Curve) {
        for byte: UInt8 in [0, 0xFF] {
            let coordinate = [UInt8](repeating: byte, count: curve.byteCount)
            #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(curve, x: coordinate, y: coordinate))) }
        }
    }

    @Test func `a point of another curve is refused`() throws {
        let other = try SigningKey.generate(.es384).publicKey
        guard case .ec(_, let x, let y) = other.material else { throw JOSEError("no EC key") }
        #expect(throws: Never.self) { try VerificationKey(JWK(.ec(.p384, x: x, y: y))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(.p256, x: x, y: y))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(.p521, x: x, y: y))) }
    }

    @Test func `a coordinate that is short is refused`() throws {
        guard case .ec(let curve, let x, let y) = try Vector("rfc7515-a3").jwk().material else {
            throw JOSEError("no EC key")
        }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(curve, x: Array(x.dropFirst()), y: y))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(curve, x: [], y: []))) }
    }

    @Test func `an Ed25519 key of another length is refused`() {
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ed25519([]))) }
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ed25519([UInt8](repeating: 1, count: 31)))) }
    }

    @Test func `a refusal names what was expected and found`() {
        let error = #expect(throws: JOSEError.self) {
            try VerificationKey(JWK(.rsa(n: modulus(bits: 1024), e: [1, 0, 1])))
        }
        #expect(error?.description.contains("2048 to 8192 bits, found 1024") == true)
    }
}
