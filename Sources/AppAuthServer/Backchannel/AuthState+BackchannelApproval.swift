public import AppAuthProtocol
public import AppAuthSession

extension AuthState {
    /// Waits until the user has approved the sign-in on their own device, verifies the ID token and stores the session.
    ///
    /// Polls the token endpoint at the interval that the provider gave, as for a device whose code the user enters
    /// elsewhere (``awaitApproval(of:store:environment:observe:confirm:)``). CIBA Core §10.1, §11;
    /// OpenID Connect Core §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authentication: The result of ``BackchannelAuthenticationRequest/send(in:)``. Good for one session.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///     One that another sign-in stores in the meantime, for something else or of another user, stays.
    ///   - observe: Receives the progress after each poll that does not end the wait, on any thread.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/sessionReplaced``, ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is
    ///   stored.
    public static func awaitApproval(
        of authentication: BackchannelAuthentication, store: any TokenStore, environment: Environment,
        observe: (PollingProgress) -> Void = { _ in }
    ) async throws -> AuthState {
        try await awaitApproval(of: PollingGrant(authentication), store, if: nil, environment, observe) { _ in }
    }
}

extension PollingGrant {
    fileprivate init(_ authentication: BackchannelAuthentication) {
        let request = authentication.request
        self.init(
            client: request.client, scope: request.scope, request: .ciba(authentication.authReqID),
            interval: authentication.interval, term: authentication.term)
        expected.acrValues = request.options.acrValues
        check = { idToken in try idToken?.check(against: authentication) }
    }
}

extension IDToken {
    /// Checks what this flow adds to the verification.
    fileprivate func check(against authentication: BackchannelAuthentication) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidIDToken, .idToken, "invalid ID token: \(message)")
        }
        // CIBA Core §10.3.1: if the ID token has the claim, it must be the one of this authentication.
        if let id = claims["urn:openid:params:jwt:claim:auth_req_id"],
            id.string.map(Secret.init) != authentication.authReqID
        {
            throw refusal("expected the 'auth_req_id' of this authentication, found another")
        }
        // §7.1: the ID token must be about the user in the hint.
        if case .idToken(let hint) = authentication.request.hint, !isAbout(userOf: hint) {
            throw refusal("expected the 'iss' and 'sub' of the ID token that was sent as a hint, found others")
        }
    }
}

extension TokenRequest {
    /// Creates the token request of CIBA Core §10.1.
    fileprivate static func ciba(_ authReqID: Secret) -> TokenRequest {
        TokenRequest(.ciba, [("auth_req_id", authReqID.reveal())])
    }
}
