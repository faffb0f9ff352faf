internal import AppAuth

extension SessionOptions {
    /// Returns a valid access token that programs without the session's keys can use.
    func bearerToken(_ console: Console, within limit: Duration) async throws -> AccessToken {
        try await withState(console, within: limit) { state in
            let deadline = ContinuousClock.now + limit
            return try await state.patiently(forceRefresh: false, until: deadline, console) {
                try await state.freshAccessToken(forceRefresh: $0).checkedAsBearer()
            }
        }
    }
}

extension AccessToken {
    /// Returns the token unless it is bound to a key.
    func checkedAsBearer() throws -> AccessToken {
        // RFC 9449 §7.1: the server demands a proof with each request.
        guard type == .bearer else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the token is bound to a key of the session. Use 'sign-in request', or sign in without --dpop")
        }
        return self
    }
}
