internal import HTTPTypes

extension Reply {
    /// Returns the serialized response. A HEAD request gets the length and no body (RFC 9110 §9.3.2).
    func wireBytes(for method: HTTPRequest.Method, keepAlive: Bool) -> [UInt8] {
        // RFC 9110 §8.6: MUST NOT send a Content-Length with 204.
        let length = status == .noContent ? "" : "Content-Length: \(body.count)\r\n"
        return head(with: length, keepAlive: keepAlive) + (method == .head ? [] : body)
    }

    /// The head of a response whose body has no end. Without a length, only the end of the connection ends the body.
    var endlessHead: [UInt8] { head(with: "", keepAlive: false) }

    private func head(with length: String, keepAlive: Bool) -> [UInt8] {
        var head = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
        for field in headers { head += "\(field.name.rawName): \(field.value)\r\n" }
        head += length
        if !keepAlive { head += "Connection: close\r\n" }
        return Array((head + "\r\n").utf8)
    }
}
