import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

/// Which key of the set: OpenID Connect Core §10.1, RFC 7517 §4.
struct IDTokenKeyTests {
    private let signer: Signer
    private let other: Signer

    init() throws { (signer, other) = (try Signer(.es256), try Signer(.es256)) }

    @Test func `the kid chooses the key`() throws {
        #expect(try verifies([other.jwk(kid: "key-0"), signer.jwk(kid: "key-1")]))
        #expect(try !verifies([other.jwk(kid: "key-0"), signer.jwk(kid: "key-2")]))
        #expect(try !verifies([other.jwk(kid: "key-1"), signer.jwk(kid: "key-2")]))
    }

    @Test func `two keys of one kid are both tried`() throws {
        #expect(try verifies([other.jwk(), signer.jwk()]))
    }

    // oidcc-client-test-kid-absent-single-jwks
    @Test func `without a kid a single key that fits is used`() throws {
        var signer = signer
        signer.kid = nil
        #expect(try verifies([signer.jwk()], by: signer))
        #expect(try verifies([signer.jwk(kid: nil)], by: signer))
        #expect(try verifies([Signer(.rs256).jwk(), signer.jwk(), Signer(.edDSA).jwk()], by: signer))
        #expect(try !verifies([other.jwk(kid: nil)], by: signer))
    }

    // oidcc-client-test-kid-absent-multiple-jwks
    @Test func `without a kid several keys that fit are refused`() throws {
        var signer = signer
        signer.kid = nil
        let error = try #require(
            refusal {
                try Signer.verifier().verify(
                    signer.token(), keys: Signer.keySet([signer.jwk(), other.jwk(kid: "key-2")]), expecting: .usual)
            })
        #expect(error.message.contains("expected a 'kid', since 2 keys fit ES256"))
        #expect(try verifies([signer.jwk(), other.jwk(kid: "key-2", use: "enc")], by: signer))
    }

    @Test func `a token with a kid is verified by a key without one only if no key has that kid`() throws {
        #expect(try verifies([other.jwk(kid: "key-2"), signer.jwk(kid: nil)]))
        #expect(try !verifies([other.jwk(), signer.jwk(kid: nil)]))
        #expect(try !verifies([other.jwk(kid: nil)]))
        #expect(try !verifies([signer.jwk(kid: "key-2")]))
    }

    @Test(arguments: [
        (nil, nil, true), ("sig", nil, true), ("enc", nil, false), ("sig", "ES256", true), ("sig", "ES384", false),
    ])
    func `a key is used for what its use and alg say (RFC 7517 §4.2, §4.4)`(
        use: String?, alg: String?, isUsed: Bool
    ) throws {
        #expect(try verifies([signer.jwk(use: use, alg: alg)]) == isUsed)
    }

    @Test func `a key of another type is not tried under the same kid`() throws {
        #expect(try !verifies([Signer(.rs256).jwk(), Signer(.edDSA).jwk(), Signer(.es384).jwk()]))
    }

    private func verifies(_ keys: [JSON], by signer: Signer? = nil) throws -> Bool {
        let token = try (signer ?? self.signer).token()
        let error = refusal {
            try Signer.verifier().verify(token, keys: Signer.keySet(keys), expecting: .usual)
        }
        #expect(error == nil || error?.code == .invalidIDToken)
        return error == nil
    }
}
