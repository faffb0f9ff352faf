extension String {
    /// Returns whether two texts have the same code points.
    ///
    /// `==` compares by Unicode's canonical equivalence: it considers "é" in one code point and in two equal, and the
    /// Kelvin sign equal to the letter K. JSON and JOSE compare without normalization (RFC 8259 §8.3, RFC 7515 §5.3).
    package func isExactly(_ other: String) -> Bool {
        // Most different texts differ in length or by `==`, both of which are faster. A text that equals an ASCII text
        // of the same length is identical.
        utf8.count == other.utf8.count && self == other && (utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8))
    }

    /// Returns the text with some code points replaced. Escapes need it: among characters, `"` with a combining mark is
    /// another one than `"`.
    package func replacing(_ replacement: (Unicode.Scalar) -> String?) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            if let new = replacement(scalar) { text += new } else { text.unicodeScalars.append(scalar) }
        }
    }

    /// Whether U+FFFD is in the text, in the place of a character that is lost.
    package var hasReplacement: Bool { !utf8Span.isKnownASCII && unicodeScalars.contains("\u{FFFD}") }

    /// The text with A to Z in lower case. `lowercased()` would also map the Kelvin sign to k.
    package var lowercasedASCII: String {
        String(
            decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self)
    }

    /// Runs the body with the text in UTF-8, without a copy if it is stored that way, as it always is on Linux.
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        var text = self
        return try text.withUTF8(body)
    }
}

extension RawRepresentable where RawValue == String {
    /// Creates the value whose raw value is exactly this name; see ``Swift/String/isExactly(_:)``.
    package init?(exactly name: String) {
        self.init(rawValue: name)
        guard rawValue.isExactly(name) else { return nil }
    }
}

/// A text that is compared and hashed by its code points.
package struct ExactText: Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
