import Testing

/// A sample whose output has no reader, as with `opro | head -1`, still finishes its work and cleans up.
struct ClosedOutputTests {
    @Test(arguments: ["ffs", "moltin", "opro", "sbanken"], ["| true", ">&-", "2>&-"])
    func `a sample finishes although its output is closed`(sample: String, redirection: String) async throws {
        try await CommandFixture.with { fixture in
            let line = "set -o pipefail; '\(CommandFixture.product(sample))' \(redirection)"
            let outcome = try await fixture.run("/bin/bash", ["-c", line])
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        }
    }
}
