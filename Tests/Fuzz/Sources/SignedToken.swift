internal import JOSE

/// The invariants of a signed token (RFC 7515).
enum SignedToken {
    /// The key of RFC 7515 appendix A.3. The corpus has its token, and no fuzzer has its private key.
    private static let key: VerificationKey = {
        do {
            return try VerificationKey(
                JWK([
                    "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
                ]))
        } catch { fatalError("\(error)") }
    }()
    private static let payload = Array(
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}".utf8)

    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        guard let jws = try? JWS(compact: text) else { return }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        expect(parts.count == 3, "a token of \(parts.count) parts")
        // A token has only one form.
        expect(Base64URL.encode(jws.payload) == parts[1], "another payload")
        expect(Base64URL.encode(jws.signature) == parts[2], "another signature")
        for algorithm in SignatureAlgorithm.allCases where jws.isSigned(by: key, algorithm: algorithm) {
            expect(algorithm == .es256 && jws.header.alg == "ES256", "signed by \(jws.header.alg)")
            expect(jws.payload == payload, "a forged token")
        }
    }
}
