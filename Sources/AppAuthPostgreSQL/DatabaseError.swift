internal import AppAuthProtocol

/// A failure of a connection or of a statement.
struct DatabaseError: Error, CustomStringConvertible {
    /// The SQLSTATE; nil if the server did not send one.
    var state: String?
    let message: String
    /// Whether the connection has ended. The outcome of a statement that was sent is then unknown.
    var isLost = false

    var description: String { message + (state.map { " (\($0))" } ?? "") }

    static func lost(_ message: String) -> DatabaseError { DatabaseError(message: message, isLost: true) }

    /// Whether the connection is useless, although it may be open: the server is shutting down or starting (57P01, 57P02,
    /// 57P03), is a standby (25006), or has a problem with the connection (class 08).
    var endsConnection: Bool {
        isLost || ["57P01", "57P02", "57P03", "25006"].contains(state) || (state?.hasPrefix("08") ?? false)
    }

    /// Whether the connection can be used again. Without the table it is not: another role may make one of that name, and only
    /// a new connection checks whose it is.
    var leavesConnection: Bool { !endsConnection && state != "42P01" }

    /// Whether another transaction has come between: the statement had no effect and can be repeated.
    var isConflict: Bool { state == "40001" || state == "40P01" }

    /// Whether something has the name of what was to be created: a table, or the type that a table has (42710). While another
    /// process creates the same, it depends on the moment which of them is found, or the server's own index (23505).
    var isDuplicate: Bool { state == "42P07" || state == "42710" || state == "23505" }

    func authError(_ location: String) -> AuthError {
        switch state {
        case "42P01", "42703", "3F000":
            return .database(
                location, .unavailable,
                "has no table of the expected form: \(message). Call createTable(), or run schema.sql")
        case "42501", "28000", "28P01":
            return .database(location, .denied, "may not be used: \(message)")
        case "22003":
            // This library writes microseconds. Another role may have had the right to write.
            return .database(
                location, .damaged,
                "has a row with a number that is too large, which this library has not written. Delete the row, or set its "
                    + "version and lock_number to 0: \(message)")
        case _?:
            return .database(location, nil, "cannot be read or written: \(self)", isTemporary: true)
        case nil: return .database(location, nil, "cannot be reached: \(message)", isTemporary: true)
        }
    }
}

extension AuthError {
    static func database(
        _ location: String, _ problem: StoreProblem?, _ what: String, isTemporary: Bool = false
    ) -> AuthError {
        var error = AuthError(.store, .store, "\(location) \(what)", outcome: .notSent, isTemporary: isTemporary)
        error.storeProblem = problem
        return error
    }
}
