package import AppAuthProtocol

/// A grant for which the token endpoint is polled until the user has approved it: that of the device flow (RFC 8628) or of
/// CIBA.
package struct PollingGrant {
    let client: Client
    let scope: [Scope]
    /// The resources that the token is for (RFC 8707).
    var resources: [String] = []
    /// The request of each poll.
    let request: TokenRequest
    let interval: Duration
    let term: Term
    /// The values for the ID token. No nonce is sent, so an ID token that has one is not for this sign-in.
    package var expected = IDTokenVerifier.Expectations()
    /// Checks what the flow adds to the verification of the ID token.
    package var check: (IDToken?) throws -> Void = { _ in }

    package init(client: Client, scope: [Scope], request: TokenRequest, interval: Duration, term: Term) {
        (self.client, self.scope, self.request) = (client, scope, request)
        (self.interval, self.term) = (interval, term)
    }
}

extension PollingGrant {
    package init(_ authorization: DeviceAuthorization) {
        let request = authorization.request
        self.init(
            client: request.client, scope: request.scope,
            request: .deviceCode(authorization.deviceCode, resources: request.resources),
            interval: authorization.interval, term: authorization.term)
        resources = request.resources
    }
}
