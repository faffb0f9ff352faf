internal import JOSE

/// An authorization request that passed every check (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1).
struct AuthorizationRequest: Sendable {
    let client: RegisteredClient
    let wayBack: AuthorizationReturn
    let responseTypes: Set<String>
    let nonce: String?
    /// The requested scopes that can be granted to this client.
    let scopes: [String]
    let codeChallenge: String?
    /// The key that the code exchange must prove.
    var confirmation: Confirmation?
    let prompts: Set<String>
    let maxAge: Int?
    let loginHint: String?
    let language: Language
    let claims: ClaimsRequest
    /// The accepted authentication contexts, the preferred one first; empty if any is accepted.
    let acrs: [String]
    let resources: [String]
    /// The requested authorization details (RFC 9396).
    let authorizationDetails: [JSON]
    /// The subject of the `id_token_hint`: only this user may sign in.
    let hintedSubject: String?
    /// All parameters that apply, including those of a particular provider.
    let parameters: Parameters

    var redirectURI: String { wayBack.redirectURI }
}

/// The reason for refusing an authorization request, and the way to report it.
struct AuthorizationRefusal: Error {
    let failure: OAuthFailure
    /// The way back to the client; nil if the redirect URI is not trusted. The refusal is then shown on a page of the
    /// provider (RFC 6749 §4.1.2.1).
    let wayBack: AuthorizationReturn?

    init(_ failure: OAuthFailure, wayBack: AuthorizationReturn? = nil) {
        (self.failure, self.wayBack) = (failure, wayBack)
    }
}

/// The way back to the client.
struct AuthorizationReturn: Sendable {
    let client: RegisteredClient
    let redirectURI: String
    let state: String?
    let mode: ResponseMode

    /// The response modes (OAuth 2.0 Multiple Response Types §2.1, Form Post Response Mode, JWT Secured Authorization
    /// Response Mode §2.3).
    enum ResponseMode: String, Sendable, CaseIterable {
        case query
        case formPost = "form_post"
        case queryJWT = "query.jwt"
        case formPostJWT = "form_post.jwt"
        /// The same as ``queryJWT`` for a response type of only `code`.
        case jwt

        var isFormPost: Bool { self == .formPost || self == .formPostJWT }
        var isJWT: Bool { self == .queryJWT || self == .formPostJWT || self == .jwt }
    }
}

extension AuthorizationRequest {
    init(_ parameters: Parameters, _ context: Context) throws(AuthorizationRefusal) {
        let client = try Self.client(parameters, context)
        let parameters = try RequestObject(context: context, client: client).opened(parameters)
        let wayBack = try AuthorizationReturn(parameters, client)
        do {
            let checks = AuthorizationChecks(parameters: parameters, client: client, context: context)
            try checks.form()
            try context.configuration.addition?.check(parameters)
            (self.client, self.parameters) = (client, parameters)
            self.wayBack = wayBack
            responseTypes = try checks.responseTypes()
            nonce = parameters["nonce"]
            prompts = try checks.prompts()
            scopes = try checks.scopes(prompts)
            try checks.hybrid(responseTypes, scopes, wayBack.mode)
            codeChallenge = try checks.codeChallenge()
            confirmation = try checks.dpopKey()
            maxAge = try checks.maxAge()
            loginHint = parameters["login_hint"]
            language = Language(uiLocales: parameters["ui_locales"])
            claims = try checks.claims()
            acrs = try checks.acrs(claims)
            resources = try checks.resources()
            authorizationDetails = try AuthorizationDetails.check(parameters, context)
            hintedSubject = try checks.hintedSubject()
        } catch {
            throw AuthorizationRefusal(error, wayBack: wayBack)
        }
    }

    private static func client(_ parameters: Parameters, _ context: Context) throws(AuthorizationRefusal)
        -> RegisteredClient
    {
        let ids = parameters.values("client_id")
        guard ids.count == 1, let id = parameters["client_id"] else {
            throw AuthorizationRefusal(.invalidRequest("expected one client_id, found \(ids.count)"))
        }
        guard let client = context.client(id) else {
            throw AuthorizationRefusal(.invalidRequest("no client is registered under this client_id"))
        }
        return client
    }
}

extension AuthorizationReturn {
    /// - Throws: A refusal for a page of the provider, if the client has not registered the redirect URI.
    init(_ parameters: Parameters, _ client: RegisteredClient) throws(AuthorizationRefusal) {
        let uris = parameters.values("redirect_uri")
        guard uris.count == 1, let uri = parameters["redirect_uri"] else {
            throw AuthorizationRefusal(.invalidRequest("expected one redirect_uri, found \(uris.count)"))
        }
        guard client.redirectURIs.contains(where: { $0.matches(uri) }) else {
            throw AuthorizationRefusal(
                .invalidRequest("the client \(client.id) has not registered this redirect_uri"))
        }
        let states = parameters.values("state")
        (self.client, redirectURI) = (client, uri)
        state = states.count == 1 ? parameters["state"] : nil
        mode = parameters["response_mode"].flatMap(ResponseMode.init(rawValue:)) ?? .query
    }
}
