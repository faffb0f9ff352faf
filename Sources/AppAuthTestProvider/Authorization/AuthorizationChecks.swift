internal import FoundationEssentials
internal import JOSE

/// The checks of an authorization request whose client and redirect URI are valid.
struct AuthorizationChecks {
    let parameters: Parameters
    let client: RegisteredClient
    let context: Context

    /// Checks the form of the request.
    func form() throws(OAuthFailure) {
        // RFC 6749 §3.1: request parameters MUST NOT be included more than once.
        if let name = parameters.repeated {
            throw .invalidRequest("the parameter \(name.forDescription) is given twice")
        }
        // Core §6.2, §7.2.1: options that this provider does not support; Core §3.1.2.6 has the codes.
        for name in ["request_uri", "registration"] where parameters[name] != nil {
            throw OAuthFailure("\(name)_not_supported", "the parameter \(name) is not supported")
        }
        guard client.grantTypes.contains("authorization_code") else {
            throw OAuthFailure("unauthorized_client", "the client may not use authorization codes")
        }
        if let mode = parameters["response_mode"], AuthorizationReturn.ResponseMode(rawValue: mode) == nil {
            let known = AuthorizationReturn.ResponseMode.allCases.map(\.rawValue)
            throw .invalidRequest("expected a response_mode of \(known.joined(separator: ", "))")
        }
        // Core §3.1.2.1: state is RECOMMENDED. It is required here to catch a client that omits it.
        if context.configuration.requiresState, parameters["state"] == nil { throw .invalidRequest("expected a state") }
        if let display = parameters["display"], !Metadata.displayValues.contains(display) {
            throw .invalidRequest("the display is not supported")
        }
    }

    /// Returns the prompts. `none` must be the only one (Core §3.1.2.1).
    func prompts() throws(OAuthFailure) -> Set<String> {
        let prompts = Set(words("prompt"))
        guard prompts.isSubset(of: Metadata.promptValues) else {
            throw .invalidRequest("expected a prompt of \(Metadata.promptValues.joined(separator: ", "))")
        }
        guard !prompts.contains("none") || prompts.count == 1 else {
            throw .invalidRequest("prompt none cannot be combined with another value")
        }
        return prompts
    }

    /// Returns the scopes that can be granted. Unknown scopes are ignored (Core §3.1.2.1). offline_access is ignored
    /// unless the request also asks for consent (Core §11) and the client can refresh.
    func scopes(_ prompts: Set<String>) throws(OAuthFailure) -> [String] {
        let named = words("scope")
        let requested = named.isEmpty ? context.configuration.defaultScopes : named
        // RFC 9396 §3: authorization details need no scope.
        guard !requested.isEmpty || parameters["authorization_details"] != nil else {
            throw OAuthFailure("invalid_scope", "expected a scope")
        }
        let mayStayOnline = prompts.contains("consent") && client.grantTypes.contains("refresh_token")
        let granted = Metadata.scopes.filter { scope in
            requested.contains(scope) && (scope != "offline_access" || mayStayOnline)
        }
        guard !granted.isEmpty || requested.isEmpty else {
            throw OAuthFailure("invalid_scope", "none of the scopes can be granted")
        }
        return granted
    }

    /// Checks the code challenge (RFC 7636 §4.3 and §4.4.1). Public clients must use PKCE, and plain is not allowed
    /// (RFC 9700 §2.1.1).
    func codeChallenge() throws(OAuthFailure) -> String? {
        let method = parameters["code_challenge_method"]
        guard let challenge = parameters["code_challenge"] else {
            guard !client.isPublic else { throw .invalidRequest("expected a code_challenge (PKCE is required)") }
            guard method == nil else { throw .invalidRequest("a code_challenge_method without a code_challenge") }
            return nil
        }
        guard method == "S256" else { throw .invalidRequest("expected the code_challenge_method S256") }
        guard Base64URL.decode(challenge)?.count == 32 else {
            throw .invalidRequest("expected a code_challenge of 43 characters in base64url")
        }
        return challenge
    }

    /// Returns the key to which the code will be bound (RFC 9449 §10).
    func dpopKey() throws(OAuthFailure) -> Confirmation? {
        guard let thumbprint = parameters["dpop_jkt"] else { return nil }
        guard Base64URL.decode(thumbprint)?.count == 32 else {
            throw .invalidRequest("expected a dpop_jkt of 43 characters in base64url")
        }
        return .key(thumbprint)
    }

    func maxAge() throws(OAuthFailure) -> Int? {
        guard let text = parameters["max_age"] else { return nil }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let seconds = Int(text)
        else { throw .invalidRequest("expected a max_age in seconds") }
        return seconds
    }

    func claims() throws(OAuthFailure) -> ClaimsRequest {
        guard let text = parameters["claims"] else { return .none }
        guard let claims = ClaimsRequest(text) else {
            throw .invalidRequest("expected the claims parameter to be a JSON object of objects")
        }
        return claims
    }

    /// Returns the accepted authentication contexts, the preferred one first; empty if any is accepted. An essential
    /// acr that is not supported is an error (Core §5.5.1.1). Unknown `acr_values` are ignored, because they are only a
    /// preference (Core §3.1.2.1).
    func acrs(_ claims: ClaimsRequest) throws(OAuthFailure) -> [String] {
        let known = context.configuration.acrValues
        let essential = claims.essentialACRs.filter(known.contains)
        guard claims.essentialACRs.isEmpty || !essential.isEmpty else {
            throw OAuthFailure(
                "unmet_authentication_requirements", "expected an acr of \(known.joined(separator: ", "))")
        }
        return essential.isEmpty ? words("acr_values").filter(known.contains) : essential
    }

    func resources() throws(OAuthFailure) -> [String] {
        try ResourceIndicators.check(parameters, context)
    }

    /// Returns the subject of the `id_token_hint`: the user that the client believes to be signed in (Core §3.1.2.1).
    func hintedSubject() throws(OAuthFailure) -> String? {
        guard let hint = parameters["id_token_hint"] else { return nil }
        guard let token = IDTokenHint(hint, context), token.audience.contains(client.id) else {
            throw .invalidRequest("expected an id_token_hint of this provider for this client")
        }
        return token.subject
    }

    func words(_ name: String) -> [String] {
        (parameters[name] ?? "").split(separator: " ").map(String.init)
    }
}
