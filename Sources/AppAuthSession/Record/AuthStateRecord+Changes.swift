package import AppAuthProtocol
internal import FoundationEssentials

extension AuthStateRecord {
    /// Merges a response of the token endpoint. A refresh token (RFC 6749 §6), scope (§5.1) or ID token (OpenID Connect
    /// Core §12.2) that the response does not repeat stays.
    mutating func merge(
        _ response: TokenResponse, for parameters: TokenParameters = .session, idToken: IDToken?,
        keys: KeySetCache.Entry?
    ) {
        if parameters == .session {
            accessToken = response.token
            if let granted = response.scope {
                (withheldScope, scope) = ((withheldScope + scope).filter { !granted.contains($0) }, granted)
            }
            authorizationDetails = response.authorizationDetails ?? authorizationDetails
            additional = response.additionalParameters ?? additional
        } else {
            keep(response.token, for: parameters)
        }
        refreshForm = response.refreshForm ?? refreshForm
        if let idToken {
            (verifiedIDToken, unverifiedIDToken) = (idToken.rawValue, nil)
            announced.merge(idToken, received: response.received)
        }
        self.keys = keys ?? self.keys
        mergeRefreshToken(of: response)
        backoff = nil
    }

    /// Merges only the rotated refresh token, the nonce, and the ends that the response announces. The rest may be unusable. Merging the
    /// same response again changes nothing.
    mutating func mergeRefreshToken(of response: TokenResponse) {
        proofNonce = response.proofNonce ?? proofNonce
        merge(
            refreshToken: response.refreshToken, announcing: response.announced, sent: response.sent,
            at: response.received)
    }

    /// Merges the rotated refresh token of a response, if there is one.
    mutating func merge(
        refreshToken rotated: Secret?, announcing lifetimes: AnnouncedLifetimes, sent: Timestamp, at received: Timestamp
    ) {
        // RFC 6749 §4.4.3: a session of client credentials has no use for a refresh token.
        if grant == nil {
            let isRotated = rotated.map { $0 != refreshToken } ?? false
            announced.merge(lifetimes, sent: sent, received: received, isRotated: isRotated)
            refreshToken = rotated ?? refreshToken
        }
        if rotated != nil { backoff?.lost = nil }
    }

    private mutating func keep(_ token: AccessToken, for parameters: TokenParameters) {
        otherTokens = otherTokens.filter { !$0.value.isExpired(at: token.received) }
        if otherTokens.count >= Self.mostOtherTokens,
            let oldest = otherTokens.min(by: { $0.value.issuedAt < $1.value.issuedAt })?.key
        {
            otherTokens[oldest] = nil
        }
        otherTokens[parameters] = token
    }

    private static let mostOtherTokens = 16

    /// Replaces the client, or its configuration.
    package mutating func change(_ client: Client) {
        // Keys from another URL are no longer the provider's.
        let name = ProviderMetadata.Endpoint.keys.rawValue
        if client.provider.document[name] != self.client.provider.document[name] { keys = nil }
        self.client = client
    }

    /// Uses the app's current client, unless the stored one was registered later.
    package mutating func use(_ current: Client) { change(current.unless(registeredLater: client)) }

    /// Records one more failed refresh in a row.
    mutating func fail(_ error: AuthError, at now: Timestamp, jitter: Double) -> RefreshBackoff {
        // RFC 6749 §5.2: many servers have codes of their own for a refresh token that they no longer accept, or none. If no
        // refresh has succeeded before, the client's registration may be wrong, or the request. Another sign-in would not
        // help a client whose credential, proof or scope is refused.
        let isOfToken = error.refusesRefreshToken
        let isRefusal = error.code == .invalidIDToken || isOfToken
        let backoff = RefreshBackoff(
            error, after: backoff, isRefusal: isRefusal && !error.isTemporary && error.outcome == .refused,
            isUnproven: isOfToken && !hasRefreshed && !error.namesRefreshToken, at: now, jitter: jitter)
        self.backoff = backoff
        return backoff
    }

    /// Records one more refresh in a row whose ID token was not verified.
    mutating func noteUnverified(_ error: AuthError, at now: Timestamp, jitter: Double) {
        unverifiedIDToken = RefreshBackoff(error, after: unverifiedIDToken, at: now, jitter: jitter)
    }

    /// Ends the session. All tokens are removed; the claims stay. A session that has already ended does not change.
    mutating func end(_ reason: String, at date: Date) {
        guard end == nil else { return }
        (accessToken, refreshToken, grant, keys, backoff) = (nil, nil, nil, nil, nil)
        (otherTokens, proofKey, proofNonce, additional, unverifiedIDToken) = ([:], nil, nil, nil, nil)
        announced = AnnouncedEnds()
        end = End(reason: reason, date: date)
    }
}

extension AuthError {
    /// Whether the provider refuses a refresh, and the refresh token may be the reason. A code with the status 403 or 200 is
    /// the provider's, too; without one, 403 comes from something in between.
    fileprivate var refusesRefreshToken: Bool {
        guard ![.invalidClient, "invalid_scope", "invalid_dpop_proof"].contains(code) else { return false }
        return [400, 401, 422].contains(httpStatus) || server != nil && httpStatus.map { $0 == 403 || $0 < 300 } == true
    }

    /// Whether the provider says in words that the refresh token is the reason. Gitea and Forgejo have the code
    /// `unauthorized_client` for one that has ended or was used.
    fileprivate var namesRefreshToken: Bool {
        let said = server?.errorDescription?.lowercased() ?? ""
        return said.contains("refresh token") || said.contains("token was already used")
    }
}
