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
}
