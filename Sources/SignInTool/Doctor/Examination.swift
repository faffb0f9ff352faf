internal import AppAuth
internal import JOSE

/// The checks of `sign-in doctor` so far, and what they have found.
struct Examination: Sendable {
    /// A check, what it has seen, and the names of its findings.
    struct Check: Sendable {
        let name: String
        let seen: String
        let found: [Finding.Name]
    }

    private(set) var checks: [Check] = []
    private(set) var findings: [Finding] = []
    /// The names of the findings since the last check began.
    private var found: [Finding.Name] = []

    /// Runs a check. If it throws an ``AuthError``, that is a finding.
    ///
    /// - Parameters:
    ///   - name: What is checked.
    ///   - otherwise: The name of the finding if the error says no more than that the check has failed.
    ///   - work: The check. It returns what it has seen.
    /// - Returns: Whether the check could be finished.
    @discardableResult
    mutating func check(
        _ name: String, otherwise: Finding.Name, _ work: (inout Examination) async throws -> String
    ) async throws -> Bool {
        found = []
        var (seen, isFinished) = ("", true)
        do { seen = try await work(&self) } catch let error as AuthError {
            add(Finding(error, otherwise: otherwise))
            isFinished = false
        }
        checks.append(Check(name: name, seen: seen.onOneLine, found: found))
        return isFinished
    }

    /// Adds a finding. If there is one of this name, adds what was seen to it.
    mutating func add(_ finding: Finding) {
        if !found.contains(finding.name) { found.append(finding.name) }
        guard let index = findings.firstIndex(where: { $0.name == finding.name }) else {
            return findings.append(finding)
        }
        findings[index].merge(finding)
    }

    /// The findings with which a sign-in does not work.
    var failures: [Finding] { findings.filter { !$0.isWarning } }

    var json: JSON.Object {
        [
            "ok": .bool(failures.isEmpty), "findings": .array(findings.map(\.json)),
            "checks": .array(
                checks.map { check in
                    [
                        "name": .string(check.name), "outcome": .string(outcome(of: check)),
                        "seen": .string(check.seen),
                        "findings": .array(check.found.map { .string($0.rawValue) }),
                    ]
                }),
        ]
    }

    private func outcome(of check: Check) -> String {
        if check.found.isEmpty { return "ok" }
        return failures.contains { check.found.contains($0.name) } ? "failure" : "warning"
    }

    /// A line of the table: the outcome, the name, what was seen, and the names of the findings, which are explained below.
    private func line(_ check: Check) -> String {
        let width = checks.map(\.name.count).max() ?? 0
        let found = check.found.map(\.rawValue).joined(separator: ", ")
        let cells = [outcome(of: check).padded(toCells: 7), check.name.padded(toCells: width)]
        return (cells + [[check.seen, found].filter { !$0.isEmpty }.joined(separator: ": ")]).joined(separator: "  ")
    }

    /// The checks and then the findings, for people.
    var text: String {
        var lines = checks.map(line)
        for finding in findings.sorted(by: { !$0.isWarning && $1.isWarning }) {
            let title = Console.styled(finding.name.rawValue, finding.isWarning ? .bold : .red, on: .output)
            lines += ["", title + (finding.isWarning ? " (a sign-in may work)" : "")]
            // It may have a server's words, which must not look like the lines below.
            lines += "\(finding.seen.onOneLine.withSingleBlanks.asSentence).".wrapped(after: "  | ", then: "  | ")
            lines += finding.remedy.onOneLine.wrapped(after: "  What to do: ", then: "  | ")
            // It is copied, so it is not split.
            if let command = finding.command { lines.append("    \(command)") }
        }
        if findings.isEmpty { lines += ["", "Everything that was checked is in order."] }
        return lines.joined(separator: "\n")
    }
}
