package import AppAuthTestProvider

/// A single flaw in a signed token of the provider.
package struct DraftFlaw: Sendable, CustomStringConvertible {
    package let name: String
    /// A part of the expected error message.
    package let message: String
    package let edit: @Sendable (inout JWTDraft) -> Void

    package init(_ name: String, _ message: String, _ edit: @escaping @Sendable (inout JWTDraft) -> Void) {
        (self.name, self.message, self.edit) = (name, message, edit)
    }

    package var description: String { name }
}
