internal import FoundationEssentials
package import HTTPTypes

/// The one way in which a client posts to its provider: token requests, and the endpoints that authenticate the same
/// way (revocation, introspection, pushed authorization requests).
package struct TokenEndpoint: Sendable {
    package let client: Client
    package let environment: Environment
    /// The key that tokens are bound to; nil for bearer tokens.
    package let proof: DPoP?

    package init(client: Client, environment: Environment, proof: DPoP? = nil) {
        (self.client, self.environment, self.proof) = (client, environment, proof)
    }

    /// Sends a token request and reads the answer strictly (RFC 6749 §5.1, §5.2).
    ///
    /// One POST, never repeated: what it carries is used up by the first that arrives.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    package func send(_ request: TokenRequest, stage: AuthError.Stage) async throws -> TokenResponse {
        let url = try client.require(.token)
        let sent = try await post(request.form, to: url, stage: stage, by: environment.dialect)
        var response = environment.dialect.tokenResponse(sent)
        response.secrets = sent.secrets
        guard response.status == .ok else { throw response.oauthError(from: url, stage: stage) }
        return try TokenResponse(
            response, expecting: proof == nil ? .bearer : .dpop, received: environment.now(), stage: stage)
    }

    /// What of a form, and of the client, no error may repeat.
    package func secrets(in form: FormParameters) -> [Secret] {
        let open = [
            "grant_type", "redirect_uri", "client_id", "scope", "resource", "token_type_hint", "client_assertion_type",
            "response_type", "response_mode", "prompt", "acr_values", "code_challenge_method", "audience",
            "subject_token_type", "actor_token_type", "requested_token_type",
        ]
        let values = form.items.filter { !open.contains($0.name) }.map { Secret($0.value) }
        return values + [client.authentication.secret].compactMap(\.self)
    }

    /// Posts a form with the client's authentication, and returns whatever the server answers.
    package func post(
        _ form: FormParameters, to url: SecureURL, stage: AuthError.Stage, by dialect: Dialect = .standard,
        accepting type: String = "application/json"
    ) async throws -> TransportResponse {
        var secrets: [Secret] = []
        func request() async throws -> TransportRequest {
            let (request, sent) = try await authenticated(form, to: url, stage: stage, by: dialect, accepting: type)
            // What the authentication adds is as secret as the rest.
            secrets += self.secrets(in: sent)
            return request
        }
        var response =
            if let proof { try await environment.send(provenBy: proof, stage: stage, request) } else {
                try await environment.send(request(), stage: stage)
            }
        response.secrets = secrets
        return response
    }

    private func authenticated(
        _ form: FormParameters, to url: SecureURL, stage: AuthError.Stage, by dialect: Dialect, accepting type: String
    ) async throws -> (TransportRequest, sent: FormParameters) {
        var form = form
        var request = HTTPRequest(method: .post, url: url)
        request.headerFields[.accept] = type
        do {
            try await client.authenticate(&form, &request.headerFields, at: url, in: environment)
        } catch var error as AuthError {
            error.stage = stage
            throw error
        }
        dialect.tokenRequest(&form, &request.headerFields, client)
        // RFC 6749 §4, §6: whatever a dialect has changed, what follows is a form.
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        return (TransportRequest(request, body: Array(form.encoded.utf8)), form)
    }
}

extension TransportResponse {
    /// The OAuth error of an answer with status 4xx (RFC 6749 §5.2), else an error about the status.
    ///
    /// - Parameters:
    ///   - url: Where it comes from.
    ///   - stage: The step of the flow.
    ///   - secrets: What the error may not repeat, beside what ``TokenEndpoint`` sent.
    ///   - expected: The status of a success.
    package func oauthError(
        from url: SecureURL, stage: AuthError.Stage, hiding secrets: [Secret] = [],
        expected: HTTPResponse.Status = .ok
    ) -> AuthError {
        let (status, secrets) = (status.code, self.secrets + secrets)
        guard (400..<600).contains(status),
            let server = oauthErrorInBody(hiding: secrets) ?? oauthErrorInChallenge(hiding: secrets)
        else { return unexpectedStatus(from: url, stage: stage, expected: expected) }
        let isTemporary =
            status >= 500 || status == 429
            || ["temporarily_unavailable", "server_error", "slow_down"].contains(server.error)
        return AuthError(
            AuthError.Code(server: server.error), stage, "the provider answered \(server.summary)",
            outcome: status >= 500 ? .perhapsProcessed : .refused, isTemporary: isTemporary, server: server,
            httpStatus: status, retryAfter: retryAfter)
    }

    private func oauthErrorInBody(hiding secrets: [Secret]) -> OAuthError? {
        guard let json = try? JSON(parsing: body), let code = json["error"]?.string, !code.isEmpty else { return nil }
        return OAuthError(
            error: code, errorDescription: json["error_description"]?.string, errorURI: json["error_uri"]?.string,
            hiding: secrets)
    }

    /// Where a token was presented, the error stands in the challenge (RFC 6750 §3).
    private func oauthErrorInChallenge(hiding secrets: [Secret]) -> OAuthError? {
        let challenges = headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
        guard let parameters = challenges.first(where: { $0.parameters["error"] != nil })?.parameters else {
            return nil
        }
        return parameters["error"].map {
            OAuthError(
                error: $0, errorDescription: parameters["error_description"], errorURI: parameters["error_uri"],
                hiding: secrets)
        }
    }
}
