import Testing

@testable import SignInTool

/// The width of texts on a terminal of 80 columns. A server's text must not reach the next row before it is wrapped.
@Suite struct CellTests {
    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("漢", 2), ("\u{17000}", 2), ("क\u{93E}\u{93E}\u{93E}", 4), ("👩🏽", 2),
        ("👩‍👩‍👧", 2),
        ("⚠️", 2), ("👩\u{93E}\u{93E}", 4),
    ])
    func `a character with marks takes a cell for each that has one`(text: String, cells: Int) {
        let fitting = String(repeating: "-", count: 78 - cells)
        #expect("\(text)\(fitting) x".wrapped(after: "").count == (text.isEmpty ? 0 : 1))
        #expect("\(text)\(fitting)- x".wrapped(after: "").count == 2)
    }

    /// The last row is that of the answer.
    @Test(arguments: [
        (["a", "b"], 3, true), (["a", "b"], 2, false), (["a", ""], 3, true), (["a", ""], 2, false),
        ([String(repeating: "漢", count: 39)], 2, true), ([String(repeating: "漢", count: 40)], 2, false),
        (["👩" + String(repeating: "🏽", count: 38)], 2, true), (["👩" + String(repeating: "🏽", count: 39)], 2, false),
        (Array(repeating: "a", count: 23), 0, true), (Array(repeating: "a", count: 24), 0, false),
    ])
    func `lines fit if a screen of 80 columns shows all of them`(lines: [String], rows: Int, fit: Bool) {
        #expect(lines.fit(columns: rows == 0 ? 0 : 80, rows: rows) == fit)
    }
}
