internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// A reader that assembles requests from the parser's parts.
struct RequestReader {
    /// The response to a request that cannot be read. It ends the connection.
    struct Refusal: Error {
        let reply: Reply

        init(_ status: HTTPResponse.Status, _ reason: String) {
            reply = Reply(status, type: "text/plain; charset=utf-8", reason + "\n")
        }
    }

    struct Incoming {
        let request: Request
        let keepAlive: Bool
    }

    typealias Parts = NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator

    let limits: Limits

    /// Returns the next request; nil at the end of the connection.
    ///
    /// - Parameter continues: Called if the client waits for a 100 response before it sends the body
    ///   (RFC 9110 §10.1.1).
    func next(_ parts: inout Parts, continues: () async throws -> Void) async throws -> Incoming? {
        do {
            guard case .head(let head)? = try await parts.next() else { return nil }
            let expectsContinue = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
            if expectsContinue { try await continues() }
            var body: [UInt8] = []
            while let part = try await parts.next() {
                switch part {
                case .head: throw Refusal(.badRequest, "A request inside a request.")
                case .body(let bytes): body += bytes.readableBytesView
                case .end: return Incoming(request: try request(head, body), keepAlive: head.isKeepAlive)
                }
                guard body.count <= limits.bodyBytes else {
                    throw Refusal(.contentTooLarge, "The body is larger than \(limits.bodyBytes) bytes.")
                }
            }
            return nil
        } catch is HTTPParserError {
            throw Refusal(.badRequest, "Not HTTP.")
        } catch is HeadLimit.Exceeded {
            throw Refusal(.requestHeaderFieldsTooLarge, "The head is larger than \(limits.headBytes) bytes.")
        }
    }

    private func request(_ head: HTTPRequestHead, _ body: [UInt8]) throws -> Request {
        var headers = HTTPFields()
        for (name, value) in head.headers {
            // RFC 9112 §5: optional white space around the value is not part of it.
            let value = String(value[...].trimmingSpaces)
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                throw Refusal(.badRequest, "A header field is malformed.")
            }
            headers.append(HTTPField(name: name, value: value))
        }
        // RFC 9112 §3.2: exactly one Host field.
        let hosts = head.headers["host"].map { $0[...].trimmingSpaces }
        guard hosts.count == 1, let host = hosts.first.map(String.init) else {
            throw Refusal(.badRequest, "Expected one Host field.")
        }
        guard let method = HTTPRequest.Method(head.method.rawValue) else {
            throw Refusal(.badRequest, "The method is malformed.")
        }
        guard head.uri.hasPrefix("/") else { throw Refusal(.badRequest, "Expected a target in origin form.") }
        let path = head.uri.prefix { $0 != "?" }
        guard let query = FormCoding.decode(String(head.uri.dropFirst(path.count + 1))) else {
            throw Refusal(.badRequest, "The query is malformed.")
        }
        return Request(method: method, path: String(path), query: query, host: host, headers: headers, body: body)
    }
}
