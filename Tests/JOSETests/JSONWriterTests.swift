import JOSE
import Testing

@Suite struct JSONWriterTests {
    @Test(
        arguments: [
            (.null, "null"), (true, "true"), (false, "false"), (-1, "-1"), ("", #""""#), ([], "[]"), ([:], "{}"),
            ([1, "a", nil], #"[1,"a",null]"#), (["b": [[:]], "a": 1], #"{"b":[{}],"a":1}"#),
            ("\"\\/\n\r\t", #""\"\\/\n\r\t""#), ("\u{E9}\u{20AC}\u{1F511}", "\"\u{E9}\u{20AC}\u{1F511}\""),
            (["a\"b": 1], #"{"a\"b":1}"#),
        ] as [(JSON, String)])
    func `a value is written`(value: JSON, text: String) throws {
        #expect(value.serialized().isExactly(text))
        #expect(try JSON(parsing: value.serialized()) == value)
    }

    @Test(
        arguments: Array(0..<0x20) + Array(0x7F..<0xA0) + [
            0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202E, 0x2066, 0x2069, 0xFEFF, 0xE0041,
            // zsh takes these for bytes when they are pasted.
            0xE000, 0xE027, 0xE0FF, 0xF500, 0xF6FF,
        ])
    func `a character that steers a terminal is escaped`(value: Int) throws {
        let scalar = try #require(Unicode.Scalar(UInt32(value)))
        let json = JSON.string("a\(scalar)b")
        #expect(!json.serialized().unicodeScalars.contains(scalar))
        #expect(json.serialized().hasPrefix("\"a\\"))
        #expect(try JSON(parsing: json.serialized()) == json)
    }

    /// A shell that reads the string with its double quotes runs it, whatever quotes are between them.
    @Test func `what runs between double quotes is escaped`() throws {
        let line = "sign-in login --acr-values 'urn:$(id)`id`!1'"
        let text = JSON.string(line).serialized()
        #expect(text == #""sign-in login --acr-values 'urn:\u0024(id)\u0060id\u0060\u00211'""#)
        #expect(try JSON(parsing: text).string == line)
    }

    /// With its quotes escaped, a shell reads a command line in another way: what was in quotes may be a command.
    @Test func `a command line whose quotes are escaped has nothing that a shell runs`() throws {
        let line = #"sign-in login --acr-values 'x'"'"';id>f&&a|b;$(id)`id`!!'"'"'y'"#
        let text = JSON.string(line).serialized()
        #expect(!text.contains { " ;&|<>()$`!".contains($0) }, "\(text)")
        #expect(try JSON(parsing: text).string == line)
        #expect(JSON.string(#"a "b" c"#).serialized() == #""a \"b\" c""#)
        let plain = "rm x && sign-in login 'a;b'"
        #expect(JSON.string(plain).serialized() == "\"\(plain)\"")
        #expect(JSON.string(plain + "\n").serialized() == "\"\(plain)\\n\"")
    }

    @Test func `with ascii everything beyond is escaped, in pairs beyond the first plane`() throws {
        let json: JSON = ["\u{E9}": "A\u{20AC}\u{1F511}~"]
        #expect(json.serialized(ascii: true) == #"{"\u00e9":"A\u20ac\ud83d\udd11~"}"#)
        #expect(json.serialized(ascii: true).utf8.allSatisfy { $0 < 0x80 })
        #expect(try JSON(parsing: json.serialized(ascii: true)) == json)
    }

    @Test func `every character comes back`() throws {
        var text = ""
        for value in UInt32(0)...0x10FFFF where value < 0x3000 || value % 251 == 0 {
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        for ascii in [false, true] {
            let written = JSON.string(text).serialized(ascii: ascii)
            #expect(try JSON(parsing: written).string?.isExactly(text) == true)
        }
    }
}
