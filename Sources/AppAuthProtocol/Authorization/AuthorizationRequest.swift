internal import JOSE

/// A request that the browser opens at the provider (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1). It also holds the
/// values that the response is checked against.
///
/// Each request has its own state, nonce and PKCE pair of 256 random bits each, and serves one sign-in.
///
/// ```swift
/// let request = try await AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
///     .prepared(in: environment)
/// try await Browser.system.open(listener.oneTimeURL(redirectingTo: request.url))
/// ```
public struct AuthorizationRequest: Sendable {
    /// The client.
    public let client: Client
    /// The URI to which the provider redirects the browser.
    public let redirectURI: String
    /// The requested scopes.
    public let scope: [Scope]
    /// The other options.
    public let options: Options
    /// Binds the response to this request (RFC 6749 §10.12).
    public let state: Secret
    /// Binds the ID token to this request (Core §15.5.2); nil without the scope `openid`.
    public let nonce: Secret?
    /// Binds the code to this request (RFC 7636).
    public let pkce: PKCE
    /// The key that the session's tokens are bound to (RFC 9449); nil for bearer tokens.
    package let proof: DPoP?
    /// All parameters of the request.
    package let parameters: FormParameters
    /// The parameters in the browser's URL: all of them, or a reference to them.
    private(set) var carried: FormParameters
    private let endpoint: SecureURL
    /// For how many seconds the browser's URL can be opened, if that is a reference (RFC 9126 §2.2); nil without a limit.
    package private(set) var urlLifetime: Int?
    /// The parameters of the provider's authorization endpoint that the app's own have replaced, as `name=value`.
    package let overruled: [String]

    /// The URL for the browser. It contains the state and may contain the user's name: show it only to the user.
    public var url: String { endpoint.appending(carried) }

    /// Creates a request and sends nothing. ``prepared(in:)`` does what else the provider or the options require.
    ///
    /// - Parameters:
    ///   - scope: The scopes. With `openid` the flow is OpenID Connect, otherwise only OAuth.
    ///   - options: Everything else; see ``Options``.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no authorization endpoint,
    ///   or lists its response modes without this one; ``AuthError/Code/invalidConfiguration`` for an additional
    ///   parameter that the library sets itself or that is given twice, for a scope value with a space or another
    ///   invalid character, and for an empty client ID; ``AuthError/Code/invalidResponse`` if the provider has registered
    ///   other redirect URIs for the client; ``AuthError/Code/confirmationRequired`` if a resource named the issuer and
    ///   the user must agree first: see ``AuthError/confirmation``.
    public init(
        client: Client, redirectURI: String, scope: [Scope] = [.openID, .profile, .offlineAccess],
        options: Options = Options()
    ) throws {
        try self.init(
            client: client, redirectURI: redirectURI, scope: scope, options: options, proof: DPoP(for: client))
    }

    /// Creates a request whose tokens will be bound to a key; nil for bearer tokens.
    package init(
        client: Client, redirectURI: String, scope: [Scope], options: Options, proof: DPoP?
    ) throws {
        let secrets = try Secret.random(3)
        try self.init(
            client: client, redirectURI: redirectURI, scope: scope, options: options, state: secrets[0],
            nonce: scope.contains(.openID) ? secrets[1] : nil, pkce: PKCE(codeVerifier: secrets[2]), proof: proof)
    }

    package init(
        client: Client, redirectURI: String, scope: [Scope], options: Options, state: Secret, nonce: Secret?,
        pkce: PKCE, proof: DPoP? = nil
    ) throws {
        try Self.check(client, scope)
        let options = try options.withTypedParameters()
        try options.checkResponseType(scope)
        try client.registration?.check(redirectURI: redirectURI)
        self.client =
            options.showsIssuer(of: client.provider)
            ? client
            : try client.confirmed(
                options.confirmed, for: Self.endpoints, redirectURI: redirectURI)
        (self.redirectURI, self.scope, self.options) = (redirectURI, scope, options)
        (self.state, self.nonce, self.pkce, self.proof) = (state, nonce, pkce, proof)
        let page = try client.provider.require(.authorization)
        if let mode = options.responseMode?.rawValue, let known = client.provider.responseModes, !known.contains(mode) {
            throw AuthError(
                .invalidMetadata, .authorization,
                "expected the provider to support the response mode \(mode), found \(known.joined(separator: ", ").foundText)",
                outcome: .notSent)
        }
        var parameters = FormParameters(capacity: 16)
        parameters.append("response_type", options.responseType.rawValue)
        parameters.append("client_id", client.id)
        parameters.append("redirect_uri", redirectURI)
        parameters.append("scope", scope.spaceDelimited)
        parameters.append("state", state.reveal())
        parameters.append("nonce", nonce?.reveal())
        parameters.append("code_challenge", pkce.codeChallenge)
        parameters.append("code_challenge_method", "S256")
        // RFC 9449 §10: only the holder of this key can use the code.
        parameters.append("dpop_jkt", proof?.key.thumbprint)
        try options.append(to: &parameters, scope: scope, at: client.provider)
        try Self.checkQuery(of: page, client.provider, beside: parameters)
        (endpoint, overruled) = try Self.merge(page, into: &parameters, options)
        // The library itself sets each parameter once.
        if endpoint.query != nil || !options.additionalParameters.isEmpty {
            try Self.requireEachOnce(parameters, endpoint)
        }
        (self.parameters, carried) = (parameters, parameters)
    }

