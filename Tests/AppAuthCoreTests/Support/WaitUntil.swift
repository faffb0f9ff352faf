import Testing

/// Waits by polling until a condition holds.
///
/// - Throws: ``NeverHappened`` after a minute, which only a defect takes.
func waitUntil(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        try Task.checkCancellation()
        guard ContinuousClock.now < end else {
            Issue.record("expected this to happen within a minute", sourceLocation: sourceLocation)
            throw NeverHappened()
        }
        await Task.yield()
    }
}

struct NeverHappened: Error {}
