import JOSE
import Testing

/// The reader accepts all that RFC 8259 allows.
@Suite struct JSONReaderTests {
    @Test(
        arguments: [
            ("null", .null), ("true", true), (" false ", false), ("\t\r\n1\n", 1), (#""""#, ""), ("[]", []),
            ("{}", [:]),
            ("[ 1 , [ ] , { } ]", [1, [], [:]]), (#"{"a":{"b":[null]}}"#, ["a": ["b": [nil]]]), (#"{"":""}"#, ["": ""]),
        ] as [(String, JSON)])
    func `a value is read`(text: String, value: JSON) throws {
        #expect(try JSON(parsing: text) == value)
    }

    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "A\u{E9}\u{20AC}"),
        (#""\ud83d\udd11""#, "\u{1F511}"), (#""\uD800\uDC00\uDBFF\uDFFF""#, "\u{10000}\u{10FFFF}"),
        (#""\u0000""#, "\0"), (#""\ufeff\uffff""#, "\u{FEFF}\u{FFFF}"), (#""a\u0062c\u0064""#, "abcd"),
        (
            "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"",
            "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}"
        ),
        ("\"\u{D7FF}\u{E000}\"", "\u{D7FF}\u{E000}"), ("\"\u{FEFF}\"", "\u{FEFF}"), (#""/""#, "/"),
        ("\"\u{2028}\u{2029}\"", "\u{2028}\u{2029}"),
    ])
    func `a string is read`(text: String, value: String) throws {
        let string = try #require(try JSON(parsing: text).string)
        #expect(string.isExactly(value))
    }

    @Test func `a string keeps its code points as they are`() throws {
        #expect(try JSON(parsing: "\"e\u{301}\"").string?.unicodeScalars.count == 2)
        #expect(try JSON(parsing: "\"\u{E9}\"").string?.unicodeScalars.count == 1)
        #expect(try JSON(parsing: "\"e\u{301}\"") != JSON(parsing: "\"\u{E9}\""))
    }

    @Test(arguments: [1, 10, 15, 16, 17, 100, 10_000])
    func `a string of any length is read, escaped or not`(count: Int) throws {
        let text = String(repeating: "x", count: count)
        #expect(try JSON(parsing: "\"\(text)\"").string == text)
        #expect(try JSON(parsing: "\"\(text)\\n\(text)\"").string == text + "\n" + text)
        #expect(try JSON(parsing: "\"\(String(repeating: "\\u0078", count: count))\"").string == text)
    }

    @Test(arguments: [#"["#, #"{"a":"#])
    func `arrays and objects are read 64 deep and no deeper`(opening: String) throws {
        func document(depth: Int) -> String {
            let closing = opening == "[" ? "]" : "}"
            let inner = opening == "[" ? "" : "null"
            return String(repeating: opening, count: depth) + inner + String(repeating: closing, count: depth)
        }
        #expect(throws: Never.self) { try JSON(parsing: document(depth: 64)) }
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: document(depth: 65)) }
        // As many beside each other are fine, and a depth without an end is found out at once.
        let wide = "[" + Array(repeating: document(depth: 63), count: 100).joined(separator: ",") + "]"
        #expect(throws: Never.self) { try JSON(parsing: wide) }
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: String(repeating: opening, count: 100_000)) }
    }

    @Test func `members keep their order`() throws {
        let object = try #require(try JSON(parsing: #"{"z":1,"a":2,"m":3}"#).object)
        #expect(object.names == ["z", "a", "m"])
    }

    @Test func `a parse error says where, and shows nothing of the document`() {
        let error = #expect(throws: JSON.ParseError.self) { try JSON(parsing: #"{"secret":"swordfish"!}"#) }
        #expect(error?.description == "not valid JSON: expected ',' or '}' at byte 21, found something else")
    }

    /// Documents at the limit of a megabyte: a reader that is quadratic in any of these does not come back.
    @Test(arguments: [
        "members", "long names", "elements", "escapes", "numbers", "one number", "one string", "white space", "depth",
    ])
    func `a large document is read in time`(kind: String) throws {
        let document =
            switch kind {
            case "members": "{" + (0..<60_000).map { "\"member\($0)\":1" }.joined(separator: ",") + "}"
            case "long names":
                "{" + (0..<1000).map { "\"" + String(repeating: "n", count: 1000) + "\($0)\":1" }.joined(separator: ",")
                    + "}"
            case "elements": "[" + Array(repeating: "[]", count: 330_000).joined(separator: ",") + "]"
            case "escapes": "\"" + String(repeating: "\\u00e9", count: 170_000) + "\""
            case "numbers": "[" + Array(repeating: "1.5e3", count: 170_000).joined(separator: ",") + "]"
            case "one number": String(repeating: "9", count: 1_000_000)
            case "one string": "\"" + String(repeating: "\u{20AC}", count: 330_000) + "\""
            case "white space": String(repeating: " \n", count: 500_000) + "1"
            default:
                "["
                    + Array(
                        repeating: String(repeating: "[", count: 60) + String(repeating: "]", count: 60), count: 8000
                    )
                    .joined(separator: ",") + "]"
            }
        #expect(document.utf8.count > 900_000)
        #expect(throws: Never.self) { try JSON(parsing: document) }
        #expect(throws: JSON.ParseError.self) { try JSON(parsing: document + "!") }
    }

    @Test func `a large object finds its last member and refuses one with two values`() throws {
        let members = (0..<60_000).map { "\"member\($0)\":\($0)" }
        let object = try JSON(parsing: "{" + members.joined(separator: ",") + "}")
        #expect(object["member59999"] == 59_999)
        #expect(object["member60000"] == nil)
        // Each repetition is compared with one member, not with all.
        let repeated = Array(repeating: "\"member59999\":59999", count: 60_000)
        #expect(try JSON(parsing: "{" + (members + repeated).joined(separator: ",") + "}") == object)
        #expect(throws: JSON.ParseError.self) {
            try JSON(parsing: "{" + (members + ["\"member30000\":1"]).joined(separator: ",") + "}")
        }
    }
}
