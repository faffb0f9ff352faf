import JOSE
import Testing

private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

@Suite struct DigestTests {
    /// NIST's examples for FIPS 180-4: no bytes, "abc", a message of two blocks, and a million times "a".
    static let published: [(Digest, String, String)] = [
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha256, short, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (.sha256, million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (
            .sha384, "",
            "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"
        ),
        (
            .sha384, "abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha384, long,
            "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712fcc7c71a557e2db966c3e9fa91746039"
        ),
        (
            .sha384, million,
            "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b07b8b3dc38ecc4ebae97ddd87f3d8985"
        ),
        (
            .sha512, "",
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
                + "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"
        ),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (
            .sha512, long,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
                + "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909"
        ),
        (
            .sha512, million,
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
                + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"
        ),
    ]
    static let short = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
    static let long =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"
    static let million = String(repeating: "a", count: 1_000_000)

    @Test(arguments: published.indices)
    func `a digest is NIST's`(index: Int) {
        let (digest, message, expected) = Self.published[index]
        #expect(hex(digest.hash(message)) == expected)
        #expect(hex(digest.hash(Array(message.utf8))) == expected)
        #expect(hex(digest.hash(message + "b")) != expected)
    }

    @Test func `the S256 challenge is that of RFC 7636 appendix B`() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(Base64URL.encode(Digest.sha256.hash(verifier)) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `an authentication code is that of RFC 4231 §4.3`() {
        let (key, message) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        #expect(hex(Digest.sha256.hmac(key: key, message)) == expected)
        #expect(hex(Digest.sha256.hmac(key: Array("jefe".utf8), message)) != expected)
    }

    @Test(arguments: [Digest.sha256, .sha384, .sha512])
    func `an empty key is padded like any short one, and an empty message is a message`(digest: Digest) {
        // RFC 2104 §2: a key shorter than the block is filled up with zeros.
        #expect(digest.hmac(key: [], [1, 2]) == digest.hmac(key: [0], [1, 2]))
        #expect(digest.hmac(key: [], []) == digest.hmac(key: [0, 0], []))
        #expect(digest.hmac(key: [], []) != digest.hmac(key: [], [0]))
        #expect(digest.hmac(key: [1], []).count == digest.byteCount)
    }

    @Test func `equality in constant time is equality`() {
        #expect(constantTimeEqual([UInt8](), []))
        #expect(constantTimeEqual("secret", "secret"))
        #expect(!constantTimeEqual("secret", "secreT"))
        #expect(!constantTimeEqual("secret", "secret "))
        #expect(!constantTimeEqual("", "s"))
    }

    @Test func `texts that Unicode takes for the same are not equal in constant time`() {
        #expect("\u{E9}" == "e\u{301}")
        #expect(!constantTimeEqual("\u{E9}", "e\u{301}"))
        #expect(constantTimeEqual("\u{E9}", "\u{E9}"))
    }

    @Test(arguments: [0, 1, 16, 32, 4096])
    func `random bytes come in the number asked for`(count: Int) throws {
        #expect(try randomBytes(count).count == count)
    }

    @Test func `random bytes do not repeat`() throws {
        let drawn = try (0..<1000).map { _ in try randomBytes(16) }
        #expect(Set(drawn).count == 1000)
    }
}
