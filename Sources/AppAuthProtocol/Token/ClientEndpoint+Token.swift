internal import HTTPTypes

/// Token requests (RFC 6749 §3.2).
extension ClientEndpoint {
    /// Sends a token request and checks the response strictly (RFC 6749 §5.1, §5.2).
    ///
    /// Sends one POST and does not repeat it, since a code or refresh token is used up by the first request that the server
    /// accepts. The only exception is a server that rejects the DPoP proof before it looks at the token: it demands another
    /// nonce (RFC 9449 §8), or its clock differs from this machine's.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    package func send(_ request: TokenRequest, stage: AuthError.Stage) async throws -> TokenResponse {
        let sent = environment.now()
        var response = try TokenResponse(
            await send(request.form, stage: stage), expecting: expectedType, sent: sent, received: environment.now(),
            stage: stage)
        response.proofNonce = try proof?.nonce(of: client.require(.token))
        return response
    }

    /// Sends a form and returns the response in the standard's form, if it is a success.
    func send(_ form: FormParameters, stage: AuthError.Stage) async throws -> TransportResponse {
        let url = try client.require(.token)
        let (client, dialect) = (client, environment.dialect)
        let sent = try await post(form, to: url, stage: stage) { dialect.tokenRequest(&$0, &$1, client) }
        var response = dialect.tokenResponse(sent)
        response.secrets = sent.secrets
        guard response.isAccepted else {
            var error = response.oauthError(from: url, stage: stage)
            if error.server == nil, response.isFromBetween { error.isTemporary = true }
            // Any other success than an accepted one (RFC 6749 §5.1) may have used up the refresh token, and brought a new one.
            if response.status.kind == .successful {
                error.rotatedRefreshToken = TokenResponse.refreshToken(of: response)
            }
            throw error
        }
        return response
    }

    /// RFC 9449 §5: with a proof, a token is bound to its key, otherwise to none.
    var expectedType: TokenType { proof == nil ? .bearer : .dpop }
}
