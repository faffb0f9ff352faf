internal import JOSE

/// The issuers that an ID token may have (OpenID Connect Core §3.1.3.7 step 2).
///
/// ```swift
/// signIn.idTokenRules.issuer = .template(
///     "https://login.example.org/{tenantid}/v2.0", tenants: ["31537af4-6d77-4bb9-a681-d2394888ea26"])
/// ```
public enum IssuerPolicy: Sendable, Hashable {
    /// Only the provider's issuer.
    case exact
    /// One issuer for each tenant of the provider. `{tenantid}` in the template stands for the tenant's ID, a UUID, which
    /// is the token's claim `tid`. The provider's metadata must name the template as its issuer.
    ///
    /// If `tenants` is not nil, only these tenants are accepted, with IDs as the provider writes them. If it is nil,
    /// users of every tenant can sign in: `sub` identifies a user only together with `iss`.
    case template(String, tenants: Set<String>? = nil)

    static let placeholder = "{tenantid}"

    /// The issuer in the provider's metadata; nil if it is the provider's own.
    package var template: String? {
        switch self {
        case .exact: nil
        case .template(let template, _): template
        }
    }

    /// Returns what is wrong with the issuer in the claims, or nil.
    func objection(to claims: JSON.Object, expecting issuer: String) -> String? {
        var expected = issuer
        if case .template(let template, let tenants) = self {
            // The ID becomes part of a URL: no other characters than those of a UUID.
            guard let tenant = claims["tid"]?.string, tenant.isUUID else {
                return "expected 'tid' to be the UUID of a tenant, found \(claims["tid"].foundText)"
            }
            guard tenants?.contains(tenant) ?? true else {
                return "expected 'tid' to be an accepted tenant, found \(tenant.foundText)"
            }
            expected = template.replacing(Self.placeholder, with: tenant)
        }
        guard claims["iss"] != .string(expected) else { return nil }
        return "expected 'iss' to be \(expected.foundText), found \(claims["iss"].foundText)"
    }

    /// Whether an issuer is accepted that comes without claims. The tenant's ID is then the part of the issuer at the
    /// placeholder.
    package func accepts(_ found: String, as issuer: String) -> Bool {
        var claims: JSON.Object = ["iss": .string(found)]
        claims["tid"] = tenant(in: found).map(JSON.string)
        return objection(to: claims, expecting: issuer) == nil
    }

    private func tenant(in issuer: String) -> String? {
        guard let start = template?.firstRange(of: Self.placeholder)?.lowerBound, let template else { return nil }
        let rest = issuer.utf8.dropFirst(template.utf8.distance(from: template.startIndex, to: start))
        return String(rest.prefix(String.uuidLength))
    }
}

extension String {
    fileprivate static let uuidLength = 36

    /// Whether the text is a UUID of 32 hexadecimal digits in five groups (RFC 9562 §4).
    package var isUUID: Bool {
        let groups = utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { $0.hexDigitValue != nil }
    }
}
