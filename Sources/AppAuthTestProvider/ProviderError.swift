/// An error of starting the provider, or of a test's request for something that does not exist.
package struct ProviderError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
