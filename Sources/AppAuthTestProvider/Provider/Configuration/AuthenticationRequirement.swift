internal import FoundationEssentials
package import JOSE

/// The authentication that a resource requires of the user, and its maximum age (RFC 9470 §3), or the claims that the
/// sign-in must have requested, as Microsoft's resources require them (`insufficient_claims`).
package struct AuthenticationRequirement: Sendable, Hashable {
    /// The accepted authentication contexts; empty if any is accepted.
    package var acrValues: [String]
    /// The maximum age in seconds; nil for no limit.
    package var maxAge: Int?

    /// The claims request (OpenID Connect Core §5.5); empty for none.
    package var claims: JSON.Object

    package init(acrValues: [String] = [], maxAge: Int? = nil, claims: JSON.Object = .init()) {
        (self.acrValues, self.maxAge, self.claims) = (acrValues, maxAge, claims)
    }

    func isMet(by grant: Grant, _ now: Date) -> Bool {
        guard grant.claims.contains(claims) else { return false }
        let isStrong = acrValues.isEmpty || grant.acr.map(acrValues.contains) ?? false
        guard let maxAge else { return isStrong }
        return isStrong && grant.authTime.map { now.timeIntervalSince($0) <= Double(maxAge) } ?? false
    }

    /// The error code of the challenge.
    var error: String { claims.members.isEmpty ? "insufficient_user_authentication" : "insufficient_claims" }

    /// The attributes of the challenge.
    var attributes: [(name: String, value: String)] {
        guard claims.members.isEmpty else {
            return [("claims", Data(JSON.object(claims).serialized().utf8).base64EncodedString())]
        }
        let acrs = acrValues.isEmpty ? [] : [(name: "acr_values", value: acrValues.joined(separator: " "))]
        return acrs + (maxAge.map { [("max_age", String($0))] } ?? [])
    }
}
