/// Why the provider could not start or a test asked for something that is not there.
package struct ProviderError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
