import JOSE
import Testing

/// RFC 7515 §5.3, RFC 8259 §8.3: names are compared by their code points. The Kelvin sign looks like the letter K, and is
/// the same to Unicode's canonical equivalence, and so to `==`.
@Suite struct ExactNameTests {
    private static func kelvin(_ text: String) -> String { text.replacing("K", with: "\u{212A}") }

    @Test(arguments: [KeyManagementAlgorithm.ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW])
    func `an algorithm with another character in its name is not known`(algorithm: KeyManagementAlgorithm) throws {
        let key = try RecipientKey.generate(.ec(.p256))
        let token = try JWE.encrypt([1], to: key.publicKey, algorithm, .a128GCM)
        var parts = token.split(separator: ".").map(String.init)
        let header = try #require(Base64URL.decode(parts[0]).flatMap { try? JSON(parsing: $0).object })
        func read(_ name: String) throws -> JWE {
            var header = header
            header["alg"] = .string(name)
            parts[0] = Base64URL.encode(Array(JSON.object(header).serialized().utf8))
            return try JWE(compact: parts.joined(separator: "."))
        }
        #expect(try read(algorithm.rawValue).header.alg == algorithm)
        #expect(throws: JOSEError.self) { try read(Self.kelvin(algorithm.rawValue)) }
    }

    @Test func `a key with another character in its algorithm or operations does not fit`() throws {
        let key = try RecipientKey.generate(.ec(.p256)).publicKey
        func fits(_ alg: String?, _ operations: [String]?) -> Bool {
            var key = key
            (key.alg, key.keyOps) = (alg, operations)
            return key.fits(.ecdhESA128KW)
        }
        #expect(fits("ECDH-ES+A128KW", ["deriveKey"]))
        #expect(!fits(Self.kelvin("ECDH-ES+A128KW"), ["deriveKey"]))
        #expect(!fits("ECDH-ES+A128KW", [Self.kelvin("deriveKey")]))
    }

    @Test func `members of an object differ where their names have other code points`() {
        let (composed, decomposed): (JSON.Object, JSON.Object) = (["\u{E9}": 1], ["e\u{301}": 1])
        #expect(composed.members == composed.members)
        #expect(composed.members != decomposed.members)
        #expect(composed != decomposed)
    }

    @Test func `an exact text differs where its code points do`() {
        #expect(ExactText("K") == ExactText("K"))
        #expect("K" == "\u{212A}")
        #expect(ExactText("K") != ExactText("\u{212A}"))
        #expect(Set(["K", "\u{212A}", "K"].map(ExactText.init)).count == 2)
    }

    @Test func `only the ASCII letters of a text are lowercased`() {
        #expect("JWK Ä\u{212A}\u{130}".lowercasedASCII == "jwk Ä\u{212A}\u{130}")
    }
}
