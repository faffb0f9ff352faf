internal import JOSE

extension SecureURL {
    /// Whether this URL is the other one, or below its path. The query counts only if the other URL has one, which must be
    /// the beginning of this URL's query: RFC 8707 §2 allows one in the name of a resource.
    package func isWithin(_ other: SecureURL) -> Bool {
        // A client or a server may resolve such a path to one that is not below the other.
        guard origin == other.origin, !path.mayLeaveFolder else { return false }
        if let named = other.query {
            return path == other.path && (query == named || query?.hasPrefix(named + "&") == true)
        }
        let folder = other.path.hasSuffix("/") ? other.path : other.path + "/"
        return (path + "/").hasPrefix(folder)
    }
}

extension String {
    /// Whether a path has dot segments, also after a server has decoded its escapes once or more. Some servers ignore blanks,
    /// control characters and what follows a semicolon, some take other characters of Unicode for dots and slashes, and in some
    /// character sets currency signs are backslashes: what is no letter, digit, hyphen, low line or tilde may begin or end a
    /// segment.
    ///
    /// Nor may it have escapes that are no UTF-8: among them are overlong forms of a dot or a slash (RFC 3629 §3).
    fileprivate var mayLeaveFolder: Bool {
        var path = self
        while true {
            let segments = path.unicodeScalars.split { $0 == "/" || $0 == "\\" }
            if segments.contains(where: \.hasDotSegment) { return true }
            guard let decoded = path.percentDecoded?.plain else { return true }
            guard decoded != path else { return false }
            path = decoded
        }
    }

    /// The path with its escapes decoded once; nil if that is no UTF-8.
    private var percentDecoded: String? {
        var (bytes, rest) = ([UInt8](), utf8[...])
        while let byte = rest.popFirst() {
            // Digits only: `UInt8` would take a sign.
            let digits = rest.prefix(2)
            guard byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy(\.isASCIIAlphanumeric),
                let value = UInt8(String(Substring(digits)), radix: 16)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The text with what normalization (NFKC), or a conversion to another character set, makes of characters that become
    /// dots, slashes, or parts of escapes.
    private var plain: String {
        String(
            unicodeScalars.reduce(into: String.UnicodeScalarView()) { text, scalar in
                switch scalar.value {
                case 0xFF01...0xFF5E: text.append(Unicode.Scalar(UInt8(scalar.value - 0xFEE0)))
                case 0xB7, 0x2024, 0xFE52: text.append(".")
                case 0x2025, 0xFE30: text.append(contentsOf: "..".unicodeScalars)
                case 0x2044, 0x2215: text.append("/")
                case 0xFE68: text.append("\\")
                case 0xFE6A: text.append("%")
                default: text.append(scalar)
                }
            })
    }
}

extension Substring.UnicodeScalarView {
    /// Whether one or two dots stand alone in a segment, or among characters that are no words'.
    fileprivate var hasDotSegment: Bool {
        split(whereSeparator: { $0 != "." }).contains { dots in
            let neighbors = [self[..<dots.startIndex].last, self[dots.endIndex...].first]
            return dots.count <= 2 && neighbors.allSatisfy { $0.map { !$0.isOfWords } ?? true }
        }
    }
}

extension Unicode.Scalar {
    /// An escape counts as a character of words: it is decoded next. Marks do not, since some conversions drop them.
    fileprivate var isOfWords: Bool {
        let marks: [Unicode.GeneralCategory] = [.nonspacingMark, .spacingMark, .enclosingMark]
        return properties.isAlphabetic && !marks.contains(properties.generalCategory)
            || properties.numericType != nil || ["-", "_", "~", "%"].contains(self)
    }
}
