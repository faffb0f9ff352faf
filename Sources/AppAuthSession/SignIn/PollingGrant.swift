internal import AppAuthProtocol

/// A grant for which the token endpoint is polled until the user has approved it: that of the device flow (RFC 8628) or of
/// CIBA.
struct PollingGrant {
    let client: Client
    let scope: [Scope]
    /// The resources that the token is for (RFC 8707).
    var resources: [String] = []
    /// The request of each poll.
    let request: TokenRequest
    let interval: Duration
    let term: Term
    /// The values for the ID token. No nonce is sent, so an ID token that has one is not for this sign-in.
    var expected = IDTokenVerifier.Expectations()
    /// Checks what the flow adds to the verification of the ID token.
    var check: (IDToken?) throws -> Void = { _ in }
}

extension PollingGrant {
    init(_ authorization: DeviceAuthorization) {
        self.init(
            client: authorization.request.client, scope: authorization.request.scope,
            resources: authorization.request.resources,
            request: .deviceCode(authorization.deviceCode, resources: authorization.request.resources),
            interval: authorization.interval, term: authorization.term)
    }

    init(_ authentication: BackchannelAuthentication) {
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
