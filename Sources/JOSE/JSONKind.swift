extension JSON {
    /// What kind of value this is, for a message that may not repeat the value.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string: "a string"
        case .array(let elements): elements.isEmpty ? "an empty array" : "an array"
        case .object: "an object"
        }
    }
}

extension JSON? {
    /// What kind of value stands here, if any.
    package var foundKind: String { self?.kind ?? "none" }
}
