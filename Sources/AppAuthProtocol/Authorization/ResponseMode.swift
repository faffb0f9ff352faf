extension AuthorizationRequest {
    /// How the browser brings the response (OAuth 2.0 Multiple Response Types §2.1). A fragment would never reach an app
    /// that listens, so there is none.
    public enum ResponseMode: String, Sendable, Hashable {
        /// In the query of the redirect URI.
        case query
        /// In the body of a POST to the redirect URI (OAuth 2.0 Form Post Response Mode), so that the code stands in no
        /// address and no history.
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

    /// What the browser is to bring (OAuth 2.0 Multiple Response Types §3).
    public enum ResponseType: String, Sendable, Hashable {
        /// A code.
        case code
        /// A code and an ID token that vouches for it (OpenID Connect Core §3.3), as some banks ask for it. It needs the
        /// scope `openid` and a response mode that is posted or signed, since it comes in the fragment otherwise.
        case codeIDToken = "code id_token"
    }
}
