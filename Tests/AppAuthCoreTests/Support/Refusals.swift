import AppAuthProtocol

/// The error that an operation throws, as an ``AuthError``; nil if it throws none or another.
func authError<Value>(_ operation: () async throws -> Value) async -> AuthError? {
    do {
        _ = try await operation()
        return nil
    } catch {
        return error as? AuthError
    }
}

/// As above, for what does not suspend.
func refusal<Value>(_ operation: () throws -> Value) -> AuthError? {
    do {
        _ = try operation()
        return nil
    } catch {
        return error as? AuthError
    }
}
