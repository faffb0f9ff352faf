import SignInTool
import Testing

/// How the bytes of standard input become lines.
struct LineBufferTests {
    @Test(arguments: [
        ("ab\ncd\n", ["ab", "cd"]), ("\n\n", ["", ""]), ("abcd\n", ["abcd"]), ("abcde\nf\n", ["abcd", "f"]),
    ])
    func `a line ends with a line feed, and is no longer than the limit`(text: String, lines: [String]) {
        for isTyped in [false, true] {
            var buffer = LineBuffer(isTyped: isTyped, limit: 4)
            #expect(buffer.add(Array(text.utf8)) == lines)
            #expect(buffer.end() == nil)
        }
    }

    @Test func `the rest is a line if the last one has no end`() {
        var buffer = LineBuffer(isTyped: false, limit: 4)
        #expect(buffer.add(Array("a\nb".utf8)) == ["a"])
        #expect(buffer.add(Array("c".utf8)) == [])
        #expect(buffer.end() == "bc" && buffer.end() == nil)
    }

    /// What is typed, the line, and the line if it is no terminal's.
    @Test(arguments: [
        ("abx\u{8}c", "abc", "abx\u{8}c"), ("\u{7F}\u{7F}a", "a", "\u{7F}\u{7F}a"), ("ab\u{15}c", "c", "ab\u{15}c"),
        ("a\u{1B}[1;5Db", "ab", "a\u{1B}[1;5Db"), ("a\u{1B}Ob", "ab", "a\u{1B}Ob"), ("a\u{1}b", "ab", "a\u{1}b"),
    ])
    func `the editing keys of a terminal are not in its lines`(text: String, typed: String, other: String) {
        for (isTyped, line) in [(true, typed), (false, other)] {
            var buffer = LineBuffer(isTyped: isTyped, limit: 20)
            #expect(buffer.add(Array((text + "\n").utf8)) == [line])
        }
    }
}