    /// Returns the same request with other parameters in the browser's URL, which can be opened for as many seconds.
    func carrying(_ carried: FormParameters, for lifetime: Int? = nil) -> AuthorizationRequest {
        var request = self
        (request.carried, request.urlLifetime) = (carried, lifetime)
        return request
    }

    /// Rejects an empty client ID (RFC 6749 §2.2) and malformed scope values (§3.3).
    static func check(_ client: Client, _ scope: [Scope]) throws {
        guard !client.id.isEmpty else {
            throw AuthError(.invalidConfiguration, .authorization, "expected a client id, found an empty one")
        }
        try scope.check(for: .authorization)
    }

    /// The endpoints that show the user a page, or that get a code or issue a token.
    package static let endpoints: [ProviderMetadata.Endpoint] = [.authorization, .pushedAuthorizationRequest, .token]

    /// The parameters that a provider may have in the query of its authorization endpoint, although this library sets them
    /// too: they only change its pages. Microsoft 365 has `prompt=select_account`.
    private static let providerParameters: Set<String> = ["prompt", "ui_locales", "display"]

    /// The names that the query of a provider's authorization endpoint must not have: those of all other parameters that
    /// this library sets.
    private static let ownParameters = Options.reservedParameters.union([
        "login_hint", "max_age", "acr_values", "claims", "authorization_details", "resource", "response_mode",
        "id_token_hint", "dpop_jkt",
    ])

    /// The endpoint's own query is kept (RFC 6749 §3.1), but only the app decides on the parameters of its request. The
    /// provider cannot keep its own page from being shown either (`prompt=none`). A parameter that both have with the same
    /// value is no conflict.
    private static func checkQuery(
        of endpoint: SecureURL, _ provider: ProviderMetadata, beside own: FormParameters
    ) throws {
        guard provider.isDiscovered, let query = endpoint.query else { return }
        guard let parameters = FormParameters(decoding: query),
            let split = FormParameters(decoding: query.replacing(";", with: "&"))
        else {
            throw AuthError(
                .invalidMetadata, .authorization, "expected parameters in the query of 'authorization_endpoint'",
                outcome: .notSent)
        }
        // Servers split the list at other blanks too, and the query at semicolons.
        let hidesPage = split.items.contains { item in
            asRead(item.name) == "prompt"
                && item.value.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber || "_-".contains($0)) }
                    .contains("none")
        }
        let repeated = parameters.repeatedName.flatMap { providerParameters.contains($0) ? $0 : nil }
        guard
            let name = split.items.first(where: { ownParameters.contains(asRead($0.name)) && !own.means($0) })?.name
                ?? repeated
                ?? (hidesPage ? "prompt=none" : nil)
        else { return }
        throw AuthError(
            .invalidMetadata, .authorization,
            "expected an 'authorization_endpoint' without the parameter \(name.foundText), which the app sets",
            outcome: .notSent)
    }

    /// The name of a parameter as lenient servers read it: in any case, trimmed, cut at NUL and at the index of an array, and
    /// with `_` for other characters.
    private static func asRead(_ name: String) -> String {
        let scalars = name.lowercased().unicodeScalars.prefix { $0 != "\0" }
        func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar.value <= 0x20 }
        let trimmed = scalars.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        let index = trimmed.contains("]") ? trimmed.firstIndex(of: "[") : nil
        let named = trimmed[..<(index ?? trimmed.endIndex)]
        return String(
            String.UnicodeScalarView(named.map { isBlank($0) || ".[".unicodeScalars.contains($0) ? "_" : $0 }))
    }

    /// Moves the parameters that a provider may set from its endpoint into the request. They take precedence over the
    /// defaults of this library, and the app's own over them.
    ///
    /// - Returns: The endpoint without them, and those that the app's own have replaced.
    private static func merge(
        _ endpoint: SecureURL, into parameters: inout FormParameters, _ options: Options
    ) throws -> (endpoint: SecureURL, overruled: [String]) {
        let named = endpoint.query.flatMap { FormParameters(decoding: $0) }?.items ?? []
        let moved = named.filter { providerParameters.contains($0.name) }
        let equal = named.filter { item in
            parameters.values(item.name) == [item.value] && named.count { $0.name == item.name } == 1
        }
        let removed = moved + equal
        guard !removed.isEmpty else { return (endpoint, []) }
        var overruled: [String] = []
        for item in moved {
            if options.sets(item.name) {
                if parameters.values(item.name) != [item.value] { overruled.append("\(item.name)=\(item.value)") }
            } else {
                parameters.set(item.name, item.value)
            }
        }
        return (try endpoint.removing(Set(removed.map(\.name))), overruled)
    }

    /// RFC 6749 §3.1: no parameter may be repeated, not even from the endpoint's own query. RFC 8707 §2 exempts
    /// `resource`.
    private static func requireEachOnce(_ parameters: FormParameters, _ endpoint: SecureURL) throws {
        var all = endpoint.query.flatMap { FormParameters(decoding: $0) } ?? FormParameters()
        for item in parameters.items { all.append(item.name, item.value) }
        all.remove("resource")
        try all.requireEachOnce(for: .authorization)
    }
}

extension FormParameters {
    /// Whether a parameter says what the request says, or what is its default (OAuth 2.0 Multiple Response Type Encoding
    /// Practices §2.1).
    fileprivate func means(_ item: Item) -> Bool {
        let own = values(item.name)
        return own == [item.value] || own.isEmpty && item.name == "response_mode" && item.value == "query"
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// Names only client and provider, because ``url`` contains the state.
    public var description: String { "authorization request of \(client.id.foundText) to \(client.provider.issuer)" }
    /// A mirror without children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
