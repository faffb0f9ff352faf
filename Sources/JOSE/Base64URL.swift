/// base64url without padding (RFC 7515 §2, RFC 4648 §5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each ASCII character, 0xFF where it is none of the alphabet.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }()

    package static func encode(_ bytes: [UInt8]) -> String {
        let length = (bytes.count * 4 + 2) / 3
        return String(unsafeUninitializedCapacity: length) { out in
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
            return length
        }
    }

    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    /// Decodes strictly: no padding, no white space, and unused bits zero, so that a text has one form alone.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var valid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { out, count in
            values.withUnsafeBufferPointer { values in
                var accumulator: UInt32 = 0
                var bits = 0
                var seen: UInt8 = 0
                for character in text {
                    let value = values[Int(character)]
                    seen |= value
                    accumulator = accumulator << 6 | UInt32(value & 63)
                    bits += 6
                    if bits >= 8 {
                        bits -= 8
                        out[count] = UInt8(truncatingIfNeeded: accumulator >> UInt32(bits))
                        count += 1
                    }
                }
                valid = seen & 0xC0 == 0 && accumulator & (1 << UInt32(bits) - 1) == 0
            }
        }
        return valid ? bytes : nil
    }
}
