/// An incremental parser for a request head. It reads each byte once and rejects an invalid head at its first wrong
/// byte, so that TLS or binary data on the port gets a response at once.
package struct RequestHeadReader: Sendable {
    private let limit: Int
    private var count = 0
    private var start: RequestHead.RequestLine?
    private var fields: [RequestHead.Field] = []
    private var line: [UInt8] = []
    private var sawCarriageReturn = false
    private var hasMethod = false

    /// - Parameter limit: The largest head in bytes, including its empty line.
    package init(limit: Int) { self.limit = limit }

    /// Whether no byte has been read.
    package var isEmpty: Bool { count == 0 }

    /// Parses bytes, removes them from the front of the slice, and returns the head, or nil if it needs more. The bytes
    /// after a head belong to the body. Do not call it again unless it has returned nil.
    package mutating func read(_ bytes: inout ArraySlice<UInt8>) throws(RequestHead.Refusal) -> RequestHead? {
        while let byte = bytes.popFirst() {
            count += 1
            guard count <= limit else { throw start == nil ? .targetTooLong : .headTooLarge }
            if sawCarriageReturn {
                // RFC 9112 §2.2: in a head, a line feed must follow every carriage return.
                guard byte == UInt8(ascii: "\n") else { throw .badRequest }
                sawCarriageReturn = false
                if let head = try endLine() { return head }
            } else if byte == UInt8(ascii: "\r") {
                sawCarriageReturn = true
            } else {
                guard allows(byte) else { throw .badRequest }
                line.append(byte)
            }
        }
        return nil
    }

    private mutating func endLine() throws(RequestHead.Refusal) -> RequestHead? {
        defer { line = [] }
        if let start {
            if line.isEmpty { return try RequestHead(start, fields: fields) }
            // A browser sends about twenty. Thousands of tiny fields would take far more memory than their bytes.
            guard fields.count < Self.mostFields else { throw .headTooLarge }
            fields.append(try RequestHead.field(line))
        } else if !line.isEmpty {
            start = try RequestHead.requestLine(line)
        } else if count > 2 {
            // RFC 9112 §2.2: an empty line before the request line is skipped, but only one.
            throw .badRequest
        }
        return nil
    }

    /// Returns whether a byte is allowed at this position. Control characters except tab are rejected, as is non-ASCII
    /// in the first line. A bare line feed, which RFC 9112 §2.2 permits, is rejected too: no browser sends one.
    private mutating func allows(_ byte: UInt8) -> Bool {
        guard start == nil else { return byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t") }
        guard (0x20...0x7E).contains(byte) else { return false }
        if byte == UInt8(ascii: " ") { hasMethod = true }
        return hasMethod || line.count < Self.longestMethod
    }

    private static let longestMethod = 32
    private static let mostFields = 128
}
