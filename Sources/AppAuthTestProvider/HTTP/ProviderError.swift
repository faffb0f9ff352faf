/// An error of starting the provider, or of a test's request for something that does not exist.
public struct ProviderError: Error, Hashable, CustomStringConvertible {
    /// What was expected and what was found.
    public let description: String

    init(_ description: String) { self.description = description }
}
