package import AppAuthProtocol

/// The rules of a session, as a pure function: it takes the stored session and an event, and returns what to store and
/// what to do. ``AuthState`` applies it within the change of its store, and acts on the decision.
package enum SessionRules {
    /// The token that a caller needs.
    package struct TokenRequirement: Sendable {
        package var parameters = TokenParameters.session
        /// How long the token must remain valid; nil for the default margin.
        package var minimumValidity: Duration?
        /// Whether the token that the caller has seen is unusable, even if it has not expired.
        package var isForced = false
        /// Whether to refresh even in a pause after failures, since the caller has explicitly asked for a refresh.
        package var ignoresPause = false
        /// The current token when the caller began.
        package var seen: AccessToken?

        /// What callers must have in common to share a refresh and its response.
        package struct Kind: Hashable, Sendable {
            let parameters: TokenParameters
            let minimumValidity: Duration?
            /// The unusable token, if a refresh is forced.
            let refused: Secret?
            let isForced: Bool
            let ignoresPause: Bool
        }

        /// Whether this is the default requirement, which nearly all callers have.
        var isUsual: Bool { !isForced && minimumValidity == nil && parameters == .session }

        package var kind: Kind {
            Kind(
                parameters: parameters, minimumValidity: minimumValidity, refused: isForced ? seen?.value : nil,
                isForced: isForced, ignoresPause: ignoresPause)
        }
        /// When the caller began.
        package let began: Timestamp

        package init(began: Timestamp) { self.began = began }

        /// Whether the caller takes this token if no better one can be had: it has not expired, and nothing special was asked.
        package func acceptsForNow(_ token: AccessToken, at now: Timestamp) -> Bool {
            !isForced && minimumValidity == nil && !token.isExpired(at: now)
        }

        /// Whether the caller takes this token of a session that cannot be refreshed.
        func acceptsUnrefreshed(_ token: AccessToken, at now: Timestamp) -> Bool {
            acceptsForNow(token, at: now) || !isForced && minimumValidity.map { token.lasts($0, at: now) } == true
        }

        /// Whether a token satisfies the caller. A token that was issued after the caller began does, however short its
        /// lifetime: a server with lifetimes of a second must not be asked again and again.
        package func accepts(_ token: AccessToken, at now: Timestamp) -> Bool {
            if isForced, token.value == seen?.value { return false }
            if token.isFresh(at: now, minimumValidity: minimumValidity) { return true }
            return (!token.isExpired(at: now) || token.isForOneUse) && token.received.isSince(began)
                && token.value != seen?.value
        }
    }

    /// A refresh token or a grant that is sent to the provider.
    package struct Attempt: Sendable {
        /// The session whose token it is.
        package let session: String
        package let need: TokenRequirement
        package let credential: AuthStateRecord.Credential

        /// The refresh token that is sent; nil for a grant.
        package var refreshToken: Secret? {
            guard case .refreshToken(let token) = credential else { return nil }
            return token
        }
    }

    /// The result of verifying the ID token of a response.
    package enum IDTokenVerification: Sendable {
        /// The response has no ID token, or the session has none to compare it with.
        case absent
        case verified(IDToken, keys: KeySetCache.Entry?)
        /// The ID token could not be verified. It is not used, and the access token is.
        case unverified(AuthError)
        /// Nothing of the response is used but its refresh token. If the ID token is another user's
        /// (``AuthError/isForeign``), the session ends.
        case refused(AuthError)
    }

    package enum Event: Sendable {
        /// A caller needs a token.
        case tokenNeeded(TokenRequirement, LockState)
        /// The provider has responded. Its refresh token is the valid one; the rest is not verified yet.
        case received(Attempt, TokenResponse)
        /// The response is complete, with the outcome of its ID token. The jitter, 0 to 1, is for the pause if the
        /// response is unusable.
        case completed(Attempt, TokenResponse, idToken: IDTokenVerification, jitter: Double)
        /// There was an error, or no response.
        case failed(Attempt, AuthError, jitter: Double)
        case signedOut
        /// The provider has changed the client's registration and invalidated the previous registration access token.
        case registered(Client)
    }

    /// Whether a caller does not need the refresh lock yet, waits for it while another caller or process holds it, or holds
    /// it.
    package enum LockState: Sendable { case unlocked, waiting, held }

    /// The signature of ``apply(_:to:known:at:occurredAt:)``. The simulation can replace that function with one that lacks a
    /// protection, to show that the protection is needed.
    package typealias Function =
        @Sendable (
            _ event: Event, _ stored: inout AuthStateRecord?, _ known: AuthStateRecord, _ now: Timestamp,
            _ occurrence: Timestamp?
        ) -> Decision

    package static let usual: Function = { apply($0, to: &$1, known: $2, at: $3, occurredAt: $4) }

    package enum Action: Sendable {
        /// Returns this token to the caller.
        case handOut(AccessToken)
        /// Waits for the refresh lock, then decides again.
        case waitForLock
        /// Sends the refresh token or the grant. The result is the next event.
        case send(Attempt)
        /// Decides again: another process has changed the refresh token, or the same user has signed in again.
        case decideAgain
        case fail(AuthError)
        /// Does nothing more: the store has the result.
        case done
    }

    package struct Decision: Sendable {
        package internal(set) var action: Action
        /// The change to report to the observers of the session.
        package var change: SessionChange?
        /// A response whose tokens will not be used, and which may be revoked: it came after the end, or its ID token
        /// ended the session.
        package var orphan: TokenResponse?
        /// Why the ID token was not verified, if it was before. Reported after the change.
        package var unverified: AuthError?
        /// The session that a sign-out has removed from the store.
        package var removed: AuthStateRecord?

        package init(_ action: Action, _ change: SessionChange? = nil) {
            (self.action, self.change) = (action, change)
        }

        /// Whether the decision reports new tokens.
        var isRenewal: Bool { if case .renewed? = change { true } else { false } }

        /// Whether the decision returns a token to the caller.
        var isHandOut: Bool { if case .handOut = action { true } else { false } }

        /// Whether the caller gets an error, and there are no new tokens.
        var isFailure: Bool { if case .fail = action { !isRenewal } else { false } }

        /// Whether the store has a later sign-in of the same user, or a newer refresh token.
        var isToDecideAgain: Bool { if case .decideAgain = action { true } else { false } }
    }
}

extension SessionRules.Event {
    /// The attempt whose result is known.
    package var attempt: SessionRules.Attempt? {
        switch self {
        case .received(let attempt, _), .completed(let attempt, _, _, _), .failed(let attempt, _, _): attempt
        case .tokenNeeded, .signedOut, .registered: nil
        }
    }

    /// The response that brought tokens.
    package var response: TokenResponse? {
        switch self {
        case .received(_, let response), .completed(_, let response, _, _): response
        case .tokenNeeded, .failed, .signedOut, .registered: nil
        }
    }
}
