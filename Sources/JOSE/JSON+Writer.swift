extension JSON {
    /// Returns the value as one line of JSON. Control characters are escaped, so that the text is safe for a terminal.
    /// With `ascii`, everything beyond ASCII is escaped too. A string may be a command line, which a shell reads as it is
    /// written here: what runs between double quotes is escaped. If something between the line's own quotes is, so is what
    /// separates words or commands.
    public func serialized(ascii: Bool = false) -> String {
        var text = ""
        write(to: &text, ascii: ascii)
        return text
    }

    private func write(to text: inout String, ascii: Bool) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let number): text += number.text
        case .string(let value): Self.write(value, to: &text, ascii: ascii)
        case .array(let elements):
            text += "["
            for (position, element) in elements.enumerated() {
                if position > 0 { text += "," }
                element.write(to: &text, ascii: ascii)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (position, member) in object.members.enumerated() {
                if position > 0 { text += "," }
                Self.write(member.name, to: &text, ascii: ascii)
                text += ":"
                member.value.write(to: &text, ascii: ascii)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, to text: inout String, ascii: Bool) {
        text += "\""
        // Nearly every text is copied as a whole, which takes far less time than scalar by scalar.
        guard !value.utf8.allSatisfy(isPlain) else {
            text += value
            text += "\""
            return
        }
        let isRequoted =
            value.utf8.contains(UInt8(ascii: "'"))
            && value.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        for scalar in value.unicodeScalars {
            switch scalar {
            case "$", "`", "!": escape(scalar, to: &text)
            case _ where isRequoted && " ;&|<>()".unicodeScalars.contains(scalar): escape(scalar, to: &text)
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.isUnsafeOnTerminal || ascii && !scalar.isASCII: escape(scalar, to: &text)
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    /// Whether a byte is a character of ASCII that is written as it is.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "\"", "\\", "$", "`", "!": false
        case " "..."~": true
        default: false
        }
    }

    private static func escape(_ scalar: Unicode.Scalar, to text: inout String) {
        for unit in String(scalar).utf16 {
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}

extension JSON: Codable {
    /// Decodes a value from any decoder. Numbers become integers if possible, otherwise doubles.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            var object = Object()
            for key in container.allKeys { object[key.stringValue] = try container.decode(JSON.self, forKey: key) }
            self = .object(object)
        } else if var container = try? decoder.unkeyedContainer() {
            var array: [JSON] = []
            while !container.isAtEnd { array.append(try container.decode(JSON.self)) }
            self = .array(array)
        } else {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Int.self) {
                self = .number(Number(value))
            } else if let value = try? container.decode(Double.self), value.isFinite {
                self = .number(Number(validated: "\(value)"))
            } else {
                self = .string(try container.decode(String.self))
            }
        }
    }

    /// Encodes the value into any encoder. Throws for a number that is neither an `Int` nor a finite `Double`.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var container = encoder.container(keyedBy: Name.self)
            for member in object.members { try container.encode(member.value, forKey: Name(stringValue: member.name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        default:
            var container = encoder.singleValueContainer()
            try encodeScalar(into: &container)
        }
    }

    private func encodeScalar(into container: inout some SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let value = number.int {
                try container.encode(value)
            } else if let value = number.double {
                try container.encode(value)
            } else {
                let context = EncodingError.Context(
                    codingPath: container.codingPath, debugDescription: "expected a number in the range of a double")
                throw EncodingError.invalidValue(number, context)
            }
        case .null, .array, .object: try container.encodeNil()
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
