import JOSE
import Testing

/// What `print` shows of a value.
struct JSONDescriptionTests {
    private static let text = #"{"sub":"24","tags":["a\nb",null,true],"age":1.50,"address":{"zip":"1"}}"#

    @Test func `a printed value is one line of JSON`() throws {
        let json = try JSON(parsing: Self.text)
        #expect("\(json)" == Self.text && String(reflecting: json) == Self.text)
        #expect("\(try #require(json.object))" == Self.text)
        #expect("\(try #require(json["address"]?.object))" == #"{"zip":"1"}"#)
        #expect("\(JSON.Number(7))" == "7" && "\(["x"] as JSON)" == #"["x"]"#)
    }

    @Test(arguments: ["a\u{2028}b", "a\nb", "a\u{1B}[31m"])
    func `a text stays on its line, whatever it contains`(text: String) {
        let shown = "\(JSON.string(text))"
        #expect(!shown.contains { $0.isNewline } && !shown.unicodeScalars.contains("\u{1B}"))
    }
}
