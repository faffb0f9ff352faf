internal import AppAuth

/// The invariants of the bytes on a connection.
enum Connection {
    private static let limit = 1024
    private static let authority = "127.0.0.1:4711"

    static func check(_ input: [UInt8]) {
        let step = serve([input])
        // Where the network cuts the bytes changes nothing.
        let middle = input.count / 2
        expect(serve([Array(input[..<middle]), Array(input[middle...])]) == step, "cut in two: another step")
        if input.count <= 256 { expect(serve(input.map { [$0] }) == step, "single bytes: another step") }
        switch step {
        case .readMore: break
        case .ignore(let response, _): check(response: response)
        // The parameters have to be in the input as they are.
        case .match(let parameters): expect(input.holds(Array(parameters.utf8)), "parameters that were not sent")
        case .wait, .respond, .fail, .page, .close: fatalError("an effect without a redirect")
        }
    }

    /// Reads a request that comes in pieces, as the listener does.
    private static func serve(_ pieces: [[UInt8]]) -> ConnectionStep {
        var routes = RedirectRoutes(
            hosts: ["127.0.0.1", "[::1]"], port: 4711, path: "/cb", secret: "secret", headLimit: limit, formLimit: 64)
        var request = routes.newRequest()
        for piece in pieces where !piece.isEmpty {
            let step = routes.read(piece[...], of: &request, in: .open)
            guard step != .readMore else { continue }
            if let head = request.head { check(head) }
            if case .match(let parameters) = step, let head = request.head {
                expect(head.path == "/cb" && ["GET", "POST"].contains(head.method), "a redirect elsewhere")
                expect(
                    head.method == "GET" || (try? head.formLength(limit: 64)) == parameters.utf8.count,
                    "a form of another length")
            }
            return step
        }
        return .readMore
    }

    /// RFC 9112 §3, §5: a request that the reader accepted.
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

    /// Nothing of a client's own gets into the head of a response, and no single request gets more than a refusal.
    private static func check(response: [UInt8]) {
        let status = String(decoding: response.prefix(12), as: UTF8.self)
        expect(status.hasPrefix("HTTP/1.1 4") || status.hasPrefix("HTTP/1.1 5"), "the status line \(status)")
        let end = Array("\r\n\r\n".utf8)
        let head = response.indices.first { response[$0...].starts(with: end) }.map { response[..<$0] } ?? []
        let length = Array("Content-Length: \(response.count - head.count - 4)\r\n".utf8)
        expect(!head.isEmpty && Array(head).holds(length), "a response that is not whole")
        expect(head.allSatisfy { $0 == 13 || $0 == 10 || (0x20...0x7E).contains($0) }, "a byte that no head has")
    }
}

extension [UInt8] {
    fileprivate func holds(_ part: [UInt8]) -> Bool {
        indices.contains { self[$0...].starts(with: part) } || part.isEmpty
    }
}
