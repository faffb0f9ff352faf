internal import FoundationEssentials

/// The authentication that a resource requires of the user, and its maximum age (RFC 9470 §3).
package struct AuthenticationRequirement: Sendable, Hashable {
    /// The accepted authentication contexts; empty if any is accepted.
    package var acrValues: [String]
    /// The maximum age in seconds; nil for no limit.
    package var maxAge: Int?

    package init(acrValues: [String] = [], maxAge: Int? = nil) { (self.acrValues, self.maxAge) = (acrValues, maxAge) }

    func isMet(by grant: Grant, _ now: Date) -> Bool {
        let isStrong = acrValues.isEmpty || grant.acr.map(acrValues.contains) ?? false
        guard let maxAge else { return isStrong }
        return isStrong && grant.authTime.map { now.timeIntervalSince($0) <= Double(maxAge) } ?? false
    }

    /// The attributes of the challenge.
    var attributes: [(name: String, value: String)] {
        let acrs = acrValues.isEmpty ? [] : [(name: "acr_values", value: acrValues.joined(separator: " "))]
        return acrs + (maxAge.map { [("max_age", String($0))] } ?? [])
    }
}
