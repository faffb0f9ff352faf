internal import JOSE

/// What the browser is sent to the provider with (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1), and what the answer is
/// checked against.
///
/// Each request has a state, a nonce and a PKCE pair of its own, each of 256 random bits, and serves one sign-in.
///
/// ```swift
/// let request = try AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
/// try await Browser.system.open(request.url)
/// ```
public struct AuthorizationRequest: Sendable {
    /// The client that asks.
    public let client: Client
    /// Where the provider sends the browser back to.
    public let redirectURI: String
    /// What is asked for.
    public let scope: [Scope]
    /// What else was asked.
    public let options: Options
    /// Binds the answer to this request (RFC 6749 §10.12).
    public let state: Secret
    /// Binds the ID token to this request (Core §15.5.2); nil without the scope `openid`.
    public let nonce: Secret?
    /// Binds the code to this request (RFC 7636).
    public let pkce: PKCE
    /// The URL for the browser. It holds the state and may hold what the person's name is: show it to the person alone.
    public let url: String

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - scope: With `openid` the flow is OpenID Connect, without it OAuth alone.
    ///   - options: Everything else; see ``Options``.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no authorization endpoint, or
    ///   names the response modes that it has and not this one; ``AuthError/Code/invalidConfiguration`` for an extra
    ///   parameter that the library sets itself, or one given twice, for a scope value with a space or another character
    ///   that none may have, and for a client id that is empty.
    public init(
        client: Client, redirectURI: String, scope: [Scope] = [.openID, .profile, .offlineAccess],
        options: Options = Options()
    ) throws {
        try self.init(
            client: client, redirectURI: redirectURI, scope: scope, options: options, state: Secret(randomBytes: 32),
            nonce: scope.contains(.openID) ? Secret(randomBytes: 32) : nil, pkce: PKCE())
    }

    package init(
        client: Client, redirectURI: String, scope: [Scope], options: Options, state: Secret, nonce: Secret?, pkce: PKCE
    ) throws {
        try Self.check(client, scope)
        let options = try options.withTypedParameters()
        (self.client, self.redirectURI, self.scope, self.options) = (client, redirectURI, scope, options)
        (self.state, self.nonce, self.pkce) = (state, nonce, pkce)
        let endpoint = try client.provider.require(.authorization)
        if let mode = options.responseMode?.rawValue, let known = client.provider.responseModes, !known.contains(mode) {
            throw AuthError(
                .invalidMetadata, .authorization, "expected the provider to support the response mode \(mode)",
                outcome: .notSent)
        }
        var parameters = FormParameters()
        parameters.append("response_type", "code")
        parameters.append("client_id", client.id)
        parameters.append("redirect_uri", redirectURI)
        parameters.append("scope", scope.spaceDelimited)
        parameters.append("state", state.reveal())
        parameters.append("nonce", nonce?.reveal())
        parameters.append("code_challenge", pkce.codeChallenge)
        parameters.append("code_challenge_method", "S256")
        try options.append(to: &parameters, scope: scope)
        try Self.requireEachOnce(parameters, endpoint)
        url = endpoint.appending(parameters)
    }

