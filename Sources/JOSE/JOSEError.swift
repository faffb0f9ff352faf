/// Why a key, a token or a signature was rejected: what was expected and what was found, without secrets.
package struct JOSEError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// The device has asked for a PIN, and got none.
    package static let needsPIN = JOSEError("the key’s device asks for its PIN")
}
