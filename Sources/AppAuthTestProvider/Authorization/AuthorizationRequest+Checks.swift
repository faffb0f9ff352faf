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
            throw AuthorizationRefusal(.invalidRequest(OAuthFailure.notRegistered(id)))
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
