package import HTTPTypes

/// An incremental parser for the header section of a response: status line, fields, empty line.
///
/// Interim responses (RFC 9110 §15.2) are skipped, but for a 101 that was asked for. Trailers count towards the limit, and stay
/// apart, since a field has another meaning there (RFC 9110 §6.5.1). Repeated fields stay separate and in order. A line that is
/// not a field is dropped. Bytes that are not allowed in a value become spaces.
package struct HeaderCollector: Sendable {
    /// The status and fields, or nil until the final header section is complete.
    package private(set) var response: HTTPResponse?
    /// The fields after the body, so far.
    package var trailers: HTTPFields {
        guard response != nil, let last else { return response == nil ? [:] : fields }
        var all = fields
        all.append(HTTPField(name: last.name, value: last.value))
        return all
    }
    /// Whether a status line has arrived.
    package private(set) var hasBegun = false
    /// Whether the lines exceeded the limit.
    package private(set) var isTooLong = false

    private let limit: Int
    private let isUpgrade: Bool
    private var byteCount = 0
    private var status: Int?
    private var fields = HTTPFields()
    private var last: (name: HTTPField.Name, value: [UInt8])?

    /// - Parameters:
    ///   - limit: The largest size of all lines together, in bytes.
    ///   - isUpgrade: Whether the request asks for another protocol, so that a 101 is final (RFC 9110 §15.2.2).
    package init(limit: Int, isUpgrade: Bool = false) { (self.limit, self.isUpgrade) = (limit, isUpgrade) }

    /// Parses a line including its line ending. Returns false if the transfer must stop: the limit is exceeded, or the
    /// line is not HTTP.
    package mutating func take(_ line: some Collection<UInt8>) -> Bool {
        byteCount += line.count
        isTooLong = byteCount > limit
        guard !isTooLong else { return false }
        let text = Array(line.reversed().drop { $0 == 0x0a || $0 == 0x0d }.reversed())
        guard response == nil else {
            if !text.isEmpty { takeField(text) }
            return true
        }
        guard let status else { return takeStatus(text) }
        if text.isEmpty {
            keepLast()
            if status >= 200 || isUpgrade && status == 101 {
                response = HTTPResponse(status: .init(code: status), headerFields: fields)
            }
            self.status = nil
            fields = HTTPFields()
        } else {
            takeField(text)
        }
        return true
    }

    /// Parses `HTTP/1.1 200 OK` or `HTTP/2 200` (RFC 9112 §4). The reason phrase is ignored.
    private mutating func takeStatus(_ line: [UInt8]) -> Bool {
        let parts = line.split(separator: 0x20, maxSplits: 2)
        guard parts.count >= 2, parts[0].starts(with: "HTTP/".utf8), parts[1].count == 3,
            let code = Int(String(decoding: parts[1], as: UTF8.self)), 100...599 ~= code
        else { return false }
        (status, hasBegun) = (code, true)
        return true
    }

    private mutating func takeField(_ line: [UInt8]) {
        if line[0] == 0x20 || line[0] == 0x09 {  // a folded line (RFC 9112 §5.2)
            last?.value += line
            return
        }
        keepLast()
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
        else { return }
        last = (name, Array(line[(colon + 1)...]))
    }

    private mutating func keepLast() {
        if let last { fields.append(HTTPField(name: last.name, value: last.value)) }
        last = nil
    }
}
