internal import FoundationEssentials
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

/// A pushed authorization request that waits for its browser (RFC 9126 §2.2).
struct PushedRequest: Sendable {
    let request: AuthorizationRequest
    let expiresAt: Date
}
