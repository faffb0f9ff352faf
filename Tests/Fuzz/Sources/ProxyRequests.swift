internal import AppAuth
internal import AppAuthProxy
internal import HTTPTypes

/// The bytes that a client of the proxy sends for one request.
enum ProxyRequests {
    private static let rules: RequestRules = {
        guard let server = try? SecureURL("https://api.example/v1") else { fatalError("expected a URL") }
        return RequestRules(
            server: server, authorities: ["127.0.0.1:4711"], allowedOrigins: ["http://localhost:5173"])
    }()

    @Sendable static func check(_ input: [UInt8]) {
        let read = read([input])
        let middle = input.count / 2
        expect(self.read([Array(input[..<middle]), Array(input[middle...])]) == read, "cut in two: another request")
        if input.count <= 256 { expect(self.read(input.map { [$0] }) == read, "single bytes: another request") }
        guard let head = read.head else { return }
        check(head)
        switch read.framing {
        case .length?, .chunked?:
            let fields = head.fields.filter { ["content-length", "transfer-encoding"].contains($0.name) }
            expect(fields.count == 1, "a body with two ends")
        case .noBody?, nil: expect(read.body.isEmpty, "a body without an end")
        }
        if let request = try? rules.request(for: head) { check(request) }
    }

    private struct Read: Equatable {
        var head: RequestHead?
        var framing: BodyFraming?
        var body: [UInt8] = []
        /// What follows the request.
        var rest: [UInt8] = []
        var isOver = false
        var isRefused = false
    }

    /// Reads a request that comes in pieces, as the proxy does.
    private static func read(_ pieces: [[UInt8]]) -> Read {
        var (result, reader, chunks) = (Read(), RequestHeadReader(limit: 1024), ChunkedBody())
        do throws(RequestHead.Refusal) {
            for piece in pieces {
                var bytes = piece[...]
                if result.head == nil {
                    result.head = try reader.read(&bytes)
                    result.framing = try result.head.map { head throws(RequestHead.Refusal) in try BodyFraming(head) }
                }
                switch result.framing {
                case nil: continue
                case .noBody: result.isOver = true
                case .length(let length):
                    let taken = bytes.prefix(length - result.body.count)
                    result.body += taken
                    bytes = bytes.dropFirst(taken.count)
                    result.isOver = result.body.count == length
                case .chunked:
                    result.body += try chunks.decode(&bytes)
                    result.isOver = chunks.isOver
                }
                result.rest += bytes
            }
        } catch {
            // How much was read before depends on the pieces.
            return Read(isRefused: true)
        }
        expect(result.isOver || result.rest.isEmpty, "unread bytes of a body")
        return result
    }

    private static func check(_ head: RequestHead) {
        for field in head.fields {
            expect(field.value.unicodeScalars.allSatisfy { !["\r", "\n", "\0"].contains($0) }, "a broken field")
        }
    }

    /// What the server gets.
    private static func check(_ request: HTTPRequest) {
        expect(request.scheme == "https" && request.authority == "api.example", "another server")
        let path = request.path ?? ""
        let decoded = (0..<4).reduce(path.prefix { $0 != "?" }.lowercased()) { path, _ in
            path.replacing("%2e", with: ".").replacing("%2f", with: "/").replacing("%25", with: "%")
        }
        expect(decoded == "/v1" || decoded.hasPrefix("/v1/"), "another path: \(path)")
        expect(!decoded.split(separator: "/").contains(".."), "a way out: \(path)")
        expect(!["TRACE", "CONNECT"].contains(request.method.rawValue), "a method that shows the token")
        let names = Set(request.headerFields.map(\.name.canonicalName))
        let own: Set = ["authorization", "cookie", "host", "connection", "transfer-encoding", "content-length"]
        expect(names.isDisjoint(with: own), "a field of the client’s own")
        if let name = request.headerFields[.upgrade] {
            expect(name == "websocket" && request.method == .get, "another protocol: \(name)")
            expect(request.headerFields[values: .secWebSocketKey].count == 1, "a handshake without a key")
        }
    }
}
