package import AppAuthProtocol

/// Returns the ``AuthError`` that an operation throws; nil if it throws none or another error.
package func authError<Value>(_ operation: () async throws -> Value) async -> AuthError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? AuthError
    }
}

/// Returns the ``AuthError`` that a synchronous operation throws; nil if it throws none or another error.
package func refusal<Value>(_ operation: () throws -> Value) -> AuthError? {
    do {
        _ = try operation()
        return nil
    } catch {
        return error as? AuthError
    }
}
