public import AppAuthProtocol
package import FoundationEssentials

extension AuthState {
    /// Returns a verified ID token that is still valid, after a refresh if necessary: for a server that accepts the
    /// client's ID tokens as a credential, such as Kubernetes. ``IDToken/rawValue`` is what it expects. For the user's
    /// claims, ``claims`` is enough, since they do not expire with the token.
    ///
    /// If the ID token of the last refresh could not be verified, none is returned until one can be: the session is
    /// refreshed for it, with the pauses of failed refreshes.
    ///
    /// Callers that need a new one at the same time share one refresh, in all processes. Callers of
    /// ``freshAccessToken(minimumValidity:forceRefresh:parameters:)`` do not wait for it. A token that is issued
    /// meanwhile is returned even if its validity is shorter than requested.
    ///
    /// - Parameter minimumValidity: How long the token must remain valid, by the clock of this machine.
    /// - Throws: ``AuthError/Code/noIDToken`` if the session has none, or if the provider sends none at a refresh and
    ///   the one of the sign-in has expired. The error of the verification, for example that the provider's keys cannot
    ///   be fetched. Otherwise as
    ///   ``freshAccessToken(minimumValidity:forceRefresh:parameters:)``.
    public func freshIDToken(minimumValidity: Duration = .seconds(60)) async throws -> IDToken {
        func isFresh(_ token: IDToken) -> Bool {
            record.expiry(of: token).timeIntervalSince(environment.now().wall) >= minimumValidity.seconds
        }
        // Nothing is handed out that the store has not accepted, or no longer has.
        if !isOpen { _ = try await freshAccessToken() }
        let old = record.idToken
        if isAuthorized {
            guard let old else { throw Self.noIDToken("the session has no ID token", "and request openid") }
            if let failure = record.unverifiedIDToken {
                let now = environment.now()
                if !failure.pause.isOver(at: now) {
                    throw failure.pauseError(at: now, event: "brought no ID token that could be verified")
                }
            } else if isFresh(old) {
                return old
            }
        }
        // The first time may only bring what another process has stored, and that ID token may have expired as well.
        for isSecond in [false, true] {
            var need = SessionRules.TokenRequirement(began: environment.now())
            need.isForced = true
            // Of a token that another machine has received, the time is unknown here.
            let isNew = try await accessToken(for: need).received.isSince(need.began)
            if let failure = record.unverifiedIDToken {
                guard isNew || isSecond else { continue }
                throw failure.error(at: environment.now())
            }
            guard let token = record.idToken else { break }
            let isNewEnough = isNew || isSecond && record.expiry(of: token) > environment.now().wall
            if isFresh(token) || (isNewEnough && token != old) { return token }
            if isNew { break }
        }
        let last = record.idToken.flatMap { $0.claims["exp"]?.double == nil ? nil : $0 }
        let end = last.map { ". The last one is valid until \(record.expiry(of: $0).formatted(.iso8601))" } ?? ""
        throw Self.noIDToken("the provider sends no new ID token when tokens are refreshed" + end)
    }

    private static func noIDToken(_ reason: String, _ remedy: String = "") -> AuthError {
        AuthError(.noIDToken, .idToken, "\(reason). Sign in again\(remedy.isEmpty ? "" : " \(remedy)")")
    }
}

extension AuthStateRecord {
    /// The expiry of an ID token by the clock of this machine, with which it is compared. A proxy may have written the `Date`
    /// of a response: if the token was issued just then by this machine's clock, that is the issuer's too.
    package func expiry(of token: IDToken) -> Date {
        guard let accessToken, let server = accessToken.serverDate else { return token.expiration }
        let (received, leeway) = (accessToken.received.wall, client.idTokenRules.leeway.seconds)
        let ahead = server.timeIntervalSince(received)
        func isNow(_ clock: Date) -> Bool { abs(token.issuedAt.timeIntervalSince(clock)) <= leeway }
        // A response takes a moment, and its `Date` has whole seconds.
        let isOfIssuer = abs(ahead) >= 60 && (isNow(server) || !isNow(received))
        return isOfIssuer ? token.expiration - ahead : token.expiration
    }
}
