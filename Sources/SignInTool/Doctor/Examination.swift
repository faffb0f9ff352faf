internal import AppAuth
internal import JOSE

/// The checks of `sign-in doctor` so far, and what they have found.
struct Examination: Sendable {
    /// A check, and what it has seen.
    struct Check: Sendable {
        let name: String
        let seen: String
    }

    private(set) var checks: [Check] = []
    private(set) var findings: [Finding] = []

    /// Runs a check. If it throws an ``AuthError``, that is a finding.
    ///
    /// - Parameters:
    ///   - name: What is checked.
    ///   - otherwise: The name of the finding if the error says no more than that the check has failed.
    ///   - work: The check. It returns what it has seen.
    /// - Returns: Whether the check could be finished.
    @discardableResult
    mutating func check(
        _ name: String, otherwise: Finding.Name = .checkFailed, _ work: (inout Examination) async throws -> String
    ) async throws -> Bool {
        do {
            let seen = try await work(&self)
            checks.append(Check(name: name, seen: seen))
            return true
        } catch let error as AuthError {
            add(Finding(error, otherwise: otherwise))
            return false
        }
    }

    /// Adds a finding. If there is one of this name, adds what was seen to it.
    mutating func add(_ finding: Finding) {
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
            "checks": .array(checks.map { ["name": .string($0.name), "seen": .string($0.seen.onOneLine)] }),
        ]
    }

    /// The checks and then the findings, for people.
    var text: String {
        let width = checks.map(\.name.count).max() ?? 0
        var lines = checks.map {
            "\($0.name)\(String(repeating: " ", count: width - $0.name.count))  \($0.seen.onOneLine)"
        }
        for finding in findings.sorted(by: { !$0.isWarning && $1.isWarning }) {
            let title = Console.styled(finding.name.rawValue, finding.isWarning ? .bold : .red, on: .output)
            lines += ["", title + (finding.isWarning ? " (a sign-in may work)" : "")]
            lines += "\(finding.seen.onOneLine.asSentence).".wrapped(after: "  ")
            lines += finding.remedy.onOneLine.wrapped(after: "  What to do: ")
        }
        if findings.isEmpty { lines += ["", "Everything that was checked is in order."] }
        return lines.joined(separator: "\n")
    }
}
