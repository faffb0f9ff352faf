package import AppAuth

/// How the end of a request's body is found (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Hashable {
    case noBody
    case length(Int)
    case chunked

    /// Reads it from the head of a request, strictly: a server that read it in another way would take a part of the body for
    /// the next request.
    package init(_ head: RequestHead) throws(RequestHead.Refusal) {
        let lengths = head.fields.filter { $0.name == "content-length" }.map(\.value)
        let codings = head.fields.filter { $0.name == "transfer-encoding" }.map(\.value)
        if let coding = codings.first {
            // §6.1: no length beside it, and none of HTTP/1.0. Other codings are not supported.
            guard codings.count == 1, coding.lowercased() == "chunked", lengths.isEmpty, !head.isVersion10 else {
                throw .badRequest
            }
            self = .chunked
        } else if let length = lengths.first {
            guard lengths.count == 1, !length.isEmpty, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let count = Int(length)
            else { throw .badRequest }
            self = .length(count)
        } else {
            self = .noBody
        }
    }
}
