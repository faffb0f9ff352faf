internal import AppAuthProtocol

extension AuthError {
    /// The hint in errors of stores that have ``FileTokenStore/discard()`` or ``KeyringTokenStore/discard()``.
    package static let discardHint = ": discard() sets it aside"

    /// The error with the hint added, if the store is damaged.
    var withDiscardHint: AuthError {
        guard storeProblem == .damaged, !message.hasSuffix(Self.discardHint) else { return self }
        var error = self
        error.message += Self.discardHint
        return error
    }
}

/// Calls a function that reads a store, and adds the hint to its errors.
func hintingAtDiscard<Value>(_ read: () throws -> Value) throws -> Value {
    do { return try read() } catch let error as AuthError { throw error.withDiscardHint }
}
