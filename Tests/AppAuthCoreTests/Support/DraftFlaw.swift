import AppAuthTestProvider
import Testing

/// A single flaw in a signed token of the provider.
struct DraftFlaw: Sendable, CustomTestStringConvertible {
    let name: String
    /// A part of the expected error message.
    let message: String
    let edit: @Sendable (inout JWTDraft) -> Void

    init(_ name: String, _ message: String, _ edit: @escaping @Sendable (inout JWTDraft) -> Void) {
        (self.name, self.message, self.edit) = (name, message, edit)
    }

    var testDescription: String { name }
}
