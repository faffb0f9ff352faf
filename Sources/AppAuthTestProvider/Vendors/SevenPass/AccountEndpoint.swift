internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The endpoint `me`. GET returns the claims that the token's scopes allow. PATCH changes only the claims in the body;
/// null removes one. PUT replaces all changeable claims with the body. PATCH and PUT need the scope `profile`, and
/// respond like GET.
struct AccountEndpoint {
    let context: Context
    private var api: AccountsAPI { AccountsAPI(context: context) }

    /// The claims that a user can change. The service owns the others: `sub`, `email` (the login) and its verification.
    private static let changeable = [
        "name", "given_name", "family_name", "middle_name", "nickname", "gender", "birthdate", "zoneinfo", "locale",
    ]

    func respond(to request: Request) throws -> Reply {
        guard [.get, .put, .patch].contains(request.method) else { return .notAllowed("GET, PUT, PATCH") }
        return try api.respond {
            let isRead = request.method == .get
            let (user, scopes) = try api.person(request, scopes: isRead ? ["openid"] : ["openid", "profile"])
            guard !isRead else { return claims(of: user, scopes) }
            let changed = try change(user, try api.object(request), replacing: request.method == .put)
            return claims(of: changed, scopes)
        }
    }

    private func claims(of user: User, _ scopes: [String]) -> Reply {
        var claims: JSON.Object = ["sub": .string(user.subject)]
        for claim in user.claims(for: scopes).members { claims[claim.name] = claim.value }
        return .json(context.edited(.object(claims)))
    }

    private func change(_ user: User, _ changes: JSON.Object, replacing: Bool) throws -> User {
        let wrong = changes.members.filter { member in
            let isText = member.value.string != nil || member.value == .null
            return !Self.changeable.contains(member.name) || !isText
        }
        guard wrong.isEmpty else {
            throw AccountsAPI.Refusal(
                .unprocessableContent, "validation_failed", "expected names that can be changed, with strings or null",
                fields: wrong.map(\.name.forDescription))
        }
        let now = context.now.seconds
        return context.people.withLock { people in
            guard let index = people.firstIndex(where: { $0.subject == user.subject }) else { return user }
            if replacing { for name in Self.changeable { people[index].claims[name] = nil } }
            for change in changes.members {
                // Not `nil`, which is a JSON value too.
                people[index].claims[change.name] = change.value == .null ? Optional.none : change.value
            }
            people[index].claims["updated_at"] = .number(.init(now))
            return people[index]
        }
    }
}
