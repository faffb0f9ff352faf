internal import AppAuthConcurrency
internal import JOSE
internal import HTTPTypes

/// The access token of a request to a protected resource, from the Authorization field (RFC 6750 §2.1) or, if the
/// configuration allows it, from a form.
struct BearerToken {
    let context: Context

    /// The scheme of the Authorization field.
    enum Scheme: String, CaseIterable {
        /// A token for any bearer (RFC 6750).
        case bearer = "Bearer"
        /// A token for the holder of its key (RFC 9449 §7.1).
        case dpop = "DPoP"
    }

    /// A refusal with the error of RFC 6750 §3.
    struct Refusal: Error {
        let reply: Reply

        /// - Parameters:
        ///   - error: The error code; nil if the request has no token (RFC 6750 §3.1).
        ///   - attributes: Further attributes of the challenge.
        init(
            _ status: HTTPResponse.Status, _ error: String? = nil, _ description: String = "",
            scheme: Scheme = .bearer, _ attributes: [(name: String, value: String)] = []
        ) {
            var challenge = #"\#(scheme.rawValue) realm="local-provider""#
            var document: Reply = .init(status)
            if let error {
                challenge += #", error="\#(error)", error_description="\#(description)""#
                document = .json(["error": .string(error), "error_description": .string(description)], status)
            }
            for (name, value) in attributes { challenge += #", \#(name)="\#(value)""# }
            document.headers[.wwwAuthenticate] = challenge
            reply = document.notStored
        }
    }

    /// Returns the valid token of a request, and its grant.
    ///
    /// - Parameter resource: The protected resource. If the token is restricted to resources, this must be one of them.
    func access(_ request: Request, resource: String) throws(Refusal) -> (token: AccessToken, grant: Grant) {
        let inForm = request.form?.values("access_token") ?? []
        let isForm = context.configuration.takesTokensInForms
        let fields = request.headers[values: .authorization] + (isForm ? inForm.map { "Bearer \($0)" } : [])
        // RFC 6750 §2: at most one token, and only in the accepted places.
        guard fields.count <= 1, request.query.values("access_token").isEmpty, isForm || inForm.isEmpty else {
            throw Refusal(.badRequest, "invalid_request", "expected one token, in the Authorization field")
        }
        let description = attributes(of: resource)
        guard let field = fields.first else { throw Refusal(.unauthorized, nil, "", description) }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard let scheme = Scheme.allCases.first(where: { $0.rawValue.lowercased() == parts.first?.lowercased() })
        else { throw Refusal(.unauthorized, nil, "", description) }
        guard parts.count == 2, !parts[1].contains(" ") else {
            throw Refusal(
                .badRequest, "invalid_request", "expected \(scheme.rawValue) and one token", scheme: scheme)
        }
        let (value, now) = (String(parts[1]), context.now)
        func invalidToken(_ text: String) -> Refusal {
            Refusal(.unauthorized, "invalid_token", text, scheme: scheme, description)
        }
        guard let found = context.store.withLock({ $0.access(value, now) }) else {
            throw invalidToken("the access token is unknown, expired or revoked")
        }
        guard found.token.resources.isEmpty || found.token.resources.contains(resource) else {
            throw invalidToken("the access token is for another resource")
        }
        try checkBinding(of: found.token, value, scheme, request)
        try checkAuthentication(of: found.grant, for: resource, scheme)
        return found
    }

    /// The attributes of every challenge of a resource that describes itself (RFC 9728 §5.1).
    private func attributes(of resource: String) -> [(name: String, value: String)] {
        guard resource == context.resource else { return [] }
        return context.configuration.resourceDescription?.attributes(context) ?? []
    }

    /// Rejects a token whose user must sign in again to meet the resource's requirement (RFC 9470 §3).
    private func checkAuthentication(of grant: Grant, for resource: String, _ scheme: Scheme) throws(Refusal) {
        let requirements = context.configuration.authenticationRequirements
        let found = requirements.first { context.issuer.url($0.key) == resource }
        guard let requirement = found?.value, !requirement.isMet(by: grant, context.now) else { return }
        throw Refusal(
            .unauthorized, requirement.error, "expected another sign-in", scheme: scheme, requirement.attributes)
    }
}
