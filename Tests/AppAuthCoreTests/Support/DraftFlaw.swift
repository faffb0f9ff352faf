import AppAuthTestProvider
import Testing

/// One respect in which a signed token of the provider's is not as it should be.
struct DraftFlaw: Sendable, CustomTestStringConvertible {
    let name: String
    /// A part of what the refusal says.
    let message: String
    let edit: @Sendable (inout JWTDraft) -> Void

    init(_ name: String, _ message: String, _ edit: @escaping @Sendable (inout JWTDraft) -> Void) {
        (self.name, self.message, self.edit) = (name, message, edit)
    }

    var testDescription: String { name }
}
