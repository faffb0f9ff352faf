/// Reads a request head from bytes as they come: each byte is looked at once, and a head that cannot become a good one
/// is refused at its first wrong byte, so that TLS or binary on the port is answered at once.
package struct RequestHeadReader: Sendable {
    private let limit: Int
    private var count = 0
    private var start: RequestHead.RequestLine?
    private var fields: [RequestHead.Field] = []
    private var line: [UInt8] = []
    private var sawCarriageReturn = false
    private var hasMethod = false

    /// Where the reading stands.
    package enum Progress: Sendable, Hashable {
        case needsMore
        case request(RequestHead)
        case bad(RequestHead.Refusal)
    }

    /// - Parameter limit: The largest head in bytes, its empty line included.
    package init(limit: Int) { self.limit = limit }

    /// Whether nothing has come yet.
    var isEmpty: Bool { count == 0 }

    /// Reads on, and takes what it has read off the front: what is left behind a head is the body. Not to be called
    /// again after anything but ``Progress/needsMore``.
    package mutating func read(_ bytes: inout ArraySlice<UInt8>) -> Progress {
        while let byte = bytes.popFirst() {
            count += 1
            guard count <= limit else { return .bad(start == nil ? .targetTooLong : .headTooLarge) }
            if sawCarriageReturn {
                // RFC 9112 §2.2: a carriage return that no line feed follows is never part of a head.
                guard byte == UInt8(ascii: "\n") else { return .bad(.badRequest) }
                sawCarriageReturn = false
                do throws(RequestHead.Refusal) {
                    if let head = try endLine() { return .request(head) }
                } catch { return .bad(error) }
            } else if byte == UInt8(ascii: "\r") {
                sawCarriageReturn = true
            } else {
                guard allows(byte) else { return .bad(.badRequest) }
                line.append(byte)
            }
        }
        return .needsMore
    }

    private mutating func endLine() throws(RequestHead.Refusal) -> RequestHead? {
        defer { line = [] }
        if let start {
            if line.isEmpty { return try RequestHead(start, fields: fields) }
            // A browser sends twenty; thousands of tiny ones would take far more memory than their bytes.
            guard fields.count < Self.mostFields else { throw .headTooLarge }
            fields.append(try RequestHead.field(line))
        } else if !line.isEmpty {
            start = try RequestHead.requestLine(line)
        } else if count > 2 {
            // RFC 9112 §2.2: an empty line before the request line is skipped; one, not any number of them.
            throw .badRequest
        }
        return nil
    }

    /// Whether a byte may stand where it stands: no control character but a tab, and nothing that is not ASCII before
    /// the first line has ended. A bare line feed is refused with them, though RFC 9112 §2.2 would let us take it: no
    /// browser sends one.
    private mutating func allows(_ byte: UInt8) -> Bool {
        guard start == nil else { return byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t") }
        guard (0x20...0x7E).contains(byte) else { return false }
        if byte == UInt8(ascii: " ") { hasMethod = true }
        return hasMethod || line.count < Self.longestMethod
    }

    private static let longestMethod = 32
    private static let mostFields = 128
}
