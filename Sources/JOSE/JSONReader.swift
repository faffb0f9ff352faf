extension JSON {
    /// Why a document is not acceptable JSON: a sentence with the offset in bytes, without secrets of its content.
    public struct ParseError: Error, Hashable, CustomStringConvertible {
        /// What is wrong, and where.
        public let description: String
    }

    /// Parses one JSON document strictly: UTF-8 without a byte order mark, nothing after the value, no member with two
    /// different values, and at most 64 levels of arrays and objects.
    ///
    /// A surrogate without its other half, which the grammar permits (RFC 8259 §8.2), becomes U+FFFD in a value: some
    /// servers cut a name in the middle of a character. In the name of a member it is an error. So are bytes that are
    /// not UTF-8 (RFC 8259 §8.1, RFC 7519 §7.2 step 10).
    ///
    /// RFC 8259 does not forbid repeated members, and lets readers set limits (§4, §9). RFC 7515 §4, RFC 7519 §4 and
    /// RFC 8725 §2.3 explain why a reader for access decisions must not guess. If all values are equal, as where two
    /// settings of a Keycloak add one claim, there is nothing to guess.
    ///
    /// - Parameter bytes: The document in UTF-8.
    /// - Throws: ``ParseError``.
    public init(parsing bytes: [UInt8]) throws(ParseError) { try self.init(parsing: bytes, maximumDepth: 64) }

    package init(parsing bytes: [UInt8], maximumDepth: Int) throws(ParseError) {
        self = try bytes.withUnsafeBufferPointer { Self.read($0, maximumDepth) }.get()
    }

    /// Parses one JSON document from text; see ``init(parsing:)``.
    package init(parsing text: String) throws(ParseError) {
        self = try text.withBytes { Self.read($0, 64) }.get()
    }

    private static func read(
        _ bytes: UnsafeBufferPointer<UInt8>, _ maximumDepth: Int
    ) -> Result<JSON, ParseError> {
        Result { () throws(ParseError) in
            var reader = JSONReader(bytes: bytes, maximumDepth: maximumDepth)
            return try reader.document()
        }
    }
}

/// A recursive descent parser for the bytes of one document.
private struct JSONReader {
    let bytes: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    var position = 0
    var depth = 0
    /// Whether a string since the last reset had a surrogate without its other half.
    var hasLoneSurrogate = false

    mutating func document() throws(JSON.ParseError) -> JSON {
        skipWhitespace()
        let value = try value()
        skipWhitespace()
        guard position == bytes.count else { throw error("expected the end of the document") }
        return value
    }

