/// Waits by polling until a condition holds.
///
/// - Throws: ``NeverHappened`` after a minute, which only a defect takes.
package func waitUntil(
    file: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else { throw NeverHappened(description: "\(file):\(line): never happened") }
        await Task.yield()
    }
}

/// A condition did not hold within a minute.
package struct NeverHappened: Error, CustomStringConvertible { package let description: String }
