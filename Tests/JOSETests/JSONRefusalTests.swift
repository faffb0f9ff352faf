import JOSE
import Testing

/// The reader refuses all that RFC 8259 does not allow, or leaves open.
@Suite struct JSONRefusalTests {
    private func isRefused(_ text: String) -> Bool { isRefused(Array(text.utf8)) }

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try JSON(parsing: bytes)
            return false
        } catch { return true }
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "Null", "True", "tru", "truefalse", "undefined", "NaN", "Infinity", "-Infinity", "'a'",
        "a",
        "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "[1}", "{", "}", "{]", "{1:2}", "{a:1}", "{'a':1}",
        #"{"a"}"#, #"{"a":}"#, #"{"a":1"#, #"{"a":1,"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#,
        #"{"a"::1}"#, #"{null:1}"#, "1 2", "[] []", "{}{}", "// a comment\n1", "1 /* a comment */", "#", "\u{A0}1",
        "1\u{A0}",
        "\u{C}1", "\u{B}1", "\u{2028}1", "1\0", "\0",
    ])
    func `a text that is no single value is refused`(text: String) {
        #expect(isRefused(text))
    }

    @Test(arguments: ["{}x", "{} ]", "1,", "\"a\"b", "null\u{FEFF}", "[]\0", "{}\n{"])
    func `bytes after the value are refused`(text: String) {
        #expect(isRefused(text))
    }

    @Test func `a byte order mark is refused`() {
        #expect(!isRefused("{}"))
        #expect(isRefused("\u{FEFF}{}"))
        // UTF-16, little and big endian, with and without a mark.
        #expect(isRefused([0xFF, 0xFE, 0x7B, 0, 0x7D, 0]))
        #expect(isRefused([0xFE, 0xFF, 0, 0x7B, 0, 0x7D]))
        #expect(isRefused([0x7B, 0, 0x7D, 0]))
        #expect(isRefused([0, 0x7B, 0, 0x7D]))
    }

    /// RFC 8259 §4 leaves repeated members open; RFC 7515 §4 and RFC 7519 §4 allow to refuse them.
    @Test(arguments: [
        #"{"a":1,"a":"1"}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"a":1,"a":1.0}"#,
        #"{"a":[1,2],"a":[2,1]}"#, #"{"a":1,"a":1,"a":2}"#, #"{"a":"\u00e9","a":"e\u0301"}"#,
        #"{"é":1,"\u00e9":2}"#, #"{"\/":1,"/":2}"#, #"{"":1,"":2}"#, #"[{"b":{"a":1,"a":2}}]"#,
        #"{"\ud83d\udd11":1,"🔑":2}"#,
    ])
    func `a member with two values is refused, also where escapes hide it`(text: String) {
        #expect(isRefused(text))
    }

    // Whichever a reader takes, it is the same.
    @Test(arguments: [
        #"{"a":1,"a":1}"#, #"{"\u0061":null,"b":2,"a":null}"#, #"{"a":{"b":1,"c":[]},"a":{"c":[],"b":1}}"#,
        #"{"a":"é","a":"\u00e9"}"#,
    ])
    func `a member with one value twice has this value`(text: String) throws {
        let object = try #require(try JSON(parsing: text).object)
        #expect(object.names.filter { $0 == "a" }.count == 1)
    }

    @Test(arguments: [
        #"{"a":1,"A":1}"#, #"{"a":{"a":1}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":1,"a ":1}"#, #"{"a":1,"a\u0000":1}"#,
        // One letter in one code point or two, K and the Kelvin sign: other names (RFC 8259 §8.3).
        "{\"\u{E9}\":1,\"e\u{301}\":2}", "{\"K\":1,\"\u{212A}\":2}",
    ])
    func `members of other names or other objects are not repeated`(text: String) {
        #expect(!isRefused(text))
    }

    @Test(arguments: [1, 2, 31, 32, 33, 34, 70])
    func `a member with two values is refused in objects of any size`(count: Int) {
        let members = (0..<count).map { "\"m\($0)\":\($0)" }
        #expect(!isRefused("{" + members.joined(separator: ",") + "}"))
        for position in members.indices {
            #expect(isRefused("{" + (members + ["\"m\(position)\":-1"]).joined(separator: ",") + "}"))
        }
    }

    @Test(arguments: [
        "\"", "\"a", "\"\\", "\"\\\"", #""\a""#, #""\'""#, #""\0""#, #""\x41""#, #""\U0041""#, #""\u""#, #""\u0""#,
        #""\u004""#, #""\u00g1""#, #""\u 041""#, #""\u+041""#, #""\u-041""#, #""\u00٤١""#, #""\u{41}""#, #""\""#,
    ])
    func `a string without an end or with an unknown escape is refused`(text: String) {
        #expect(isRefused(text))
    }

    @Test(arguments: [#""\ud83d\u""#, #""\ud83d\udd1""#, #""\ud83d\udg11""#, #""\ud83d\x""#, #""\ud83d\"#, #""\ud83d"#])
    func `a malformed escape after a lone surrogate is refused`(text: String) {
        #expect(!isRefused(#""\ud83d\udd11""#))
        #expect(isRefused(text))
    }

    @Test(arguments: [
        #"{"\ud800":1}"#, #"{"a":1,"\udc00":1}"#, #"{"a\ud83d":"\ud83d"}"#, #"[{"\ud83d\u0041":1}]"#,
        #"{"a":"\ud800","\ud800":1}"#, #"{"\ud800":1,"\ud801":2}"#,
    ])
    func `a lone surrogate in the name of a member is refused`(text: String) {
        #expect(!isRefused(#"{"\ud83d\udd11":1}"#))
        // One that came before, in a value, does not count.
        #expect(!isRefused(#"{"a":"\ud800","b":1}"#))
        #expect(isRefused(text))
    }

    @Test(arguments: UInt8(0)..<0x20)
    func `a control character in a string is refused`(byte: UInt8) {
        #expect(isRefused([0x22, byte, 0x22]))
        #expect(isRefused([0x22, 0x5C, 0x6E, byte, 0x22]), "after an escape")
        #expect(!isRefused([0x22, 0x20, 0x22]))
        #expect(!isRefused([0x22, 0x7F, 0x22]))
    }

    /// RFC 3629 §3: overlong forms, surrogates, beyond U+10FFFF, cut short, and bytes that are never UTF-8.
    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xC2, 0xC2],
            [0xE0, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xED, 0xA0, 0xBD, 0xED, 0xB4, 0x91], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF0, 0x9F, 0x94],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func `a string that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(isRefused([0x22] + bytes + [0x22]))
        #expect(isRefused([0x22, 0x5C, 0x6E] + bytes + [0x22]), "after an escape")
        #expect(isRefused([0x7B, 0x22] + bytes + [0x22, 0x3A, 0x31, 0x7D]), "as a name")
        #expect(isRefused(Array("\"a string of more than fifteen bytes, ".utf8) + bytes + [0x22]))
        #expect(isRefused(bytes))
        #expect(!isRefused([0x22, 0xC2, 0x80, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x94, 0x91, 0x22]))
    }
}
