internal import AppAuthProtocol
internal import Glibc
internal import JOSE

/// A path in the environment. A path is bytes, and a file name in Latin-1 is valid: if it were read as text with
/// replacements, it would be another folder.
package enum PathVariable {
    /// Returns the value of a variable; nil if it is unset or empty.
    ///
    /// - Throws: ``AuthError`` if it is not UTF-8.
    package static func value(_ name: String) throws -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        guard let path = String(validatingCString: value) else {
            throw AuthError(
                .store, .store, "\(name) is not UTF-8: expected a path of a folder whose name is UTF-8",
                outcome: .notSent)
        }
        return path
    }
}
