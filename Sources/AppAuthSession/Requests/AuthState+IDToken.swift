public import AppAuthProtocol
internal import FoundationEssentials

extension AuthState {
    /// Returns a verified ID token that is still valid, after a refresh if necessary: for a server that accepts the
    /// client's ID tokens as a credential, such as Kubernetes. ``IDToken/rawValue`` is what it expects. For the user's
    /// claims, ``claims`` is enough, since they do not expire with the token.
    ///
    /// Callers that need a new one at the same time share one refresh, in all processes. Callers of
    /// ``freshAccessToken(minimumValidity:forceRefresh:parameters:)`` do not wait for it. A token that is issued
    /// meanwhile is returned even if its validity is shorter than requested.
    ///
    /// - Parameter minimumValidity: How long the token must remain valid, by the clock of this machine.
    /// - Throws: ``AuthError/Code/noIDToken`` if the session has none, or if the provider sends none at a refresh and
    ///   the one of the sign-in has expired. Otherwise as
    ///   ``freshAccessToken(minimumValidity:forceRefresh:parameters:)``.
    public func freshIDToken(minimumValidity: Duration = .seconds(60)) async throws -> IDToken {
        func isFresh(_ token: IDToken) -> Bool {
            token.expiration.timeIntervalSince(environment.now().wall) >= minimumValidity.seconds
        }
        // Nothing is handed out that the store has not accepted, or no longer has.
        if !machine.isOpen { _ = try await freshAccessToken() }
        let old = record.idToken
        if let old, isAuthorized, isFresh(old) { return old }
        if old == nil, isAuthorized { throw Self.noIDToken("the session has no ID token", "and request openid") }
        // The first time may only bring what another process has stored, and that ID token may have expired as well.
        for isSecond in [false, true] {
            var need = SessionRules.TokenRequirement(began: environment.now())
            need.isForced = true
            // Of a token that another machine has received, the time is unknown here.
            let isNew = try await accessToken(for: need).received.isSince(need.began)
            guard let token = record.idToken else { break }
            let isNewEnough = isNew || isSecond && token.expiration > environment.now().wall
            if isFresh(token) || (isNewEnough && token != old) { return token }
            if isNew { break }
        }
        let end = record.idToken.map { " The last one is valid until \($0.expiration.formatted(.iso8601))" } ?? ""
        throw Self.noIDToken("the provider sends no new ID token when tokens are refreshed." + end)
    }

    private static func noIDToken(_ reason: String, _ remedy: String = "") -> AuthError {
        AuthError(.noIDToken, .idToken, "\(reason). Sign in again\(remedy.isEmpty ? "" : " \(remedy)")")
    }
}
