internal import FoundationEssentials
internal import HTTPTypes

/// How and how recently a person has to have signed in before a resource takes the token (RFC 9470 §3).
package struct AuthenticationRequirement: Sendable, Hashable {
    /// One of these; empty for any.
    package var acrValues: [String]
    /// In seconds; nil for however long ago.
    package var maxAge: Int?

    package init(acrValues: [String] = [], maxAge: Int? = nil) { (self.acrValues, self.maxAge) = (acrValues, maxAge) }

    func isMet(by grant: Grant, _ now: Date) -> Bool {
        let isStrong = acrValues.isEmpty || grant.acr.map(acrValues.contains) ?? false
        guard let maxAge else { return isStrong }
        return isStrong && grant.authTime.map { now.timeIntervalSince($0) <= Double(maxAge) } ?? false
    }

    /// What the challenge says.
    var attributes: [(name: String, value: String)] {
        let acrs = acrValues.isEmpty ? [] : [(name: "acr_values", value: acrValues.joined(separator: " "))]
        return acrs + (maxAge.map { [("max_age", String($0))] } ?? [])
    }
}

extension BearerToken {
    /// Sends a client whose person has not signed in well enough back for another sign-in (RFC 9470 §3).
    func checkAuthentication(of grant: Grant, for resource: String, _ scheme: Scheme) throws(Refusal) {
        let requirements = context.configuration.authenticationRequirements
        let found = requirements.first { context.issuer.url($0.key) == resource }
        guard let requirement = found?.value, !requirement.isMet(by: grant, context.now) else { return }
        throw Refusal(
            .unauthorized, "insufficient_user_authentication", "expected another sign-in", scheme: scheme,
            requirement.attributes)
    }
}
