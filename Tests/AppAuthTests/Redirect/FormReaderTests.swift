import AppAuth
import TestFixtures
import Testing

/// The listener's reading of a form post: each refused one is wrong in only one respect.
struct FormReaderTests {
    private static let type = RequestHead.Field(name: "content-type", value: "application/x-www-form-urlencoded")

    private func length(_ fields: [(String, String)], limit: Int = 100) throws(RequestHead.Refusal) -> Int {
        let fields = fields.map { RequestHead.Field(name: $0.0, value: $0.1) }
        return try RequestHead(method: "POST", authority: "h", path: "/", query: "", fields: fields)
            .formLength(limit: limit)
    }

    @Test(arguments: [
        "application/x-www-form-urlencoded", "Application/X-WWW-Form-URLEncoded",
        "application/x-www-form-urlencoded; charset=utf-8", "application/x-www-form-urlencoded ;x",
    ])
    func `a form says its type and its length`(_ type: String) throws {
        #expect(try length([("content-type", type), ("content-length", "7")]) == 7)
        #expect(try length([("content-length", "100"), ("content-type", type)]) == 100)
        #expect(try length([("content-length", "0"), ("content-type", type)]) == 0)
    }

    @Test(arguments: [
        "", "text/plain", "application/json", "multipart/form-data; boundary=x", "x-www-form-urlencoded",
        "application/x-www-form-urlencoded-2", "text/plain; application/x-www-form-urlencoded",
    ])
    func `another type is refused`(_ type: String) {
        #expect(throws: RequestHead.Refusal.unsupportedMediaType) {
            try length([("content-type", type), ("content-length", "7")])
        }
    }

    @Test func `a body without a type is refused`() {
        #expect(throws: RequestHead.Refusal.unsupportedMediaType) { try length([("content-length", "7")]) }
    }

    @Test(
        arguments: [
            ([], .lengthRequired), ([("transfer-encoding", "chunked")], .lengthRequired),
            ([("transfer-encoding", "chunked"), ("content-length", "7")], .lengthRequired),
            ([("content-length", "7"), ("content-length", "7")], .badRequest),
            ([("content-length", "7"), ("content-length", "8")], .badRequest),
            ([("content-length", "7, 7")], .badRequest), ([("content-length", "+7")], .badRequest),
            ([("content-length", "-7")], .badRequest), ([("content-length", "0x7")], .badRequest),
            ([("content-length", "7.0")], .badRequest), ([("content-length", "")], .badRequest),
            ([("content-length", "٧")], .badRequest), ([("content-length", "101")], .contentTooLarge),
            ([("content-length", "99999999999999999999999")], .contentTooLarge),
        ] as [([(String, String)], RequestHead.Refusal)])
    func `a length that is missing, ambiguous or too large is refused`(
        _ fields: [(String, String)], _ refusal: RequestHead.Refusal
    ) {
        #expect(throws: refusal) { try length([(Self.type.name, Self.type.value)] + fields) }
    }

    @Test func `single bytes make the same form as all at once`() throws {
        let form = Array("code=c%2F&state=s".utf8)
        var (whole, single) = (FormReader(length: form.count), FormReader(length: form.count))
        #expect(try whole.read(form[...]) == "code=c%2F&state=s")
        for byte in form.dropLast() { #expect(try single.read([byte]) == nil) }
        #expect(try single.read(form.suffix(1)) == "code=c%2F&state=s")
    }

    @Test func `the bytes after the form are not part of it`() throws {
        var reader = FormReader(length: 3)
        #expect(try reader.read(Array("a=bGET / HTTP/1.1\r\n".utf8)[...]) == "a=b")
        var empty = FormReader(length: 0)
        #expect(try empty.read(Array("x".utf8)[...]) == "")
    }

    @Test(arguments: [0x00, 0x0A, 0x20, 0x7F, 0x80, 0xFF] as [UInt8])
    func `a byte that a browser would have encoded is refused`(_ byte: UInt8) {
        var reader = FormReader(length: 3)
        #expect(throws: RequestHead.Refusal.badRequest) {
            try reader.read([UInt8(ascii: "a"), byte, UInt8(ascii: "b")])
        }
    }
}
