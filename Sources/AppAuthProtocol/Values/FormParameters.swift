internal import JOSE

/// The parameters of a form body or a query in `application/x-www-form-urlencoded` (RFC 6749 appendix B), in order.
public struct FormParameters: Sendable, Hashable {
    /// A parameter.
    public struct Item: Sendable, Hashable {
        /// The decoded name.
        public let name: String
        /// The decoded value.
        public let value: String
    }

    /// The parameters, in order.
    public private(set) var items: [Item] = []

    /// Creates an empty list.
    public init() {}

    /// Creates an empty list with room for so many parameters.
    init(capacity: Int) { items.reserveCapacity(capacity) }

    /// Decodes a query or a form body. Empty pieces between separators are skipped.
    ///
    /// - Returns: nil if a `%` is not followed by two hexadecimal digits, or if the text is not UTF-8.
    public init?(decoding text: some StringProtocol) {
        for piece in text.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), let value = parts.count > 1 ? Self.decode(parts[1]) : "" else {
                return nil
            }
            items.append(Item(name: name, value: value))
        }
    }

    /// Appends a parameter, unless the value is nil.
    public mutating func append(_ name: String, _ value: String?) {
        if let value { items.append(Item(name: name, value: value)) }
    }

    /// Replaces the first parameter of this name in its position, or appends one.
    mutating func set(_ name: String, _ value: String) {
        let item = Item(name: name, value: value)
        if let index = items.firstIndex(where: { $0.name.isExactly(name) }) {
            items[index] = item
        } else {
            items.append(item)
        }
    }

    /// Returns all values of a parameter, in order.
    public func values(_ name: String) -> [String] { items.lazy.filter { $0.name.isExactly(name) }.map(\.value) }

    /// Removes all parameters of this name.
    public mutating func remove(_ name: String) { items.removeAll { $0.name.isExactly(name) } }

    /// The first name that occurs more than once.
    package var repeatedName: String? {
        var seen: Set<ExactText> = []
        return items.first { !seen.insert(ExactText($0.name)).inserted }?.name
    }

    /// The parameters as a form body or a query.
    public var encoded: String {
        let longest = items.reduce(0) { $0 + 3 * ($1.name.utf8.count + $1.value.utf8.count) + 2 }
        return String(unsafeUninitializedCapacity: longest) { out in
            var count = 0
            for item in items {
                if count > 0 { Self.write(UInt8(ascii: "&"), to: out, &count) }
                Self.encode(item.name, into: out, &count)
                Self.write(UInt8(ascii: "="), to: out, &count)
                Self.encode(item.value, into: out, &count)
            }
            return count
        }
    }

    /// Encodes one name or value: keeps letters, digits and `*-._`, and writes a space as `+`.
    package static func encode(_ text: String) -> String {
        String(unsafeUninitializedCapacity: text.utf8.count * 3) { out in
            var count = 0
            encode(text, into: out, &count)
            return count
        }
    }

    private static func encode(_ text: String, into out: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                write(byte, to: out, &count)
            case UInt8(ascii: " "): write(UInt8(ascii: "+"), to: out, &count)
            default:
                write(UInt8(ascii: "%"), to: out, &count)
                write(hexadecimalDigit(byte >> 4), to: out, &count)
                write(hexadecimalDigit(byte & 15), to: out, &count)
            }
        }
    }

    private static func write(_ byte: UInt8, to out: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        out[count] = byte
        count += 1
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Decodes a name or a value; nil if it is not encoded.
    package static func decode(_ piece: some Collection<UInt8>) -> String? {
        var bytes: [UInt8] = []
        var rest = piece.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexDigitValue, let low = rest.next()?.hexDigitValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
