internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The introspection endpoint (RFC 7662), for confidential clients.
struct IntrospectionEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            // RFC 7662 §2.1: without authorization, an attacker could scan for tokens.
            guard !client.isPublic else { throw OAuthFailure.invalidClient("expected a client with a secret") }
            guard let token = form["token"] else { throw OAuthFailure.invalidRequest("expected a token") }
            let description = context.edited(description(of: token))
            guard SignedIntrospection.isWanted(request) else { return .json(description) }
            return try SignedIntrospection(context: context).reply(description, to: client)
        }
    }

    private func description(of token: String) -> JSON {
        let now = context.now
        return context.store.withLock { records in
            if let (access, grant) = records.access(token, now) {
                var document = members(grant, access.scopes, issuedAt: access.issuedAt, expiresAt: access.expiresAt)
                document["token_type"] = .string(access.confirmation.tokenType)
                // RFC 9396 §9.2.
                let details = access.authorizationDetails
                if !details.isEmpty { document["authorization_details"] = .array(details) }
                document["cnf"] = access.confirmation?.json
                if !access.resources.isEmpty { document["aud"] = .array(access.resources.map(JSON.string)) }
                return .object(document)
            }
            if let refresh = records.refreshTokens[token], refresh.rotatedAt == nil, refresh.expiresAt > now,
                let grant = records.grants[refresh.grantID]
            {
                return .object(members(grant, grant.scopes, issuedAt: refresh.issuedAt, expiresAt: refresh.expiresAt))
            }
            // RFC 7662 §2.2: the reason is not disclosed.
            return ["active": false]
        }
    }

    private func members(_ grant: Grant, _ scopes: [String], issuedAt: Date, expiresAt: Date) -> JSON.Object {
        var document = JSON.Object()
        document["active"] = true
        document["iss"] = .string(context.issuer.identifier)
        document["client_id"] = .string(grant.clientID)
        document["sub"] = grant.subject.map(JSON.string)
        document["username"] = grant.subject.flatMap(context.user).map { .string($0.name) }
        document["act"] = grant.actor.map { ["sub": .string($0)] }
        // RFC 9470 §6.2.
        document["acr"] = grant.acr.map(JSON.string)
        document["auth_time"] = grant.authTime.map { .number(.init($0.seconds)) }
        document["scope"] = .string(scopes.joined(separator: " "))
        document["iat"] = .number(.init(issuedAt.seconds))
        document["exp"] = .number(.init(expiresAt.seconds))
        return document
    }
}
