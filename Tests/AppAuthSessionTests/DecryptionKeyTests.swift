import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

struct DecryptionKeyTests {
    @Test(arguments: [PrivateKey.Kind.rsa(), .ec(.p521), .x25519])
    func `a key is read from PEM, and its public key holds no secret`(kind: PrivateKey.Kind) throws {
        let own = try RecipientKey.generate(kind)
        let key = try DecryptionKey(pem: own.pem, keyID: "enc-1")
        #expect(key.keyID == "enc-1")
        var expected = own.publicKey
        expected.kid = "enc-1"
        #expect(key.publicJWK == expected.json)
        #expect(key.publicJWK["use"] == "enc" && key.publicJWK["d"] == nil)
        #expect("\(key)" == "decryption key 'enc-1'" && Mirror(reflecting: key).children.isEmpty)
    }

    // RFC 7518 appendix C: a private key that is published.
    private static let jwk: JSON.Object = [
        "kty": "EC", "crv": "P-256", "kid": "bob", "use": "enc", "x": "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
        "y": "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck", "d": "VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw",
    ]

    @Test(arguments: [([:], true), (["use": "sig"], false), (["alg": "ES256"], false), (["d": nil], false)])
    func `a private JWK is read, unless it signs`(changes: [String: String?], isTaken: Bool) throws {
        var jwk = Self.jwk
        for (name, value) in changes { jwk[name] = value.map(JSON.string) }
        let json = JSON.object(jwk)
        let error = refusal { try DecryptionKey(jwk: json) }
        #expect((error == nil) == isTaken)
        #expect(error == nil || error?.code == .invalidConfiguration)
        #expect(error?.message.contains("VEmDZ") != true)
        if isTaken { #expect(try DecryptionKey(jwk: json).keyID == "bob") }
    }

    @Test func `a key that only signs is refused, and one that decrypts signs nothing`() throws {
        #expect(throws: AuthError.self) { try DecryptionKey(pem: SigningKey.generate(.edDSA).pem) }
        #expect(throws: AuthError.self) { try ClientKey(pem: RecipientKey.generate(.x25519).pem) }
    }

    @Test func `only an encrypted key asks the app for a passphrase`() async throws {
        let pem = try RecipientKey.generate(.ec(.p256)).pem
        _ = try await DecryptionKey(pem: pem) { throw CancellationError() }
        let encrypted = pem.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY")
        await #expect(throws: CancellationError.self) {
            try await DecryptionKey(pem: encrypted) { throw CancellationError() }
        }
    }
}
