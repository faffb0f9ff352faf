extension String {
    /// Whether two texts are the same code points.
    ///
    /// `==` compares by Unicode's canonical equivalence: it takes "é" in one code point and in two for the same, and the
    /// Kelvin sign for the letter K. JSON and JOSE compare without normalization (RFC 8259 §8.3, RFC 7515 §5.3).
    package func isExactly(_ other: String) -> Bool {
        // Most texts differ in length or to `==`, and both find that out faster. What equals ASCII and is no longer is the
        // same.
        utf8.count == other.utf8.count && self == other && (utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8))
    }

    /// The text with the letters A to Z in lower case. ``lowercased()`` would take the Kelvin sign for a K, too.
    package var lowercasedASCII: String {
        String(
            decoding: utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self)
    }

    /// Runs the body with the text in UTF-8, without a copy where it is stored so, as on Linux it always is.
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        var text = self
        return try text.withUTF8(body)
    }
}

extension RawRepresentable where RawValue == String {
    /// The value of a name that is exactly its own; see ``Swift/String/isExactly(_:)``.
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
