internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

extension User {
    /// Returns `_claim_names` and `_claim_sources` for the claims of other issuers.
    func sources(_ issuer: Issuer) throws -> JSON.Object {
        guard !foreignClaims.isEmpty else { return .init() }
        var (names, sources) = (JSON.Object(), JSON.Object())
        for (index, foreign) in foreignClaims.enumerated() {
            let source = "src\(index + 1)"
            for name in foreign.claims.names { names[name] = .string(source) }
            guard foreign.isDistributed else {
                sources[source] = ["JWT": .string(try foreign.token)]
                continue
            }
            var location: JSON.Object = ["endpoint": .string("\(issuer.url(.foreignClaims))/\(name)/\(index)")]
            location["access_token"] = foreign.accessToken.map(JSON.string)
            sources[source] = .object(location)
        }
        return ["_claim_names": .object(names), "_claim_sources": .object(sources)]
    }
}

/// The endpoint of distributed claims: another issuer's, served by this server.
struct ForeignClaimsEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        let parts = request.path.split(separator: "/").suffix(2)
        guard let name = parts.first, let index = parts.last.flatMap({ Int($0) }),
            let user = context.people.withLock({ $0.first { $0.name == name } }),
            user.foreignClaims.indices.contains(index), user.foreignClaims[index].isDistributed
        else { return Pages(context: context).error("There is nothing at this address.", .notFound) }
        let foreign = user.foreignClaims[index]
        if let token = foreign.accessToken {
            guard let found = request.bearer, constantTimeEqual(found, token) else {
                return OAuthFailure.invalidToken("expected the access token of this source").reply
            }
        }
        return Reply(.ok, type: "application/jwt", try foreign.token).notStored
    }
}
