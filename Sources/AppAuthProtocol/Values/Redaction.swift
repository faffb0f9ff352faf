internal import JOSE

/// Removes secrets from a text in every form in which a server may repeat them: verbatim, percent-encoded or
/// form-encoded (RFC 3986 §2.1, RFC 6749 appendix B), in base64 or base64url (RFC 4648 §4, §5), and inside a longer
/// value, as in HTTP Basic.
package struct Redaction: Sendable {
    private let patterns: [Pattern]

    private struct Pattern: Sendable {
        let bytes: [UInt8]
        var isBase64 = false
    }

    /// Shorter secrets would match ordinary words.
    private static let shortest = 8
    /// Far more than an error shows.
    private static let longestText = 4096

    package init(of secrets: [Secret]) {
        patterns = secrets.map(\.bytes).filter { $0.count >= Self.shortest }.flatMap { secret in
            let decoded = Piece.pieces(of: secret).map(\.byte)
            return [Pattern(bytes: secret), Pattern(bytes: decoded)]
                + Self.base64(secret).map { Pattern(bytes: $0, isBase64: true) }
        }
    }

    package func applied(to text: String) -> String {
        guard !patterns.isEmpty else { return text }
        let bytes = Array(text.utf8.prefix(Self.longestText))
        let pieces = Piece.pieces(of: bytes)
        let isCut = bytes.count < text.utf8.count
        var shown: [UInt8] = []
        var (index, end) = (0, 0)
        while index < pieces.count {
            guard let found = patterns.lazy.compactMap({ range(of: $0, at: index, in: pieces, isCut) }).first else {
                index += 1
                continue
            }
            for piece in pieces[end..<max(end, found.lowerBound)] { shown += bytes[piece.location] }
            shown += Array("[redacted]".utf8)
            (index, end) = (found.upperBound, found.upperBound)
        }
        for piece in pieces[end...] { shown += bytes[piece.location] }
        return String(decoding: shown, as: UTF8.self)
    }

    /// Returns the range of a pattern that begins at `index`. At the end of a truncated text, and before a quote, its beginning is
    /// enough: messages shorten what they quote.
    private func range(of pattern: Pattern, at index: Int, in pieces: [Piece], _ isCut: Bool) -> Range<Int>? {
        let count = zip(pieces[index...], pattern.bytes).prefix { $0.isFor($1) }.count
        let range = index..<index + count
        let isWhole = count == pattern.bytes.count
        let isAtEnd = range.upperBound == pieces.count
        let isShortened =
            isAtEnd ? isCut : count >= Self.shortest && pieces[range.upperBound].byte == UInt8(ascii: "'")
        guard isWhole || isShortened else { return nil }
        guard pattern.isBase64 else { return range }
        // The characters next to the match also hold bits of the secret.
        let start = pieces[..<range.lowerBound].lastIndex { !$0.isBase64 }.map { $0 + 1 } ?? 0
        let end = pieces[range.upperBound...].firstIndex { !$0.isBase64 && $0.byte != UInt8(ascii: "=") }
        return start..<(end ?? pieces.count)
    }

    /// Returns the characters that depend only on the secret, if 0, 1 or 2 other bytes precede it in a group of three.
    private static func base64(_ secret: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { offset in
            let text = Base64URL.encode([UInt8](repeating: 0, count: offset) + secret)
            let first = (offset * 8 + 5) / 6
            let safe = Array(text.utf8.prefix((offset + secret.count) * 8 / 6).dropFirst(first))
            let usual: [UInt8] = safe.map {
                $0 == UInt8(ascii: "-") ? UInt8(ascii: "+") : $0 == UInt8(ascii: "_") ? UInt8(ascii: "/") : $0
            }
            return usual == safe ? [safe] : [safe, usual]
        }
    }
}

/// A byte of a text, which may be percent-encoded there.
private struct Piece {
    let byte: UInt8
    /// The byte's position in the text.
    let location: Range<Int>

    private static let (plus, space) = (UInt8(ascii: "+"), UInt8(ascii: " "))

    /// In a form, a plus sign may be a space.
    func isFor(_ wanted: UInt8) -> Bool { byte == wanted || byte == Self.plus && wanted == Self.space }

    var isBase64: Bool {
        byte.isASCIIAlphanumeric || "+/-_".utf8.contains(byte)
    }

    static func pieces(of bytes: [UInt8]) -> [Piece] {
        var pieces: [Piece] = []
        var index = 0
        while index < bytes.count {
            var piece = Piece(byte: bytes[index], location: index..<index + 1)
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexDigitValue,
                let low = bytes[index + 2].hexDigitValue
            {
                piece = Piece(byte: high << 4 | low, location: index..<index + 3)
            }
            pieces.append(piece)
            index = piece.location.upperBound
        }
        return pieces
    }
}
