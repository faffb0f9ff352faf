import Glibc
import JOSE
import Testing

/// libcrypto keeps errors in a queue of the thread, where the next caller would take them for its own (ERR_get_error(3)).
@Suite struct ErrorQueueTests {
    /// The first error in the queue; 0 if there is none.
    private static func firstError() throws -> UInt {
        typealias Function = @convention(c) () -> UInt
        return unsafeBitCast(try #require(dlsym(nil, "ERR_peek_error")), to: Function.self)()
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .ps256, .es256, .edDSA])
    func `a signature that is refused leaves no error behind`(algorithm: SignatureAlgorithm) throws {
        let signer = try TestKeys.signing(algorithm)
        let key = try VerificationKey(signer.publicKey)
        let signature = try signer.sign([1])
        for wrong in [[UInt8](repeating: 0xFF, count: signature.count), [UInt8](repeating: 0, count: signature.count)] {
            #expect(!key.verifies(wrong, of: [1], algorithm: algorithm))
            #expect(try Self.firstError() == 0)
        }
        #expect(!key.verifies(signature, of: [2], algorithm: algorithm))
        #expect(try Self.firstError() == 0)
    }

    @Test func `a key that is refused leaves no error behind`() throws {
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(throws: JOSEError.self) { try VerificationKey(JWK(.ec(.p256, x: zeros, y: zeros))) }
        #expect(try Self.firstError() == 0)
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        #expect(throws: JOSEError.self) { try PrivateKey(pem: pem) }
        #expect(try Self.firstError() == 0)
    }

    @Test(arguments: [KeyManagementAlgorithm.rsaOAEP256, .ecdhESA128KW])
    func `a token that cannot be decrypted leaves no error behind`(algorithm: KeyManagementAlgorithm) throws {
        func key(isOther: Bool = false) throws -> RecipientKey {
            algorithm == .rsaOAEP256
                ? try TestKeys.recipient(isOther: isOther) : try RecipientKey.generate(.ec(.p256))
        }
        for enc in [ContentEncryption.a128GCM, .a128CBCHS256] {
            let jwe = try JWE(compact: JWE.encrypt([1], to: key().publicKey, algorithm, enc))
            let other = try key(isOther: true)
            #expect(throws: JOSEError.self) { try jwe.decrypted(by: other) }
            #expect(try Self.firstError() == 0)
        }
    }
}
