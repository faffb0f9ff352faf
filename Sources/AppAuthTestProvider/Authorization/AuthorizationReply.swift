internal import AppAuthConcurrency
internal import JOSE
internal import FoundationEssentials

/// The response that sends the browser back to the client.
struct AuthorizationReply {
    let context: Context

    /// Responds with a code (RFC 6749 §4.1.2), and with an ID token if the request asks for one (OpenID Connect Core
    /// §3.3.2.5).
    func grant(_ request: AuthorizationRequest, to signIn: Browser.SignIn) throws -> Reply {
        let (code, now) = (try OpaqueToken.make(), context.now)
        var grant = Grant(
            id: try OpaqueToken.make(), clientID: request.client.id, subject: signIn.subject, scopes: request.scopes,
            authTime: signIn.time, acr: signIn.acr, nonce: request.nonce, claims: request.claims,
            resources: request.resources, authorizationDetails: request.authorizationDetails,
            sessionID: signIn.sessionID)
        // At Google, consent is needed from the second sign-in on. Here, always.
        grant.isOffline =
            request.parameters["access_type"] == "offline" && request.prompts.contains("consent")
        context.store.withLock { [grant] records in
            records.prune(now)
            records.codes[code] = AuthorizationCode(
                grant: grant, redirectURI: request.redirectURI, codeChallenge: request.codeChallenge,
                confirmation: request.confirmation, expiresAt: now.adding(context.configuration.codeLifetime))
        }
        var parameters = [(name: "code", value: code)]
        if request.responseTypes.contains("id_token") {
            let token = try FrontChannelIDToken(context: context)
                .token(grant, code: code, state: request.wayBack.state, request.client)
            parameters.append(("id_token", token))
        }
        return try back(request.wayBack, parameters, request.language)
    }

    /// Responds with an error (RFC 6749 §4.1.2.1).
    func refuse(_ wayBack: AuthorizationReturn, _ error: String, _ description: String?) throws -> Reply {
        try back(wayBack, [("error", error)] + (description.map { [("error_description", $0)] } ?? []))
    }

    private func back(
        _ wayBack: AuthorizationReturn, _ parameters: [(name: String, value: String)], _ language: Language = .en
    ) throws -> Reply {
        var parameters = parameters
        if let state = wayBack.state { parameters.append(("state", state)) }
        if wayBack.mode.isJWT {
            let token = try AuthorizationResponseJWT(context: context).token(parameters, for: wayBack.client)
            parameters = [("response", token)]
        } else if context.configuration.sendsIssuerParameter {
            // RFC 9207 §2: in every response, including errors. A signed response has it inside (§2.4).
            parameters.append(("iss", context.issuer.identifier))
        }
        return wayBack.mode.isFormPost
            ? Pages(context: context).formPost(parameters, to: wayBack.redirectURI, language)
            : .redirect(to: wayBack.redirectURI.appending(parameters))
    }
}
