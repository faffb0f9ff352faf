import JOSE
import Testing

/// RFC 7516 §11.5: the sender of made-up tokens learns nothing from the refusal.
@Suite struct JWERefusalTests {
    private static let refusal = "the token is not encrypted to this key, or was changed"

    private static let rsa = Result { try TestKeys.recipient() }

    private func parts(_ token: String) -> [String] {
        token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// The refusal of a token with one part replaced.
    private func refusal(
        _ token: String, part: Int, _ bytes: [UInt8], by key: RecipientKey
    ) throws -> String? {
        var parts = parts(token)
        parts[part] = Base64URL.encode(bytes)
        return try refusal(parts.joined(separator: "."), by: key)
    }

    private func refusal(_ token: String, by key: RecipientKey) throws -> String? {
        let jwe = try JWE(compact: token)
        do {
            _ = try jwe.decrypted(by: key)
            return nil
        } catch { return "\(error)" }
    }

    private func bytes(_ token: String, part: Int) throws -> [UInt8] {
        try #require(Base64URL.decode(parts(token)[part]))
    }

    private static func flipped(_ bytes: [UInt8]) -> [UInt8] { bytes.dropLast() + [(bytes.last ?? 0) ^ 1] }

    @Test(arguments: [KeyManagementAlgorithm.rsaOAEP, .rsaOAEP256])
    func `a key that RSA does not decrypt, or to one of another length, is refused like a wrong tag`(
        alg: KeyManagementAlgorithm
    ) throws {
        let key = try Self.rsa.get()
        let token = try JWE.encrypt([1], to: key.publicKey, alg, .a256GCM)
        #expect(try refusal(token, by: key) == nil)
        let other = try JWE.encrypt([1], to: key.publicKey, alg, .a128GCM)
        let own = try bytes(token, part: 1)
        let keys = [
            Self.flipped(own), [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xFF, count: 256), [],
            Array(own.dropFirst()), own + [0], [0] + own, try bytes(other, part: 1),
            try bytes(JWE.encrypt([1], to: key.publicKey, alg, .a256GCM), part: 1),
        ]
        for wrong in keys { #expect(try refusal(token, part: 1, wrong, by: key) == Self.refusal) }
        #expect(try refusal(token, part: 4, Self.flipped(bytes(token, part: 4)), by: key) == Self.refusal)
    }

    /// RFC 8017 §7.1.2 step 1. To libcrypto, a number that is shorter by its leading zero is the same number.
    @Test func `an encrypted key that lacks its leading zero, or has another, is refused`() throws {
        let key = try RecipientKey(jwk: try #require(try Vector("rfc7516-a1").json["private"]))
        let tokens = try #require(try Vector("oaep-leading-zero").json["tokens"]?.array)
        #expect(tokens.count == 2)
        for token in try tokens.map({ try #require($0["token"]?.string) }) {
            #expect(try refusal(token, by: key) == nil)
            let own = try bytes(token, part: 1)
            #expect(own.first == 0 && own.count == 256)
            for wrong in [Array(own.dropFirst()), [0] + own] {
                #expect(try refusal(token, part: 1, wrong, by: key) == Self.refusal)
            }
        }
    }

    // RFC 7516 §11.5
    @Test func `where the key cannot be decrypted, no key that a sender can guess takes its place`() throws {
        // Made with openssl: the content is encrypted and authenticated with a content encryption key of zeros.
        let header = "eyJhbGciOiJSU0EtT0FFUC0yNTYiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0"
        let (iv, content, tag) = (
            "AAAAAAAAAAAAAAAAAAAAAA", "JhUhoMcXaADvfVtDzxGgvDviKI56I27YmFrVJR8HdjE", "EebGyvXyYfAF6KAS556WOg"
        )
        let key = try Self.rsa.get()
        let garbage = Base64URL.encode([UInt8](repeating: 1, count: 256))
        let token = [header, garbage, iv, content, tag].joined(separator: ".")
        #expect(try refusal(token, by: key) == Self.refusal)
    }

    @Test func `one OAEP is not taken for the other`() throws {
        let key = try Self.rsa.get()
        let token = try JWE.encrypt([1], to: key.publicKey, .rsaOAEP, .a256GCM)
        let other = try JWE.encrypt([1], to: key.publicKey, .rsaOAEP256, .a256GCM)
        #expect(try refusal(token, part: 1, bytes(other, part: 1), by: key) == Self.refusal)
    }

    @Test(arguments: [ContentEncryption.a128GCM, .a256GCM, .a128CBCHS256, .a192CBCHS384, .a256CBCHS512])
    func `content, vector, tag and header are protected`(enc: ContentEncryption) throws {
        let key = try RecipientKey.generate(.ec(.p256))
        let token = try JWE.encrypt(Array("a message of some length".utf8), to: key.publicKey, .ecdhES, enc)
        #expect(try refusal(token, by: key) == nil)
        for part in 2...4 {
            let own = try bytes(token, part: part)
            #expect(try refusal(token, part: part, Self.flipped(own), by: key) == Self.refusal)
        }
        let content = try bytes(token, part: 3)
        for wrong in [[], Array(content.dropLast()), content + [0], Array(content.prefix(16))] {
            #expect(try refusal(token, part: 3, wrong, by: key) == Self.refusal)
        }
        // The same header in other words.
        let header = String(decoding: try bytes(token, part: 0), as: UTF8.self)
        let respelt = " " + header
        #expect(try refusal(token, part: 0, Array(respelt.utf8), by: key) == Self.refusal)
    }

    @Test(arguments: [KeyManagementAlgorithm.ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW])
    func `a wrapped key that is damaged, or of another length, is refused`(alg: KeyManagementAlgorithm) throws {
        let key = try RecipientKey.generate(.ec(.p384))
        let token = try JWE.encrypt([1], to: key.publicKey, alg, .a256GCM)
        let own = try bytes(token, part: 1)
        #expect(own.count == 40)
        for wrong in [[], Self.flipped(own), Array(own.dropLast(8)), own + own.prefix(8), Array(own.dropLast())] {
            #expect(try refusal(token, part: 1, wrong, by: key) == Self.refusal)
        }
    }

    @Test func `with a key that is agreed on directly there is no encrypted key (RFC 7516 §5.2 step 10)`() throws {
        let key = try RecipientKey.generate(.ec(.p256))
        let token = try JWE.encrypt([1], to: key.publicKey, .ecdhES, .a256GCM)
        for wrong in [[0], [UInt8](repeating: 0, count: 32)] {
            #expect(try refusal(token, part: 1, wrong, by: key) == Self.refusal)
        }
    }

    /// RFC 8725 §3.4, RFC 7518 §4.6.1.1: a point beside the curve would reveal the private key bit by bit.
    @Test func `an ephemeral key of another curve, or beside it, is refused`() throws {
        let key = try RecipientKey.generate(.ec(.p256))
        let token = try JWE.encrypt([1], to: key.publicKey, .ecdhES, .a256GCM)
        let header = try #require(try JSON(parsing: bytes(token, part: 0)).object)
        guard case .ec(let curve, let x, let y) = try RecipientKey.generate(.ec(.p256)).publicKey.material else {
            throw JOSEError("expected an EC key")
        }
        let keys = [
            JWK(.ec(curve, x: x, y: y)), JWK(.ec(curve, x: x, y: Self.flipped(y))), JWK(.ec(curve, x: y, y: x)),
            JWK(.ec(curve, x: [UInt8](repeating: 0, count: 32), y: [UInt8](repeating: 0, count: 32))),
            try RecipientKey.generate(.ec(.p384)).publicKey, try RecipientKey.generate(.x25519).publicKey,
            try Self.rsa.get().publicKey,
        ]
        for wrong in keys {
            var header = header
            header["epk"] = wrong.json
            let text = JSON.object(header).serialized()
            #expect(try refusal(token, part: 0, Array(text.utf8), by: key) == Self.refusal)
        }
    }

    /// RFC 7748 §6.1: points of small order, with which everybody agrees on zeros.
    @Test(arguments: [
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "7P_______________________________________38",
    ])
    func `an X25519 key of small order is refused`(x: String) throws {
        let key = try RecipientKey.generate(.x25519)
        let token = try JWE.encrypt([1], to: key.publicKey, .ecdhES, .a256GCM)
        var header = try #require(try JSON(parsing: bytes(token, part: 0)).object)
        header["epk"] = ["kty": "OKP", "crv": "X25519", "x": .string(x)]
        let text = JSON.object(header).serialized()
        #expect(try refusal(token, part: 0, Array(text.utf8), by: key) == Self.refusal)
        let point = try #require(Base64URL.decode(x))
        #expect(throws: JOSEError.self) { try JWE.encrypt([1], to: JWK(.x25519(point)), .ecdhES, .a256GCM) }
    }

    @Test func `a key of another kind is refused by its name`() throws {
        let token = try JWE.encrypt([1], to: Self.rsa.get().publicKey, .rsaOAEP, .a256GCM)
        let refusal = try refusal(token, by: RecipientKey.generate(.ec(.p256)))
        #expect(refusal?.contains("found RSA-OAEP") == true)
    }
}
