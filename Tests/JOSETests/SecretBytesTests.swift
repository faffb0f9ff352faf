import JOSE
import Testing

@Suite struct SecretBytesTests {
    @Test(arguments: [
        "", "s", "a secret", "\u{E9}\u{1F511}", "with a zero \0 inside", String(repeating: "x", count: 100_000),
    ])
    func `a text comes back`(text: String) {
        let secret = SecretBytes(text)
        #expect(secret.text == text)
        #expect(secret.bytes == Array(text.utf8))
    }

    @Test func `a part of a text comes back`() {
        let secret = SecretBytes(String("Bearer a secret".dropFirst(7)))
        #expect(secret.text == "a secret")
    }

    @Test func `secrets are equal byte for byte`() {
        #expect(SecretBytes("a secret") == SecretBytes("a secret"))
        #expect(SecretBytes("") == SecretBytes(""))
        #expect(!(SecretBytes("a secret") == SecretBytes("a secreT")))
        #expect(!(SecretBytes("a secret") == SecretBytes("a secret ")))
        #expect(!(SecretBytes("") == SecretBytes("a")))
        #expect(!(SecretBytes("\u{E9}") == SecretBytes("e\u{301}")))
    }
}