    private mutating func value() throws(JSON.ParseError) -> JSON {
        switch peek {
        case UInt8(ascii: "{"): return .object(try nested { (reader) throws(JSON.ParseError) in try reader.object() })
        case UInt8(ascii: "["): return .array(try nested { (reader) throws(JSON.ParseError) in try reader.array() })
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try number())
        default: throw error("expected a value")
        }
    }

    private mutating func nested<T>(
        _ read: (inout JSONReader) throws(JSON.ParseError) -> T
    ) throws(JSON.ParseError) -> T {
        guard depth < maximumDepth else { throw error("nested deeper than \(maximumDepth)") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        skipWhitespace()
        return try read(&self)
    }

    private mutating func object() throws(JSON.ParseError) -> JSON.Object {
        var object = JSON.Object()
        if take(UInt8(ascii: "}")) { return object }
        while true {
            guard peek == UInt8(ascii: "\"") else { throw error("expected a member’s name") }
            hasLoneSurrogate = false
            let name = try string()
            // As U+FFFD, different names would become equal.
            guard !hasLoneSurrogate else { throw error("a lone surrogate in a member’s name") }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw error("expected ':'") }
            skipWhitespace()
            guard object.insert(name, try value()) else { throw error("a member has two values") }
            skipWhitespace()
            if take(UInt8(ascii: "}")) { return object }
            guard take(UInt8(ascii: ",")) else { throw error("expected ',' or '}'") }
            skipWhitespace()
        }
    }

    private mutating func array() throws(JSON.ParseError) -> [JSON] {
        var array: [JSON] = []
        if take(UInt8(ascii: "]")) { return array }
        while true {
            array.append(try value())
            skipWhitespace()
            if take(UInt8(ascii: "]")) { return array }
            guard take(UInt8(ascii: ",")) else { throw error("expected ',' or ']'") }
            skipWhitespace()
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON) throws(JSON.ParseError) -> JSON {
        let matches = text.withUTF8Buffer { literal in
            bytes.count - position >= literal.count
                && literal.indices.allSatisfy { bytes[position + $0] == literal[$0] }
        }
        guard matches else { throw error("expected a value") }
        position += text.utf8CodeUnitCount
        return value
    }

    /// Parses `number = [ minus ] int [ frac ] [ exp ]` (RFC 8259 §6).
    private mutating func number() throws(JSON.ParseError) -> JSON.Number {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return JSON.Number(validated: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func digits() throws(JSON.ParseError) {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        guard position > start else { throw error("expected a digit") }
    }

    private mutating func string() throws(JSON.ParseError) -> String {
        position += 1
        let start = position
        // Most strings have no escape: they are found as a whole and copied once.
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        position = bytes[start...].firstIndex { $0 == quote || $0 == backslash || $0 < 0x20 } ?? bytes.count
        guard peek == UInt8(ascii: "\"") else { return try escapedString(from: start) }
        defer { position += 1 }
        return try utf8(UnsafeBufferPointer(rebasing: bytes[start..<position]))
    }

    private mutating func escapedString(from start: Int) throws(JSON.ParseError) -> String {
        var text = Array(bytes[start..<position])
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text.withUnsafeBufferPointer(utf8)
            case UInt8(ascii: "\\"):
                text.append(contentsOf: UTF8.encode(try escape()) ?? UTF8.encodedReplacementCharacter)
            case 0..<0x20: throw error("a control character in a string")
            default: text.append(byte)
            }
        }
        throw error("a string without an end")
    }

    private mutating func escape() throws(JSON.ParseError) -> Unicode.Scalar {
        guard let byte = peek else { throw error("a string without an end") }
        position += 1
        let scalar: Unicode.Scalar
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scalar = Unicode.Scalar(byte)
        case UInt8(ascii: "b"): scalar = "\u{8}"
        case UInt8(ascii: "f"): scalar = "\u{C}"
        case UInt8(ascii: "n"): scalar = "\n"
        case UInt8(ascii: "r"): scalar = "\r"
        case UInt8(ascii: "t"): scalar = "\t"
        case UInt8(ascii: "u"): scalar = try unicodeEscape()
        default: throw error("an unknown escape")
        }
        return scalar
    }

    private mutating func unicodeEscape() throws(JSON.ParseError) -> Unicode.Scalar {
        let first = try hexadecimal()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let end = position
        if first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            let second = try hexadecimal()
            if (0xDC00..<0xE000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00))
            {
                return scalar
            }
        }
        // What follows is read for itself.
        position = end
        hasLoneSurrogate = true
        return "\u{FFFD}"
    }

    private mutating func hexadecimal() throws(JSON.ParseError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw error("expected four hexadecimal digits")
            }
            position += 1
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    private func utf8(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSON.ParseError) -> String {
        do { return String(copying: try UTF8Span(validating: bytes.span)) } catch {
            throw self.error("a string is not UTF-8")
        }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipWhitespace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private func error(_ what: String) -> JSON.ParseError {
        JSON.ParseError(
            description: "not valid JSON: \(what) at byte \(position)\(what.hasPrefix("expected") ? found : "")")
    }

    /// What was found instead. Only punctuation is shown, because any other character may belong to a secret.
    private var found: String {
        guard let character = peek.map({ Character(Unicode.Scalar($0)) }) else { return ", found the end" }
        return "{}[]:,\"".contains(character) ? ", found \(String(character).foundText)" : ", found something else"
    }
}
