extension AuthorizationRequest {
    /// How the browser returns the response (OAuth 2.0 Multiple Response Types §2.1). There is no fragment mode,
    /// because a fragment does not reach an app that listens on a port.
    public enum ResponseMode: String, Sendable, Hashable {
        /// In the query of the redirect URI.
        case query
        /// In the body of a POST to the redirect URI (OAuth 2.0 Form Post Response Mode), so that the code is in no URL
        /// and no history.
        case formPost = "form_post"
        /// As ``query``, signed by the provider (JWT Secured Authorization Response Mode §2.3.4).
        case jwt
        /// As ``jwt``, by its long name (§2.3.1).
        case queryJWT = "query.jwt"
        /// As ``formPost``, signed by the provider (§2.3.3).
        case formPostJWT = "form_post.jwt"

        /// Whether the response is the body of a POST.
        public var isPosted: Bool { self == .formPost || self == .formPostJWT }

        /// Whether the response is a signed token.
        public var isSigned: Bool { [.jwt, .queryJWT, .formPostJWT].contains(self) }
    }

    /// What the response contains (OAuth 2.0 Multiple Response Types §3).
    public enum ResponseType: String, Sendable, Hashable {
        /// A code.
        case code
        /// A code, and an ID token that confirms it (OpenID Connect Core §3.3), as some banks require. It needs the
        /// scope `openid` and a response mode that is posted or signed, because the response would otherwise be in the
        /// fragment.
        case codeIDToken = "code id_token"
    }
}
