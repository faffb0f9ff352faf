internal import HTTPTypes
internal import JOSE

/// The demo resource `/api/echo`. It responds to a valid access token with the request and the token's client and user.
struct EchoEndpoint {
    let context: Context

    func respond(to request: Request) -> Reply {
        do throws(BearerToken.Refusal) {
            let (token, grant) = try BearerToken(context: context).access(request, resource: context.resource)
            // RFC 6750 §3.1.
            let required = context.configuration.resourceDescription?.scopes ?? []
            guard required.allSatisfy(token.scopes.contains) else {
                throw BearerToken.Refusal(
                    .forbidden, "insufficient_scope", "expected a token for more scopes",
                    context.configuration.resourceDescription?.attributes(context) ?? [])
            }
            return .json(context.edited(echo(request, token, grant))).notStored
        } catch {
            return error.reply
        }
    }

    private func echo(_ request: Request, _ token: AccessToken, _ grant: Grant) -> JSON {
        var query = JSON.Object()
        for entry in request.query.entries { query[entry.name] = .string(entry.value) }
        var document = JSON.Object()
        document["method"] = .string(request.method.rawValue)
        document["path"] = .string(request.path)
        document["query"] = .object(query)
        document["body"] = .string(String(decoding: request.body, as: UTF8.self))
        document["client_id"] = .string(grant.clientID)
        document["sub"] = grant.subject.map(JSON.string)
        document["scope"] = .string(token.scopes.joined(separator: " "))
        return .object(document)
    }
}
