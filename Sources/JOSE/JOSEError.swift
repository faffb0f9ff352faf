/// Why a key, a token or a signature was refused: what was expected and what was found, and no secret.
package struct JOSEError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
