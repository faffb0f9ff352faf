extension String {
    /// Whether two texts are the same code points.
    ///
    /// `==` compares by Unicode's canonical equivalence: it takes "é" in one code point and in two for the same, and the
    /// Kelvin sign for the letter K. JSON and JOSE compare without normalization (RFC 8259 §8.3, RFC 7515 §5.3).
    package func isExactly(_ other: String) -> Bool {
        // Where `==` says no, the bytes differ too; it finds that out faster.
        self == other && utf8.elementsEqual(other.utf8)
    }
}

/// A text that is compared and hashed by its code points.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
