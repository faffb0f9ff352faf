internal import AppAuth
internal import HTTPTypes
internal import Logging

/// The checks of a client, without a user. They ask the provider two questions whose answers are errors.
extension Examination {
    /// What the sign-in page says to a request that must not show a page.
    private enum Page: Equatable {
        case accepted
        /// RFC 6749 §4.1.2.1: for an unknown client or redirect URI, the browser is not sent back.
        case refused(status: Int, namesRedirect: Bool)
        case unknown
    }

    /// - Parameter redirectURI: The redirect URI of a sign-in.
    mutating func checkClient(_ client: Client, of signIn: SignIn, redirectURI: String) async throws {
        let environment = signIn.configuration.environment
        try await check("client", otherwise: .clientConfiguration) { examination in
            var options = try signIn.options.withTypedParameters()
            // Without a session in a browser, the provider must respond with an error, and remembers nothing.
            options.prompt = [.none]
            options.additionalParameters.removeAll { $0.name == "prompt" }
            let scope = signIn.configuration.scope(at: client.provider) { _ in }
            // A device would be asked for a key that is used once.
            var client = client
            client.dpopKeyProvider = nil
            let request = try AuthorizationRequest(
                client: client, redirectURI: redirectURI, scope: scope, options: options)
            let page = try await examination.page(request, environment)
            try await examination.checkTokenEndpoint(request, page, environment)
            return client.id.shownName
        }
    }

    /// Checks that the device is there which is to make the DPoP key of a sign-in, or has made that of a session.
    mutating func checkKey(_ key: DPoPKey?, in provider: KeyProvider?, _ environment: Environment) async throws {
        guard let provider = key?.provider ?? provider else { return }
        try await check("key", otherwise: .keyUnusable) { examination in
            do { try await DPoPKey.requireUsable(key, in: provider, environment) } catch let error as AuthError {
                examination.add(Finding(.keyUnusable, error.message))
            }
            return provider.name
        }
    }

    private mutating func page(_ request: AuthorizationRequest, _ environment: Environment) async throws -> Page {
        let response: TransportResponse
        do {
            let url = try SecureURL(try await request.prepared(in: environment).url)
            response = try await environment.send(
                TransportRequest(HTTPRequest(method: .get, url: url)), stage: .authorization)
        } catch let error as AuthError {
            add(finding(error, of: request.client, page: .unknown))
            return .unknown
        }
        if let location = response.headerFields[.location], location.hasPrefix(request.redirectURI),
            let query = location.split(separator: "?", maxSplits: 1).dropFirst().first,
            let code = FormParameters(decoding: query)?.values("error").first
        {
            note(error: code)
            return .accepted
        }
        // Google sends the browser to a page about the error.
        let page = response.headerFields[.location]?.prefix { $0 != "?" }.lowercased()
        if page?.contains("error") == true {
            return .refused(status: response.status.code, namesRedirect: false)
        }
        guard [400, 401, 403, 404, 422].contains(response.status.code) else { return .accepted }
        let text = String(decoding: response.body.prefix(64 << 10), as: UTF8.self).lowercased()
        return .refused(
            status: response.status.code, namesRedirect: text.contains("redirect") || text.contains("callback"))
    }

    /// Notes an error that the provider sends to the redirect URI. OpenID Connect Core §3.1.2.6: without a user, it is one
    /// of four.
    private mutating func note(error code: String) {
        switch code {
        case "login_required", "interaction_required", "consent_required", "account_selection_required": break
        case "invalid_scope": add(Finding(.scopeRefused, "the provider refuses the requested scopes (invalid_scope)"))
        case "unauthorized_client":
            add(Finding(.clientNotAllowed, "the client may not use the authorization code flow (unauthorized_client)"))
        default: add(Finding(.requestRefused, "the provider refuses the authorization request: \(code.foundText)"))
        }
    }

    /// Sends a code that no server has issued. It gets `invalid_grant` if the client is known and authenticated (RFC 6749
    /// §5.2).
    private mutating func checkTokenEndpoint(
        _ request: AuthorizationRequest, _ page: Page, _ environment: Environment
    ) async throws {
        let exchange = TokenRequest(
            .authorizationCode,
            [
                ("code", try Secret(randomBytes: 16).reveal()), ("redirect_uri", request.redirectURI),
                ("code_verifier", request.pkce.codeVerifier.reveal()),
            ])
        environment.logger.info(
            "token: sends a made-up code: from the provider’s error follows whether it knows the client")
        let endpoint = ClientEndpoint(client: request.client, environment: environment, proof: request.proof)
        do { _ = try await endpoint.send(exchange, stage: .token) } catch let error as AuthError {
            let isKnown = error.code == .invalidGrant
            let finding = isKnown ? nil : knownFinding(error, of: request.client, page: page)
            if let finding { add(finding) }
            guard case .refused(let status, let namesRedirect) = page else { return }
            if isKnown || namesRedirect {
                let seen = "the sign-in page refuses the redirect URI \(request.redirectURI) (status \(status))"
                add(Finding(.redirectUnregistered, seen))
            } else if finding == nil {
                add(Finding(.requestRefused, "the sign-in page refuses the request (status \(status))"))
            }
        }
    }

    private func finding(_ error: AuthError, of client: Client, page: Page) -> Finding {
        knownFinding(error, of: client, page: page) ?? Finding(error, otherwise: .requestRefused)
    }

    /// Returns the finding for an error about the client; nil for an error that says something else.
    private func knownFinding(_ error: AuthError, of client: Client, page: Page) -> Finding? {
        let description = error.server?.errorDescription?.lowercased() ?? ""
        let lacksSecret = ["client_secret", "client secret"].contains(where: description.contains)
        guard let server = error.server else {
            // The client's own key could not sign.
            let isOfKey = error.code == .invalidConfiguration && error.stage == .configuration
            return Finding(error, otherwise: isOfKey ? .keyUnusable : .endpointFailing)
        }
        if server.error == "unauthorized_client" { return Finding(.clientNotAllowed, error.message) }
        guard error.isAboutClient || lacksSecret else { return nil }
        if case .refused(_, namesRedirect: false) = page, !lacksSecret { return Finding(.clientUnknown, error.message) }
        switch client.authentication {
        case .none: return Finding(.secretMissing, error.message)
        case .privateKeyJWT, .assertion: return Finding(.secretWrong, error.message, remedy: Self.remedyOfKey)
        default: return Finding(.secretWrong, error.message)
        }
    }

    private static let remedyOfKey = """
        Check that the provider has the public part of --client-key, or trusts the issuer of --client-assertion-file. If \
        it accepts only its token endpoint as the audience, use --assertion-audience token-endpoint, unless another provider \
        knows the same key.
        """
}
