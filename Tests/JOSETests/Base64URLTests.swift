import JOSE
import Testing

@Suite struct Base64URLTests {
    /// RFC 4648 §10 without padding, and the example of RFC 7515 appendix C.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ])
    func `a text is encoded as RFC 4648 §10 says`(text: String, encoded: String) {
        #expect(Base64URL.encode(Array(text.utf8)) == encoded)
        #expect(Base64URL.decode(encoded) == Array(text.utf8))
    }

    @Test func `bytes are encoded as RFC 7515 appendix C says`() {
        #expect(Base64URL.encode([3, 236, 255, 224, 193]) == "A-z_4ME")
        #expect(Base64URL.decode("A-z_4ME") == [3, 236, 255, 224, 193])
    }

    @Test(arguments: 0...100)
    func `every length comes back`(count: Int) throws {
        let bytes = try randomBytes(count)
        let encoded = Base64URL.encode(bytes)
        #expect(encoded.utf8.count == (count * 4 + 2) / 3)
        #expect(Base64URL.decode(encoded) == bytes)
    }

    @Test func `every byte comes back in every location`() {
        for byte in UInt8.min...UInt8.max {
            for bytes in [[byte], [0, byte], [0, 0, byte], [255, 255, byte, 255]] {
                #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            }
        }
    }

    /// The 192 bytes beyond the alphabet, those of base64 and its padding among them, in each place of a group.
    @Test(arguments: 0..<8)
    func `a character outside the alphabet is refused in every location`(position: Int) {
        let good = Array("QUJDREVG".utf8)
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max {
            var text = good
            text[position] = byte
            let decoded = text.withUnsafeBufferPointer { Base64URL.decode($0) }
            #expect((decoded != nil) == alphabet.contains(byte), "byte \(byte)")
        }
    }

    @Test(arguments: ["QUJD=", "QUI=", "QQ==", "=", "====", "QUJD QUJD", "QUJD\n", " QUJD", "QUJD\r\n", "QU+D", "QU/D"])
    func `padding, white space and the characters of base64 are refused`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["QUJ\u{C4}", "\u{212A}UJD", "QUJ\u{FF24}", "QUJD\u{301}", "\u{FEFF}QUJD", "QUJD\0"])
    func `letters beyond ASCII are refused, also those that Unicode takes for ASCII`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test(arguments: ["A", "QUJDR", "QUJDREVGA"])
    func `a length that no bytes have is refused`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `unused bits must be zero`() {
        // Four bits are unused after one byte, two after two: of the sixteen and four forms one is valid.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        for (value, character) in alphabet.enumerated() {
            #expect((Base64URL.decode("Q\(character)") != nil) == (value % 16 == 0))
            #expect((Base64URL.decode("QU\(character)") != nil) == (value % 4 == 0))
            #expect((Base64URL.decode("QUJDQ\(character)") != nil) == (value % 16 == 0))
        }
    }
}
