import AppAuth
import HTTPTypes
import Testing

/// The reader of header lines, by itself.
struct HeaderCollectorTests {
    private func collected(_ text: String, limit: Int = 1000) -> HeaderCollector {
        var collector = HeaderCollector(limit: limit)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            guard collector.take(Array("\(line)\r\n".utf8)) else { break }
        }
        return collector
    }

    @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.0 200", "HTTP/2 200 ", "HTTP/3 200"])
    func `a status line of any version is read`(line: String) {
        #expect(collected("\(line)\nA: b\n\n").response?.status.code == 200)
    }

    @Test(arguments: ["SSH-2.0-x", "HTTP/1.1", "HTTP/1.1 20", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "HTTP/1.1 600 X"])
    func `an invalid status line ends the transfer`(line: String) {
        var collector = HeaderCollector(limit: 1000)
        let taken = collector.take(Array("\(line)\r\n".utf8))
        #expect(!taken)
        #expect(!collector.isTooLong)
    }

    @Test func `the response is there when its header is complete, and not before`() {
        #expect(collected("HTTP/1.1 200 OK\nA: b\n").response == nil)
        #expect(collected("HTTP/1.1 100 Continue\n\n").response == nil)
        #expect(collected("HTTP/1.1 200 OK\nA: b\n\n").response?.headerFields.count == 1)
    }

    @Test func `fields of an interim response are not those of the final one`() {
        let response = collected("HTTP/1.1 103 Hints\nA: early\n\nHTTP/1.1 200 OK\nB: late\n\n").response
        #expect(response?.headerFields.map(\.name.rawName) == ["B"])
    }

    @Test func `a 101 is final only if it was asked for`() {
        for isUpgrade in [true, false] {
            var collector = HeaderCollector(limit: 1000, isUpgrade: isUpgrade)
            for line in ["HTTP/1.1 101 Switching", "A: b", ""] { _ = collector.take(Array("\(line)\r\n".utf8)) }
            #expect(collector.response?.status.code == (isUpgrade ? 101 : nil))
        }
    }

    @Test func `a trailer changes nothing, not even one that looks like a response`() {
        let response = collected("HTTP/1.1 200 OK\nA: b\n\nHTTP/1.1 500 No\nA: c\n\n").response
        #expect(response?.status.code == 200)
        #expect(response?.headerFields.map(\.value) == ["b"])
    }

    @Test func `trailers are fields of their own`() {
        let collector = collected("HTTP/1.1 200 OK\nA: b\n\nC: d\n\tx\nE: f\n")
        #expect(collector.response?.headerFields.map(\.name.rawName) == ["A"])
        #expect(collector.trailers.map(\.name.rawName) == ["C", "E"])
        #expect(
            collected("HTTP/1.1 200 OK\nA: b\n\n").trailers.isEmpty
                && collected("HTTP/1.1 200 OK\nA: b\n").trailers.isEmpty)
    }

    @Test func `lines that are no fields are left out`() {
        let response = collected("HTTP/1.1 200 OK\nno colon\n: no name\nbad name: 1\nbad\u{e9}: 1\nGood: 1\n\n")
            .response
        #expect(response?.headerFields.map(\.name.rawName) == ["Good"])
    }

    @Test func `a folded line continues its field, and the first line nothing`() {
        let response = collected("HTTP/1.1 200 OK\n nothing\nA: b\n\tc\nD: e\n\n").response
        #expect(response?.headerFields.map { $0.value.filter { !$0.isWhitespace } } == ["bc", "e"])
    }

    @Test(arguments: [26, 25])
    func `every byte counts, line ends and trailers too`(limit: Int) {
        // 17 + 2 + 7 bytes.
        let collector = collected("HTTP/1.1 200 OK\n\nA: b1\n", limit: limit)
        #expect(collector.isTooLong == (limit < 26))
    }
}
