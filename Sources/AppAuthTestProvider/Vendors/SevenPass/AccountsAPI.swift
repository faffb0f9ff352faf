internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

/// The common behaviour of the accounts API: bearer tokens, JSON in and out.
struct AccountsAPI {
    let context: Context

    /// A refusal in JSON: `error`, `error_description` and, if fields are wrong, their names in `fields`.
    struct Refusal: Error {
        let reply: Reply

        init(_ reply: Reply) { self.reply = reply }

        init(_ status: HTTPResponse.Status, _ error: String, _ description: String, fields: [String] = []) {
            var document: JSON.Object = ["error": .string(error), "error_description": .string(description)]
            if !fields.isEmpty { document["fields"] = .array(fields.map(JSON.string)) }
            reply = .json(.object(document), status)
        }
    }

    func respond(_ body: () throws -> Reply) rethrows -> Reply {
        do {
            return try body().notStored
        } catch let refusal as Refusal {
            return refusal.reply.notStored
        }
    }

    /// Returns the user of the request's token, and the token's scopes.
    ///
    /// - Parameter needed: The scopes that the token must have.
    func person(_ request: Request, scopes needed: [String] = ["openid"]) throws -> (user: User, scopes: [String]) {
        let (token, grant) = try access(request)
        let missing = needed.first { !token.scopes.contains($0) }
        guard missing == nil, let user = grant.subject.flatMap(context.user(subject:)) else {
            let scope = missing ?? "openid"
            let refusal = BearerToken.Refusal(
                .forbidden, "insufficient_scope", "expected the token of a user for the scope \(scope)",
                [("scope", scope)])
            throw Refusal(refusal.reply)
        }
        return (user, token.scopes)
    }

    /// Throws unless the request's token belongs to a client for itself, which names itself in `X-Service-Id`.
    func client(_ request: Request) throws {
        let grant = try access(request).grant
        guard grant.subject == nil else {
            let refusal = BearerToken.Refusal(
                .forbidden, "insufficient_scope", "expected a token of client credentials", [("scope", "")])
            throw Refusal(refusal.reply)
        }
        // Its value is the double's choice.
        guard let name = HTTPField.Name("X-Service-Id"), request.headers[name] == grant.clientID else {
            throw Refusal(.badRequest, "invalid_service", "expected an X-Service-Id with the client's id")
        }
    }

    private func access(_ request: Request) throws -> (token: AccessToken, grant: Grant) {
        let found: (token: AccessToken, grant: Grant)
        do throws(BearerToken.Refusal) {
            found = try BearerToken(context: context).access(
                request, resource: context.origin(of: .api) + "/api/accounts")
        } catch {
            throw Refusal(error.reply)
        }
        try checkProof(in: request, of: found.grant.clientID)
        return found
    }

    /// Clients with a secret send `appsecret_proof`: the HMAC-SHA256 of the access token with the secret, in hexadecimal.
    /// Its form is the double's choice.
    private func checkProof(in request: Request, of clientID: String) throws {
        guard let secret = context.client(clientID)?.secret else { return }
        let token = request.headers[.authorization]?.split(separator: " ").last.map(String.init) ?? ""
        let proof = Digest.sha256.hmac(key: Array(secret.utf8), Array(token.utf8))
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard let sent = request.query["appsecret_proof"], constantTimeEqual(sent, proof) else {
            throw Refusal(
                .badRequest, "invalid_appsecret_proof", "expected the proof of this token by the client's secret")
        }
    }

    func object(_ request: Request) throws -> JSON.Object {
        guard request.isJSON else {
            throw Refusal(.unsupportedMediaType, "unsupported_media_type", "expected the Content-Type application/json")
        }
        guard let object = try? JSON(parsing: request.body).object else {
            throw Refusal(.badRequest, "invalid_json", "expected a JSON object")
        }
        return object
    }
}
