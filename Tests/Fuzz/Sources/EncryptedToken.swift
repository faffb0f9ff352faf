internal import JOSE

/// The invariants of an encrypted token (RFC 7516).
enum EncryptedToken {
    /// The private keys of RFC 7518 appendix C and of RFC 7748 §6.1. Everybody may encrypt to them, but no input finds a tag.
    private static let keys: [RecipientKey] = {
        do {
            return [
                try RecipientKey(jwk: [
                    "kty": "EC", "crv": "P-256", "x": "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
                    "y": "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck",
                    "d": "VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw",
                ]),
                try RecipientKey(jwk: [
                    "kty": "OKP", "crv": "X25519", "x": "3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08",
                    "d": "XasIfmJKikt54X-Lg4AO5m87sSkmGLb9HC-LJ_-I4Os",
                ]),
            ]
        } catch { fatalError("\(error)") }
    }()
    private static let content = Array("Alice to Bob".utf8)

    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        guard let jwe = try? JWE(compact: text) else { return }
        expect(JWE.hasForm(text), "a token of another form")
        for key in keys {
            do {
                let found = try jwe.decrypted(by: key)
                expect(found == content, "a forged token")
            } catch let error as JOSEError {
                expect(error.description.isOneLine, "a refusal of several lines")
            } catch { fatalError("another error: \(error)") }
        }
    }
}
