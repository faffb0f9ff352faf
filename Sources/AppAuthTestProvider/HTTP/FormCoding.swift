/// A strict coder for `application/x-www-form-urlencoded` (WHATWG URL §5). Where a browser would guess, a broken escape
/// or invalid UTF-8 makes the whole text unreadable.
package enum FormCoding {
    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._*".utf8)
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Returns the parameters in the order they were sent, including repeated ones; nil if the text is malformed.
    package static func decode(_ text: String) -> Parameters? {
        var entries: [Parameters.Entry] = []
        for pair in text.split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            guard let decodedName = component(name), let value = component(pair.dropFirst(name.count + 1)) else {
                return nil
            }
            entries.append(Parameters.Entry(name: decodedName, value: value))
        }
        return Parameters(entries)
    }

    /// Decodes one name or value; nil for a broken escape, for invalid UTF-8, and for NUL.
    package static func component(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexadecimal), let low = rest.popFirst().flatMap(hexadecimal)
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
    }

    package static func encode(_ entries: [(name: String, value: String)]) -> String {
        entries.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if unreserved.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
