internal import AppAuth

/// What has to hold of the bytes on a connection, whatever they are.
enum Connection {
    private static let limit = 1024
    private static let authority = "127.0.0.1:4711"

    /// What came of a request.
    private enum Outcome: Equatable {
        case incomplete
        case answered(RedirectResponse)
        case matched(String)
    }

    static func check(_ input: [UInt8]) {
        let outcome = serve([input])
        // Where the network cuts the bytes changes nothing.
        let middle = input.count / 2
        expect(serve([Array(input[..<middle]), Array(input[middle...])]) == outcome, "cut in two: another outcome")
        if input.count <= 256 { expect(serve(input.map { [$0] }) == outcome, "single bytes: another outcome") }
        switch outcome {
        case .incomplete: break
        case .answered(let response): check(response)
        // The parameters have to stand in the input as they are.
        case .matched(let parameters): expect(input.holds(Array(parameters.utf8)), "parameters that nobody sent")
        }
    }

    /// Reads a request that comes in pieces, as the listener does.
    private static func serve(_ pieces: [[UInt8]]) -> Outcome {
        var routes = RedirectRoutes(
            hosts: ["127.0.0.1", "[::1]"], port: 4711, path: "/cb", secret: "secret", formLimit: 64)
        var rest = Array(pieces.reversed())
        var reader = RequestHeadReader(limit: limit)
        while let piece = rest.popLast() {
            var bytes = piece[...]
            switch reader.read(&bytes) {
            case .needsMore: continue
            case .bad(let refusal): return .answered(routes.refuse(refusal))
            case .request(let head):
                check(head)
                rest.append(Array(bytes))
                return serve(head, &routes, rest.reversed())
            }
        }
        return .incomplete
    }

    private static func serve(_ head: RequestHead, _ routes: inout RedirectRoutes, _ pieces: [[UInt8]]) -> Outcome {
        switch routes.route(head) {
        case .respond(let response): return .answered(response)
        case .match(let query):
            expect(head.method == "GET" && head.path == "/cb", "a redirect elsewhere")
            return .matched(query)
        case .readForm(let length):
            expect(head.method == "POST" && head.path == "/cb" && length <= 64, "a form elsewhere")
            var reader = FormReader(length: length)
            for piece in pieces {
                switch reader.read(piece[...]) {
                case .needsMore: continue
                case .bad(let refusal): return .answered(routes.refuse(refusal))
                case .form(let form):
                    expect(form.utf8.count == length, "a form of another length")
                    return .matched(form)
                }
            }
            return .incomplete
        case .hold, .page: fatalError("an outcome before there is one")
        }
    }

    /// RFC 9112 §3, §5: what got through the reader.
    private static func check(_ head: RequestHead) {
        expect(!head.method.isEmpty && head.method.utf8.count <= 32, "a method of \(head.method.utf8.count) bytes")
        for text in [head.method, head.path, head.query] {
            expect(text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a byte that no request line has")
        }
        expect(!head.path.contains("?"), "a path with a query")
        for field in head.fields {
            expect(!field.name.isEmpty && field.name == field.name.lowercased(), "the name of a field")
            expect(field.value.unicodeScalars.allSatisfy { $0 != "\r" && $0 != "\n" && $0 != "\0" }, "a broken field")
        }
        expect(head.fields.filter { $0.name == "host" }.count == 1, "not one host")
    }

    /// Nothing of a client's own gets into the head of a response, and no request alone is good for more than a refusal.
    private static func check(_ response: RedirectResponse) {
        expect((400..<600).contains(response.status), "status \(response.status)")
        let bytes = response.bytes
        let end = Array("\r\n\r\n".utf8)
        let head = bytes.indices.first { bytes[$0...].starts(with: end) }.map { bytes[..<$0] } ?? []
        expect(
            !head.isEmpty && bytes.count - head.count - 4 == response.body.utf8.count, "a response that is not whole")
        expect(head.allSatisfy { $0 == 13 || $0 == 10 || (0x20...0x7E).contains($0) }, "a byte that no head has")
    }
}

extension [UInt8] {
    fileprivate func holds(_ part: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: part) } || part.isEmpty
    }
}
