internal import AppAuthProtocol
internal import CShims

/// The system's libpq. It is loaded on first use.
final class ClientLibrary: @unchecked Sendable {
    /// The functions of the library, which are safe to call from any thread, one call at a time for each connection.
    let functions: shims_pq
    private let table: UnsafePointer<shims_pq>

    /// - Throws: ``AuthError`` with ``StoreProblem/noLibrary``, which names the package to install.
    init(_ name: String, for location: String) throws {
        let capacity = 256
        let problem = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
        problem.initialize(repeating: 0, count: capacity)
        defer { problem.deallocate() }
        guard let table = shims_pq_open(name, problem, capacity) else {
            throw AuthError.database(
                location, .noLibrary, "needs libpq (Debian’s package libpq5): \(String(cString: problem))")
        }
        (self.table, functions) = (table, table.pointee)
    }

    deinit { shims_pq_free(table) }
}
