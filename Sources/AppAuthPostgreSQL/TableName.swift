internal import AppAuthProtocol
internal import JOSE

/// The name of a table as the app has given it, perhaps without its schema.
struct TableName: Sendable {
    /// The name for messages.
    let text: String
    /// The schema, or nil for the first of the `search_path` that has the table.
    let schema: String?
    /// The name of the table, without its schema.
    let table: String

    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` unless the name is `table` or `schema.table`, of
    ///   ASCII letters, digits and underscores, at most 63 each.
    init(_ text: String) throws {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isValid =
            (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                (1...63).contains(part.utf8.count) && !(part.first?.isNumber ?? true)
                    && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
            }
        guard isValid, let table = parts.last else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a table name such as appauth_session or app.session, found \(text.foundText)")
        }
        (self.text, self.table) = (text, String(table))
        schema = parts.count == 2 ? String(parts[0]) : nil
    }
}
