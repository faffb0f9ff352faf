internal import AppAuthConcurrency
public import AppAuthProtocol

extension AuthState {
    /// Valid access tokens, one after another: the current one, and each later one when it is there.
    ///
    /// A token is refreshed as by ``freshAccessToken(minimumValidity:forceRefresh:parameters:)``, before it expires. A
    /// refresh that fails for a while is tried again after ``AuthError/retryDelay``; ``changes`` reports it. A token of
    /// another process, or of a caller that needed one earlier, is returned at once.
    ///
    /// ```swift
    /// for try await token in state.accessTokens { connection.use(token) }
    /// ```
    ///
    /// The sequence ends only with an error. Several loops are independent of each other, and share each refresh. A loop that
    /// is busy for longer than a token lasts gets only the latest one. If its task is cancelled, the loop throws
    /// `CancellationError`, and a refresh that has begun goes on: see ``settle(atMost:)``.
    ///
    /// - Throws: The errors of ``freshAccessToken(minimumValidity:forceRefresh:parameters:)`` for which
    ///   ``AuthError/isTemporary`` is false or ``AuthError/needsSignIn`` is true; `CancellationError`.
    public nonisolated var accessTokens: some AsyncSequence<AccessToken, any Error> & Sendable {
        AccessTokens(state: self)
    }

    /// Waits until a token is due, or a pause after a failure is over, or the session changes.
    fileprivate nonisolated func wait(_ duration: Duration, orFor changes: AsyncStream<SessionChange>) async throws {
        try await firstResult { [environment] in
            try await environment.sleep(duration)
        } or: {
            for await change in changes {
                switch change {
                case .renewed, .ended: return
                case .refreshFailed, .storeFailed: continue
                }
            }
        }
    }

    /// Returns how long a loop has nothing to do with this token.
    fileprivate func timeToRefresh(_ token: AccessToken) -> Duration {
        let now = environment.now()
        let pause = record.refreshPause(at: now)?.retryDelay ?? .zero
        // A token without a known end is renewed by other callers only.
        return max(token.timeToRefresh(at: now) ?? .seconds(86_400), pause)
    }
}

private struct AccessTokens: AsyncSequence, Sendable {
    let state: AuthState

    func makeAsyncIterator() -> Iterator { Iterator(state: state) }

    struct Iterator: AsyncIteratorProtocol {
        let state: AuthState
        private var last: AccessToken?

        init(state: AuthState) { self.state = state }

        mutating func next() async throws -> AccessToken? {
            // The next one would come at once.
            if last?.isForOneUse == true { try await state.wait(.seconds(1), orFor: state.changes) }
            while true {
                // Before the token is read, so that no change is missed between the two.
                let changes = state.changes
                let wait: Duration
                do {
                    let token = try await state.freshAccessToken()
                    if token.value != last?.value {
                        last = token
                        return token
                    }
                    wait = await state.timeToRefresh(token)
                } catch let error as AuthError where error.isTemporary && !error.needsSignIn {
                    wait = error.retryDelay ?? .seconds(10)
                }
                // At least a second: the first failure causes no pause, and a lifetime can be that short.
                try await state.wait(Swift.max(wait, .seconds(1)), orFor: changes)
            }
        }
    }
}
