/// The classes of ASCII characters in which protocols are defined. `Character`'s properties include other alphabets.
extension UInt8 {
    @inlinable package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    @inlinable package var isASCIILowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }

    @inlinable package var isASCIILetter: Bool { (self | 0x20).isASCIILowercase }

    @inlinable package var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    /// The value of a hexadecimal digit in either case, or nil for another character.
    @inlinable package var hexDigitValue: UInt8? {
        if isASCIIDigit { return self - UInt8(ascii: "0") }
        let lower = self | 0x20
        return (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(lower) ? lower - UInt8(ascii: "a") + 10 : nil
    }
}

/// Percent-encoding (RFC 3986 §2.1).
extension String {
    /// The text with every byte of its UTF-8 percent-encoded, in upper case, that a function does not keep.
    @inlinable package func percentEncoded(keeping isKept: (UInt8) -> Bool) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Collection<UInt8> {
    /// Whether two hexadecimal digits follow each percent sign.
    @inlinable package var escapesAreComplete: Bool {
        var rest = self[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[percent...].dropFirst()
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy({ $0.hexDigitValue != nil }) else { return false }
        }
        return true
    }
}