    /// RFC 6749 §2.2, §3.3: a scope that the server splits in another way than we do would ask for something else.
    private static func check(_ client: Client, _ scope: [Scope]) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message, outcome: .notSent)
        }
        guard !client.id.isEmpty else { throw refusal("expected a client id, found an empty one") }
        if let value = scope.first(where: { !$0.isWellFormed }) {
            throw refusal(
                "expected a scope value in visible ASCII without space, quote and backslash, found '\(value.rawValue)'")
        }
    }

    /// RFC 6749 §3.1: no parameter twice, also not with the endpoint's own query; RFC 8707 §2 allows it for resource.
    private static func requireEachOnce(_ parameters: FormParameters, _ endpoint: SecureURL) throws {
        let existing = endpoint.query.flatMap { FormParameters(decoding: $0) } ?? FormParameters()
        var seen: Set<String> = []
        for item in existing.items + parameters.items where item.name != "resource" {
            guard seen.insert(item.name).inserted else {
                throw AuthError(
                    .invalidConfiguration, .authorization, "the parameter '\(item.name)' is given twice",
                    outcome: .notSent)
            }
        }
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// Names client and provider alone, since ``url`` holds the state.
    public var description: String { "authorization request of '\(client.id)' to \(client.provider.issuer)" }
    /// Shows no children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AuthorizationRequest {
    /// What a request may ask for beyond the scope.
    public struct Options: Sendable, Hashable {
        /// What the provider should show. nil means: nothing said, except `consent` together with the scope
        /// `offline_access`, since providers give a refresh token only then (Core §11). An empty list says nothing in
        /// any case.
        public var prompt: [Prompt]?
        /// Who is probably going to sign in.
        public var loginHint: String?
        /// How many seconds ago the person may have signed in at the provider; the ID token's `auth_time` is checked.
        public var maxAge: Int?
        /// Authentication contexts, the preferred one first. If the ID token names one, it has to be among these.
        public var acrValues: [String] = []
        /// Languages for the provider's pages (BCP 47), the preferred one first.
        public var uiLocales: [String] = []
        /// How the provider shows its pages: `page`, `popup`, `touch`, `wap`.
        public var display: String?
        /// Single claims that are asked for (Core §5.5).
        public var claims: JSON?
        /// Where the access token is meant for (RFC 8707).
        public var resources: [String] = []
        /// How the answer comes back; nil says nothing, which means ``AuthorizationRequest/ResponseMode/query``.
        public var responseMode: ResponseMode?
        /// An ID token of the person who should sign in.
        public var idTokenHint: Secret?
        /// Anything else, in order; never one of ``reservedParameters``.
        public var additionalParameters: [Parameter] = []

        /// A parameter of the app's or the provider's own.
        public struct Parameter: Sendable, Hashable {
            /// The name.
            public let name: String
            /// The value, any Unicode.
            public let value: String
            /// Puts a parameter together.
            public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
        }

        /// Asks for nothing.
        public init() {}

        /// What an extra parameter may not be, since the library answers for it.
        public static let reservedParameters: Set<String> = [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "request", "request_uri",
        ]

        /// What the answer is checked against, and how it is waited for, counts wherever it was asked for, also among the
        /// extra parameters.
        package func withTypedParameters() throws -> Options {
            var options = self
            options.additionalParameters = []
            for parameter in additionalParameters {
                switch parameter.name {
                case "max_age" where options.maxAge == nil:
                    guard let seconds = Int(parameter.value), seconds >= 0 else {
                        throw Self.refusal("expected 'max_age' to be a number of seconds")
                    }
                    options.maxAge = seconds
                case "acr_values" where options.acrValues.isEmpty:
                    options.acrValues = parameter.value.split(separator: " ").map(String.init)
                case "claims" where options.claims == nil:
                    guard let claims = try? JSON(parsing: Array(parameter.value.utf8)), claims.object != nil else {
                        throw Self.refusal("expected 'claims' to be a JSON object")
                    }
                    options.claims = claims
                case "response_mode" where options.responseMode == nil:
                    guard let mode = ResponseMode(rawValue: parameter.value) else {
                        throw Self.refusal("expected 'response_mode' to be query or form_post")
                    }
                    options.responseMode = mode
                default: options.additionalParameters.append(parameter)
                }
            }
            return options
        }

        private static func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message, outcome: .notSent)
        }

        fileprivate func append(to parameters: inout FormParameters, scope: [Scope]) throws {
            func list(_ values: [String]) -> String? { values.isEmpty ? nil : values.joined(separator: " ") }
            let isAdditional = Set(additionalParameters.map(\.name))
            // A prompt among the extra parameters is the app's own word too.
            let defaultPrompt: [Prompt] =
                scope.contains(.offlineAccess) && !isAdditional.contains("prompt") ? [.consent] : []
            parameters.append("prompt", list((prompt ?? defaultPrompt).map(\.rawValue)))
            parameters.append("login_hint", loginHint)
            parameters.append("max_age", maxAge.map(String.init))
            parameters.append("acr_values", list(acrValues))
            parameters.append("ui_locales", list(uiLocales))
            parameters.append("display", display)
            parameters.append("claims", claims?.serialized())
            for resource in resources { parameters.append("resource", resource) }
            parameters.append("response_mode", responseMode?.rawValue)
            parameters.append("id_token_hint", idTokenHint?.reveal())
            for parameter in additionalParameters {
                guard !Self.reservedParameters.contains(parameter.name) else {
                    throw AuthError(
                        .invalidConfiguration, .authorization, "the parameter '\(parameter.name)' is the library's own",
                        outcome: .notSent)
                }
                parameters.append(parameter.name, parameter.value)
            }
        }
    }

    /// How the browser brings the answer (OAuth 2.0 Multiple Response Types §2.1). A fragment would never reach an app
    /// that listens, so there is none.
    public enum ResponseMode: String, Sendable, Hashable {
        /// In the query of the redirect URI.
        case query
        /// In the body of a POST to the redirect URI (OAuth 2.0 Form Post Response Mode), so that the code stands in no
        /// address and no history.
        case formPost = "form_post"
    }

    /// A value of `prompt` (Core §3.1.2.1).
    public struct Prompt: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The value as it is sent.
        public let rawValue: String
        /// Names a value.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Names a value.
        public init(stringLiteral value: String) { rawValue = value }

        /// Show nothing: succeed with the session that is there, or fail.
        public static let none: Prompt = "none"
        /// Ask for the password again.
        public static let login: Prompt = "login"
        /// Ask for consent again.
        public static let consent: Prompt = "consent"
        /// Let the person choose an account.
        public static let selectAccount: Prompt = "select_account"
        /// Let the person make an account (OpenID Connect Prompt Create).
        public static let create: Prompt = "create"
    }
}
