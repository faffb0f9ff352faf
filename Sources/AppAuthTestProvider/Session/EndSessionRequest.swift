/// A logout request that passed every check (OpenID Connect RP-Initiated Logout §2).
struct EndSessionRequest: Sendable {
    let client: RegisteredClient?
    /// The subject of the ID token hint.
    let subject: String?
    /// The URI to redirect to afterwards, which the client has registered.
    let redirectURI: String?
    let state: String?
    let language: Language

    /// The reason for refusing a request, for a developer.
    struct Refusal: Error { let reason: String }

    init(_ parameters: Parameters, _ context: Context) throws(Refusal) {
        if let name = parameters.repeated {
            throw Refusal(reason: "the parameter \(name.forDescription) is given twice")
        }
        var hint: IDTokenHint?
        if let text = parameters["id_token_hint"] {
            // §2: the provider MUST validate that it was the issuer of the ID token.
            guard let found = IDTokenHint(text, context) else {
                throw Refusal(reason: "the id_token_hint is not an ID token of this provider")
            }
            hint = found
        }
        client = try Self.client(parameters["client_id"], hint, context)
        subject = hint?.subject
        state = parameters["state"]
        language = Language(uiLocales: parameters["ui_locales"])
        redirectURI = parameters["post_logout_redirect_uri"]
        guard let redirectURI else { return }
        // §3: exactly one of the registered URIs. Without a client, those are unknown.
        guard let client else {
            throw Refusal(reason: "expected an id_token_hint or a client_id beside the post_logout_redirect_uri")
        }
        guard client.postLogoutRedirectURIs.contains(where: { $0.matches(redirectURI) }) else {
            throw Refusal(reason: "the client \(client.id) has not registered this post_logout_redirect_uri")
        }
    }

    /// Returns the client. If both are given, the client_id MUST be the client to which the ID token was issued (§2).
    private static func client(
        _ id: String?, _ hint: IDTokenHint?, _ context: Context
    ) throws(Refusal) -> RegisteredClient? {
        guard let id = id ?? hint?.audience.first else { return nil }
        guard hint?.audience.contains(id) ?? true else {
            throw Refusal(reason: "the id_token_hint was issued to another client than the client_id")
        }
        guard let client = context.client(id) else {
            throw Refusal(reason: OAuthFailure.notRegistered(id))
        }
        return client
    }

    /// The URL of the way back to the client, with the state; nil if the request has none.
    var location: String? { redirectURI?.appending(state.map { [("state", $0)] } ?? []) }
}
