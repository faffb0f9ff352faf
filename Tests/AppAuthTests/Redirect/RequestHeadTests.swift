import AppAuth
import Testing

/// The listener's reading of a request: each refused head is wrong in only one respect.
struct RequestHeadTests {
    /// The head, nil for an incomplete one, or the reason why it is refused.
    private typealias Progress = Result<RequestHead?, RequestHead.Refusal>

    private func read(_ text: String, limit: Int = 16384) -> Progress {
        read(Array(text.utf8), limit)
    }

    private func read(_ bytes: [UInt8], _ limit: Int = 16384) -> Progress {
        var reader = RequestHeadReader(limit: limit)
        var rest = bytes[...]
        return Self.read(&rest, by: &reader)
    }

    private static func read(_ bytes: inout ArraySlice<UInt8>, by reader: inout RequestHeadReader) -> Progress {
        do throws(RequestHead.Refusal) { return .success(try reader.read(&bytes)) } catch { return .failure(error) }
    }

    private func head(_ text: String) throws -> RequestHead { try #require(try read(text).get()) }

    @Test func `a browser's request is read`() throws {
        let head = try head(
            "GET /cb?code=a%2Fb&x=? HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAccept-Language:\t de \r\nX:\r\n\r\n")
        #expect(head.method == "GET")
        #expect(head.authority == "127.0.0.1:80")
        #expect(head.path == "/cb")
        #expect(head.query == "code=a%2Fb&x=?")
        #expect(head["accept-language"] == "de")
        #expect(head["x"] == "")
        #expect(head["y"] == nil)
    }

    // RFC 3986 §3.3: the path ends at the first question mark, even if nothing is before or after it.
    @Test(arguments: [
        ("?", "", ""), ("?/cb", "", "/cb"), ("/cb?", "/cb", ""), ("/cb??a", "/cb", "?a"), ("/cb", "/cb", ""),
    ])
    func `the first question mark separates the path and the query`(
        target: String, path: String, query: String
    ) throws {
        let head = try head("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(head.path == path && head.query == query)
    }

    @Test func `single bytes make the same head as all at once`() throws {
        let text = "GET /cb?a=1 HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\n"
        var reader = RequestHeadReader(limit: 100)
        let progress = text.utf8.map { byte in
            var rest: ArraySlice = [byte]
            defer { #expect(rest.isEmpty) }
            return Self.read(&rest, by: &reader)
        }
        #expect(progress.dropLast().allSatisfy { $0 == .success(nil) })
        #expect(progress.last == read(text))
        #expect(progress.last == .success(try head(text)))
    }

    @Test(arguments: [
        "GET / HTTP/1.0\r\nHost: h\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nbehind the head \u{0}",
        "BREW / HTTP/1.1\r\nhOsT: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: \u{FC}\r\n\r\n",
    ])
    func `allowed forms are accepted`(_ text: String) throws {
        let head = try head(text)
        #expect(head.path == "/")
        #expect(head.authority == "h")
    }

    @Test(arguments: [
        ("http://h:1/cb?x=1", "h:1", "/cb", "x=1"), ("HTTP://h:1", "h:1", "/", ""), ("http://h:1?x", "h:1", "/", "x"),
        ("https://h:1/cb", "other", "https://h:1/cb", ""), ("*", "other", "*", ""), ("h:1", "other", "h:1", ""),
    ])
    func `the authority of an absolute target takes precedence over the host`(
        _ target: String, _ authority: String, _ path: String, _ query: String
    ) throws {
        let head = try head("GET \(target) HTTP/1.1\r\nHost: other\r\n\r\n")
        #expect(head.authority == authority)
        #expect(head.path == path)
        #expect(head.query == query)
    }

    @Test(arguments: [
        "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
        " GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\r\nHost: h\r\n\r\n", "GET /#x HTTP/1.1\r\nHost: h\r\n\r\n", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTML/1.1\r\nHost: h\r\n\r\n", "GET / http/1.1\r\nHost: h\r\n\r\n",
        "GET /\u{FC} HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", "GET / HTTP/1.1\nHost: h\n\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7F}\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
    ])
    func `a malformed head is refused`(_ text: String) { #expect(read(text) == .failure(.badRequest)) }

    @Test(arguments: ["GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTP/1.10\r\nHost: h\r\n\r\n"])
    func `another version is refused as such`(_ text: String) { #expect(read(text) == .failure(.versionNotSupported)) }

    @Test func `an invalid request is refused at its first wrong byte`() {
        #expect(read([0x16, 0x03, 0x01]) == .failure(.badRequest))
        #expect(read([0x80]) == .failure(.badRequest))
        #expect(read("GET /\t") == .failure(.badRequest))
        #expect(read(String(repeating: "A", count: 32)) == .success(nil))
        #expect(read(String(repeating: "A", count: 33)) == .failure(.badRequest))
        #expect(read("GET " + String(repeating: "A", count: 100)) == .success(nil))
    }

    @Test func `a head may fill the limit and not pass it`() throws {
        let text = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        #expect(read(text, limit: text.utf8.count) == .success(try head(text)))
        #expect(read(text, limit: text.utf8.count - 1) == .failure(.headTooLarge))
        #expect(read("GET /" + String(repeating: "a", count: 20000)) == .failure(.targetTooLong))
    }

    @Test func `a head may have 128 fields and no more`() throws {
        func text(_ fields: Int) -> String {
            "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "a:\r\n", count: fields - 1) + "\r\n"
        }
        #expect(try head(text(128)).fields.count == 128)
        #expect(read(text(129)) == .failure(.headTooLarge))
    }

    @Test func `the bytes after the head are left`() throws {
        var reader = RequestHeadReader(limit: 100)
        var bytes = Array("GET / HTTP/1.1\r\nHost: h\r\n\r\na=b".utf8)[...]
        #expect(try reader.read(&bytes) != nil)
        #expect(Array(bytes) == Array("a=b".utf8))
    }
}
