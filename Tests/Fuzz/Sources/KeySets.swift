internal import AppAuth
internal import JOSE

/// The invariants of a key set (RFC 7517 §5).
enum KeySets {
    @Sendable static func check(_ input: [UInt8]) {
        guard let keys = try? KeySet(document: input).jwks else { return }
        expect(keys.keys.count <= 256, "\(keys.keys.count) keys")
        for key in keys.keys {
            let json = key.jwk.json
            for name in ["d", "p", "q", "dp", "dq", "qi", "k"] { expect(json[name] == nil, "a private key") }
            expect((try? JWK(json)) == key.jwk, "another key, once written and read")
            if case .rsa(let n, _) = key.jwk.material { expect(n.drop { $0 == 0 }.count >= 256, "a short key") }
            expect(!key.verifies([], of: [], algorithm: .rs256), "an empty signature")
            expect(!key.verifies([UInt8](repeating: 0, count: 64), of: [], algorithm: .es256), "a signature of zeros")
        }
        for algorithm in SignatureAlgorithm.allCases {
            for key in keys.candidates(kid: "1", algorithm: algorithm) {
                expect(key.jwk.kid == "1" && key.jwk.fits(algorithm), "a key of another name or use")
            }
        }
    }
}
