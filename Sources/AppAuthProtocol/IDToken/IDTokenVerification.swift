internal import JOSE

/// Verifies the ID tokens of one client with its provider's keys, which are fetched when they are needed.
package struct IDTokenVerification: Sendable {
    package var client: Client
    package let environment: Environment
    /// Nil if the provider has no keys (no `jwks_uri`).
    package let keys: KeySetCache?

    package init(client: Client, environment: Environment, keys entry: KeySetCache.Entry? = nil) {
        (self.client, self.environment) = (client, environment)
        keys = client.provider[.keys].map { KeySetCache(url: $0, environment: environment, entry: entry) }
    }

    /// Verifies the ID token that a sign-in brings; nil where `openid` was not asked for.
    ///
    /// - Parameter expected: What the request asked for; the access token is added here.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken`` where there is none that should be there (Core
    ///   §3.1.3.3), and as ``verify(_:_:serverClock:)``.
    package func idToken(
        of tokens: TokenResponse, scope: [Scope], _ expected: IDTokenVerifier.Expectations
    ) async throws -> IDToken? {
        guard scope.contains(.openID) else { return nil }
        guard let token = tokens.idToken else {
            throw AuthError(
                .invalidIDToken, .idToken, "expected an ID token, since 'openid' was asked for, found none")
        }
        var expected = expected
        expected.accessToken = tokens.accessToken
        return try await verify(token, expected, serverClock: tokens.serverClock)
    }

    /// Decrypts the token, if it is encrypted, and verifies it as ``verified(refusal:_:)`` does.
    ///
    /// - Parameter serverClock: The clock of the response that brought it; nil if the browser did, or if it told none. Then that
    ///   of another response of the provider's counts, of its keys for one.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken``, temporary where a newer key may mend it, or
    ///   ``AuthError/Code/clockSkew``; what ``Environment/decryptionKey`` throws.
    package func verify(
        _ token: Secret, _ expected: IDTokenVerifier.Expectations, serverClock: ServerClock?
    ) async throws -> IDToken {
        var verifier = IDTokenVerifier(client: client)
        verifier.now = environment.now
        let signed: Secret
        do { signed = try await environment.signedToken(in: token) } catch let error as JOSEError {
            throw verifier.refusal("\(error)")
        }
        return try await verified(refusal: verifier.refusal) { [environment, client, verifier] keys in
            var verifier = verifier
            verifier.serverClock = serverClock ?? environment.serverClocks.clock(of: client, at: environment.now())
            return try verifier.examine(signed, keys: keys, expecting: expected)
        }
    }

    /// Examines a token with the keys at hand; if none of them has signed it, with the keys fetched again, once: a provider
    /// may have a new key, under a new name or an old one (Core §10.1.1).
    ///
    /// - Parameters:
    ///   - refusal: Makes the error of what was expected and found.
    ///   - examine: Examines it with keys; with nil where the provider has none.
    /// - Throws: What `examine` throws, and what fetching the keys does. The refusal is temporary where a key is not known
    ///   (yet), since providers sign with a new key before everybody can read it, and where the keys were fetched too short a
    ///   time ago to fetch them again.
    func verified<Value>(
        refusal: (_ message: String) -> AuthError, _ examine: (KeySet?) throws -> Examination<Value>
    ) async throws -> Value {
        if case .verified(let value) = try examine(try await keys?.keys()) { return value }
        guard let keys else { throw refusal("expected the provider to have a 'jwks_uri', found none") }
        // Where somebody else has just fetched them, those are the latest.
        let fetched = try await keys.refetch()
        let latest = if let fetched { fetched } else { try await keys.keys() }
        switch try examine(latest) {
        case .verified(let value): return value
        case .signature(let finding):
            var error = refusal(finding.message)
            error.isTemporary = finding == .keyUnknown || fetched == nil
            throw error
        }
    }
}

/// What came of a token: an error is final, the rest may be another with newer keys.
enum Examination<Value> {
    case verified(Value)
    /// It can be by a key that is newer.
    case signature(SignatureFinding)
}
