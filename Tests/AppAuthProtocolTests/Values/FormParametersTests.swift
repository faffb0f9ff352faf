import AppAuthProtocol
import Testing

/// RFC 6749 appendix B: `application/x-www-form-urlencoded` in UTF-8.
struct FormParametersTests {
    @Test func `the example of RFC 6749 appendix B is encoded as printed there`() {
        // U+0020, U+0025, U+0026, U+002B, U+00A3, U+20AC.
        #expect(FormParameters.encode(" %&+£€") == "+%25%26%2B%C2%A3%E2%82%AC")
    }

    @Test(arguments: [
        ("abcXYZ019*-._", "abcXYZ019*-._"), ("~", "%7E"), ("a=b&c", "a%3Db%26c"), ("\r\n\0", "%0D%0A%00"),
        ("👩‍👩‍👧", "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"), ("", ""),
    ])
    func `a value is encoded byte by byte`(text: String, encoded: String) {
        #expect(FormParameters.encode(text) == encoded)
    }

    @Test func `parameters keep their order, and nil adds none`() {
        var form = FormParameters()
        form.append("b", "1")
        form.append("a", nil)
        form.append("c", "")
        form.append("b", "2 3")
        #expect(form.encoded == "b=1&c=&b=2+3")
    }

    @Test func `any text survives the way there and back`() throws {
        let texts = ["", " ", "+", "%", "=&=", "e\u{301}\u{E9}", "日本語", "\u{0}\u{7F}\u{FFFF}\u{10FFFF}", "%41"]
        for text in texts {
            var form = FormParameters()
            form.append(text, text)
            let back = try #require(FormParameters(decoding: form.encoded))
            #expect(back.items.count == 1)
            #expect(back.items.first.map { Array($0.value.utf8) } == Array(text.utf8))
            #expect(back.items.first.map { Array($0.name.utf8) } == Array(text.utf8))
        }
    }

    @Test func `a query is read in order, with names alone, empty pieces and further equals signs`() throws {
        let query = try #require(FormParameters(decoding: "&a=1&&b&c=x=y&a=+2%20&="))
        #expect(query.items.map(\.name) == ["a", "b", "c", "a", ""])
        #expect(query.items.map(\.value) == ["1", "", "x=y", " 2 ", ""])
        #expect(query.values("a") == ["1", " 2 "])
    }

    @Test(arguments: ["a=%", "a=%4", "a=%4G", "a=%G4", "%=1", "a=%C3", "a=%FF", "a=%ED%A0%80", "a=%C0%AF", "a=%+1"])
    func `an incomplete escape or a text that is not UTF-8 is refused`(query: String) {
        #expect(FormParameters(decoding: query) == nil)
    }

    @Test func `the first name that is repeated is found`() throws {
        #expect(try #require(FormParameters(decoding: "a=1&b=2&c=3")).repeatedName == nil)
        #expect(try #require(FormParameters(decoding: "a=1&b=2&%62=3&a=4")).repeatedName == "b")
    }
}
