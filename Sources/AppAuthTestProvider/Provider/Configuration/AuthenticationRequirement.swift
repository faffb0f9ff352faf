internal import FoundationEssentials
internal import HTTPTypes

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

extension BearerToken {
    /// Rejects a token whose user must sign in again to meet the resource's requirement (RFC 9470 §3).
    func checkAuthentication(of grant: Grant, for resource: String, _ scheme: Scheme) throws(Refusal) {
        let requirements = context.configuration.authenticationRequirements
        let found = requirements.first { context.issuer.url($0.key) == resource }
        guard let requirement = found?.value, !requirement.isMet(by: grant, context.now) else { return }
        throw Refusal(
            .unauthorized, "insufficient_user_authentication", "expected another sign-in", scheme: scheme,
            requirement.attributes)
    }
}
