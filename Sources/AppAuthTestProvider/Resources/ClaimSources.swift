internal import AppAuthConcurrency
internal import HTTPTypes
package import JOSE

/// Claims about a user that the provider has from another issuer (OpenID Connect Core §5.6.2).
package struct ForeignClaims: Sendable {
    /// The issuer of the claims.
    package var issuer: String
    package var key: SigningKey
    package var kid: String
    package var claims: JSON.Object
    /// Whether the claims are distributed, at an endpoint of their own (§5.6.2.2), or aggregated with the provider's
    /// own (§5.6.2.1).
    package var isDistributed: Bool
    /// The access token that the endpoint requires; nil if it requires none.
    package var accessToken: String?

    package init(
        _ claims: JSON.Object, by issuer: String, key: SigningKey, kid: String = "claims-1",
        isDistributed: Bool = false, accessToken: String? = nil
    ) {
        (self.claims, self.issuer, self.key, self.kid) = (claims, issuer, key, kid)
        (self.isDistributed, self.accessToken) = (isDistributed, accessToken)
    }

    var token: String {
        get throws {
            var payload = claims
            payload["iss"] = .string(issuer)
            return try JWS.sign(.object(payload), header: ["kid": .string(kid), "typ": "JWT"], with: key)
        }
    }
}

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

extension Endpoint {
    /// The endpoint of distributed claims (OpenID Connect Core §5.6.2.2).
    package static let foreignClaims = Endpoint(rawValue: "foreignClaims")
}
