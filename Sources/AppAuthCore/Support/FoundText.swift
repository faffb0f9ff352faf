extension JSON? {
    /// What stands here, for a message about what should: a text itself, cut; of anything else its kind.
    var foundText: String { if case .string(let text)? = self { "'\(text.shortened(to: 200))'" } else { foundKind } }

    /// What kind of value stands here, for a message that may not repeat the value.
    var foundKind: String {
        switch self {
        case nil: "none"
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array(let elements): elements.isEmpty ? "an empty array" : "an array"
        case .object: "an object"
        }
    }
}
