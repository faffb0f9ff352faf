/// What a particular provider has beyond OpenID Connect: endpoints, grants and ways to sign in of its own.
protocol ProviderAddition: Sendable {
    /// The endpoint at a path of this host; nil where the addition has nothing.
    func endpoint(at path: String, _ issuer: Issuer) -> Endpoint?

    /// nil for an endpoint that is none of the addition's.
    func respond(to request: Request, at endpoint: Endpoint, _ context: Context) throws -> Reply?

    /// Extension grants (RFC 6749 §4.5) that ``tokens(_:_:_:_:)`` knows.
    var grantTypes: [String] { get }

    func tokens(
        _ grantType: String, _ form: Parameters, _ client: RegisteredClient, _ context: Context
    ) throws -> TokenReply

    /// Checks the parameters of an authorization request that only this provider has.
    func check(_ parameters: Parameters) throws(OAuthFailure)

    /// Another way to sign in, on the login page.
    func choice(_ words: Phrases) -> SignInChoice

    /// The response to a login form in which the person took that way; nil if it was not taken.
    func take(_ form: Parameters, _ interaction: Interaction, _ context: Context) throws -> Reply?
}

/// Another way to sign in than with a name and a password.
struct SignInChoice: Sendable {
    /// Fields and a button for the login form.
    let html: HTML
    /// Where it may lead, beside this provider and the client: sources of a `form-action` policy.
    let sources: [String]
}
