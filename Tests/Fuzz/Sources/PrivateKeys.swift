internal import AppAuth
internal import JOSE

/// The invariants of a private key in PEM.
enum PrivateKeys {
    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        do {
            let key = try ClientKey(pem: text)
            for name in ["d", "p", "q", "dp", "dq", "qi", "k"] {
                expect(key.publicJWK[name] == nil, "a private member in the public key")
            }
            guard let signing = key.signingKey(nil) else { fatalError("a key that signs nothing") }
            let again = try SigningKey(pem: signing.pem, algorithm: signing.algorithm)
            expect(again.publicKey == signing.publicKey, "written and read: another key")
        } catch let error as AuthError {
            expect(error.code == .invalidConfiguration, "another code: \(error.code)")
            expect(error.message.isOneLine, "a refusal of several lines")
            // No line of a key is short, and none may be in a message.
            for line in text.split(whereSeparator: \.isNewline) where line.utf8.count >= 40 {
                expect(!error.message.contains(line), "a line of the key in a message")
            }
        } catch { fatalError("another error: \(error)") }
        _ = try? DecryptionKey(pem: text)
    }
}
