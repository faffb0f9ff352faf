extension JSON {
    /// The kind of value, for a message that must not repeat the value.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .number: "a number"
        case .string(let text): text.hasReplacement ? "a string with a broken character" : "a string"
        case .array(let elements): elements.isEmpty ? "an empty array" : "an array"
        case .object: "an object"
        }
    }
}

extension JSON? {
    /// The kind of value, or `none`.
    package var foundKind: String { self?.kind ?? "none" }
}
