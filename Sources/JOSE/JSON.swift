/// A JSON value (RFC 8259).
///
/// Numbers keep their original text, so that nothing is rounded before you read an integer or a double. The members of
/// an object keep their order.
///
/// ```swift
/// let claims = try JSON(parsing: Array(#"{"sub":"248289761001","age":42}"#.utf8))
/// claims["sub"]?.string   // "248289761001"
/// claims["age"]?.int      // 42
/// ```
public enum JSON: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Number)
    case string(String)
    case array([JSON])
    case object(Object)

    /// Returns whether two values are equal. Strings are compared by their code points, numbers by their text, and
    /// objects regardless of the order of their members.
    public static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSON {
    /// The string, or nil if this is another kind of value.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The boolean, or nil if this is another kind of value.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The number as an integer, or nil if it is not a number, has a fraction, or does not fit.
    public var int: Int? { if case .number(let value) = self { value.int } else { nil } }

    /// The number as a double, or nil if it is not a number or too large for a finite one (`1e400`).
    public var double: Double? { if case .number(let value) = self { value.double } else { nil } }

    /// The elements, or nil if this is another kind of value.
    public var array: [JSON]? { if case .array(let value) = self { value } else { nil } }

    /// The members, or nil if this is another kind of value.
    public var object: Object? { if case .object(let value) = self { value } else { nil } }

    /// The elements as strings, or nil if this is not an array or not all of them are strings.
    public var strings: [String]? {
        guard let array else { return nil }
        let strings = array.compactMap(\.string)
        return strings.count == array.count ? strings : nil
    }

    /// The string if it can identify something; nil if it contains U+FFFD, or if this is another kind of value.
    ///
    /// U+FFFD takes the place of a character that a writer or ``init(parsing:)`` could not represent. Two different
    /// texts may therefore have become equal: names of users, keys, clients and the like are read with this property.
    package var exactString: String? { string.flatMap { $0.hasReplacement ? nil : $0 } }

    /// The member with this name, or nil if it is missing or null, or if this is not an object.
    public subscript(name: String) -> JSON? { object?[name] }
}

extension JSON {
    /// A number that keeps its original text.
    public struct Number: Hashable, Sendable {
        /// The text in the document, for example `1.0` or `1e3`, valid by the grammar of RFC 8259 §6.
        public let text: String

        package init(validated text: String) { self.text = text }

        /// Creates a number from an integer.
        public init(_ value: some BinaryInteger) { text = String(value) }

        /// The value as an integer, or nil if it has a fraction or an exponent, or does not fit.
        public var int: Int? { Int(text) }

        /// The value as a double, or nil if it is too large for one.
        public var double: Double? {
            // Most numbers are integers, which parse ten times faster.
            int.map { Double($0) } ?? Double(text).flatMap { $0.isFinite ? $0 : nil }
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number.
    public init(integerLiteral value: Int) { self = .number(Number(value)) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates null.
    public init(nilLiteral: ()) { self = .null }
    /// Creates an array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// Creates an object. If a name is repeated, the last value counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Object(elements))
    }
}
