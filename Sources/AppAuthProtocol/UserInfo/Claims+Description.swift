extension Claims: CustomStringConvertible {
    /// The claims as one line of JSON.
    public var description: String { json.serialized() }
}
