extension JSON: CustomStringConvertible {
    /// The value as one line of JSON, as ``serialized(ascii:)`` returns it.
    public var description: String { serialized() }
}

extension JSON.Object: CustomStringConvertible {
    /// The object as one line of JSON.
    public var description: String { JSON.object(self).serialized() }
}

extension JSON.Number: CustomStringConvertible {
    /// The number's text.
    public var description: String { text }
}
