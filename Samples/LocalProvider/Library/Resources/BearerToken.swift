internal import JOSE
internal import HTTPTypes

/// Reads the access token of a request to a protected resource, from the Authorization field alone (RFC 6750 §2.1).
struct BearerToken {
    let context: Context

    /// A refusal in the words of RFC 6750 §3.
    struct Refusal: Error {
        let reply: Reply

        /// - Parameter error: nil where the request has no token at all (RFC 6750 §3.1).
        init(_ status: HTTPResponse.Status, _ error: String? = nil, _ description: String = "", scope: String? = nil) {
            var challenge = #"Bearer realm="local-provider""#
            var document: Reply = .init(status)
            if let error {
                challenge += #", error="\#(error)", error_description="\#(description)""#
                if let scope { challenge += #", scope="\#(scope)""# }
                document = .json(["error": .string(error), "error_description": .string(description)], status)
            }
            document.headers[.wwwAuthenticate] = challenge
            reply = document.notStored
        }
    }

    /// The living token of a request, and its grant.
    ///
    /// - Parameter resource: The protected resource, which the token must be for if it is for anything special.
    func access(_ request: Request, resource: String) throws(Refusal) -> (token: AccessToken, grant: Grant) {
        let fields = request.headers[values: .authorization]
        // RFC 6750 §2: not more than one token, and no other way to send one.
        guard fields.count <= 1, request.query.values("access_token").isEmpty,
            request.form?.values("access_token").isEmpty ?? true
        else { throw Refusal(.badRequest, "invalid_request", "expected one token, in the Authorization field") }
        guard let field = fields.first else { throw Refusal(.unauthorized) }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.first?.lowercased() == "bearer" else { throw Refusal(.unauthorized) }
        guard parts.count == 2, !parts[1].contains(" ") else {
            throw Refusal(.badRequest, "invalid_request", "expected Bearer and one token")
        }
        let now = context.now
        guard let found = context.store.withLock({ $0.access(String(parts[1]), now) }) else {
            throw Refusal(.unauthorized, "invalid_token", "the access token has expired or was revoked, or never was")
        }
        guard found.token.resources.isEmpty || found.token.resources.contains(resource) else {
            throw Refusal(.unauthorized, "invalid_token", "the access token is for another resource")
        }
        return found
    }
}
