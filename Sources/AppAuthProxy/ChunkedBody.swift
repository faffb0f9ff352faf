package import AppAuth
internal import JOSE

/// An incremental decoder of the chunked coding (RFC 9112 §7.1). Extensions and trailers are checked and dropped.
package struct ChunkedBody: Sendable {
    private enum Part { case size, data(Int), dataEnd, trailers, over }

    private var part = Part.size
    private var line: [UInt8] = []
    private var sawCarriageReturn = false
    private var trailerBytes = 0

    package init() {}

    /// Whether the end of the body has been read.
    package var isOver: Bool { if case .over = part { true } else { false } }

    /// Decodes bytes of the body, and removes them from the front of the slice. Returns the data in them.
    package mutating func decode(_ bytes: inout ArraySlice<UInt8>) throws(RequestHead.Refusal) -> [UInt8] {
        var data: [UInt8] = []
        while !bytes.isEmpty, !isOver {
            if case .data(let rest) = part {
                let taken = bytes.prefix(rest)
                data += taken
                bytes = bytes.dropFirst(taken.count)
                part = taken.count == rest ? .dataEnd : .data(rest - taken.count)
            } else if try endsLine(bytes.removeFirst()) {
                try take(line)
                line = []
            }
        }
        return data
    }

    /// Adds a byte to the line, and returns whether it was the last.
    private mutating func endsLine(_ byte: UInt8) throws(RequestHead.Refusal) -> Bool {
        if sawCarriageReturn {
            guard byte == UInt8(ascii: "\n") else { throw .badRequest }
            sawCarriageReturn = false
            return true
        }
        if byte == UInt8(ascii: "\r") {
            sawCarriageReturn = true
            return false
        }
        guard byte >= 0x20 && byte != 0x7F || byte == UInt8(ascii: "\t"), line.count < Self.longestLine else {
            throw .badRequest
        }
        line.append(byte)
        return false
    }

    private mutating func take(_ line: [UInt8]) throws(RequestHead.Refusal) {
        switch part {
        case .size:
            let size = try Self.size(line)
            part = size == 0 ? .trailers : .data(size)
        case .dataEnd:
            guard line.isEmpty else { throw .badRequest }
            part = .size
        case .trailers:
            guard !line.isEmpty else { return part = .over }
            trailerBytes += line.count
            guard trailerBytes <= Self.longestLine else { throw .headTooLarge }
            _ = try RequestHead.field(line)
        case .data, .over: throw .badRequest
        }
    }

    /// Parses `1A` or `1A;extension`.
    private static func size(_ line: [UInt8]) throws(RequestHead.Refusal) -> Int {
        let digits = line.prefix { $0.hexDigitValue != nil }
        let next = line.dropFirst(digits.count).first
        guard next == nil || next == UInt8(ascii: ";"), !digits.isEmpty, digits.count <= 15,
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .badRequest }
        return size
    }

    private static let longestLine = 8 << 10
}
