/// A particular provider's functions beyond OpenID Connect: endpoints, grants and ways to sign in.
protocol ProviderAddition: Sendable {
    /// Returns the endpoint at a path of this host; nil if it is not the addition's.
    func endpoint(at path: String, _ issuer: Issuer) -> Endpoint?

    /// The loopback addresses of the parts that have an origin of their own.
    var addresses: [Role: String] { get }

    /// Returns the part that serves an endpoint.
    func role(of endpoint: Endpoint) -> Role

    /// Responds to a request; nil if the endpoint is not the addition's.
    func respond(to request: Request, at endpoint: Endpoint, _ context: Context) throws -> Reply?

    /// The grants that ``tokens(_:_:_:_:)`` supports: extension grants (RFC 6749 §4.5), and others in a form of its own.
    var grantTypes: [String] { get }

    func tokens(
        _ grantType: String, _ form: Parameters, _ client: RegisteredClient, _ context: Context
    ) throws -> TokenReply

    /// Checks the parameters of an authorization request that only this provider supports.
    func check(_ parameters: Parameters) throws(OAuthFailure)

    /// Returns another way to sign in, for the login page of a request; nil if the request permits none.
    func choice(_ words: Phrases, for request: AuthorizationRequest, _ context: Context) -> SignInChoice?

    /// Responds to a login form in which the user chose that way; nil if the user did not.
    func take(_ form: Parameters, _ interaction: Interaction, _ context: Context) throws -> Reply?
}

/// A way to sign in other than with a name and a password.
struct SignInChoice: Sendable {
    /// Fields and a button for the login form.
    let html: HTML
    /// The URLs to which it may lead besides this provider and the client: sources of a `form-action` policy.
    let sources: [String]
}
