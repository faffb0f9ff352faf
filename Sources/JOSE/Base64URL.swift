/// base64url without padding (RFC 7515 §2, RFC 4648 §5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The bit that marks a byte outside the alphabet.
    private static let outside: UInt32 = 1 << 31

    /// The value of each byte as a character of the alphabet.
    private static let values: [UInt32] = {
        var table = [UInt32](repeating: outside, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt32(value) }
        return table
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        let length = length(bytes.count)
        return String(unsafeUninitializedCapacity: length) { out in
            bytes.withUnsafeBytes { encode($0, into: UnsafeMutableRawBufferPointer(out)) }
            return length
        }
    }

    /// The number of characters for so many bytes.
    static func length(_ byteCount: Int) -> Int { (byteCount * 4 + 2) / 3 }

    /// Fills `out`, whose size is at least ``length(_:)``.
    static func encode(_ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer) {
        alphabet.withUnsafeBufferPointer { alphabet in
            var accumulator: UInt32 = 0
            var bits = 0
            var position = 0
            for byte in bytes {
                accumulator = accumulator << 8 | UInt32(byte)
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    out[position] = alphabet[Int(accumulator >> UInt32(bits)) & 63]
                    position += 1
                }
            }
            if bits > 0 { out[position] = alphabet[Int(accumulator << UInt32(6 - bits)) & 63] }
        }
    }

    package static func decode(_ text: String) -> [UInt8]? { text.withBytes { decode($0) } }

    /// Decodes strictly: no padding, no white space, and unused bits zero, so that each value has exactly one text.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var valid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { out, count in
            valid = values.withUnsafeBufferPointer { decode(text, with: $0, into: out) }
            count = out.count
        }
        return valid ? bytes : nil
    }

    /// Fills `out`, whose size is exactly that of the decoded bytes. Returns false if the text is invalid.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, with values: UnsafeBufferPointer<UInt32>,
        into out: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        var (position, count, seen): (Int, Int, UInt32) = (0, 0, 0)
        while position + 4 <= text.count {
            let (a, b) = (values[Int(text[position])], values[Int(text[position + 1])])
            let (c, d) = (values[Int(text[position + 2])], values[Int(text[position + 3])])
            let bits = a << 18 | b << 12 | c << 6 | d
            out[count] = UInt8(truncatingIfNeeded: bits >> 16)
            out[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            out[count + 2] = UInt8(truncatingIfNeeded: bits)
            seen |= a | b | c | d
            position += 4
            count += 3
        }
        // Two remaining characters hold one byte, three hold two.
        var (bits, spare): (UInt32, UInt32) = (0, 0)
        while position < text.count {
            let value = values[Int(text[position])]
            bits = bits << 6 | value
            spare += 6
            seen |= value
            position += 1
            guard spare >= 8 else { continue }
            spare -= 8
            out[count] = UInt8(truncatingIfNeeded: bits >> spare)
            count += 1
        }
        return seen & outside == 0 && bits & (1 << spare - 1) == 0
    }
}
