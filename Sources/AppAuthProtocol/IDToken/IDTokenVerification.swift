internal import JOSE

/// Verifies the ID tokens of one client with its provider's keys, which are fetched when needed.
package struct IDTokenVerification: Sendable {
    package var client: Client
    package let environment: Environment
    /// The provider's keys; nil if it has none (no `jwks_uri`).
    package let keys: KeySetCache?

    package init(client: Client, environment: Environment, keys entry: KeySetCache.Entry? = nil) {
        (self.client, self.environment) = (client, environment)
        keys = client.provider[.keys].map { KeySetCache(url: $0, environment: environment, entry: entry) }
    }

    /// Verifies the ID token of a sign-in. Returns nil if `openid` was not requested.
    ///
    /// - Parameter expected: The values of the request; the access token is added here.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken`` if a required ID token is missing
    ///   (Core §3.1.3.3), and as ``verify(_:_:serverClock:)``.
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

    /// Decrypts a token if it is encrypted, and verifies it as ``verified(refusal:_:)`` does.
    ///
    /// - Parameter serverClock: The clock of the response with the token; nil if the browser brought the token, or if
    ///   the response had no `Date`. The clock of another response of the provider is then used, such as that with its
    ///   keys.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken``, temporary if a newer key may fit, or
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

    /// Examines a token with the current keys. If none of them made the signature, fetches the keys again and examines
    /// it once more: a provider may have a new key, under a new name or an old one (Core §10.1.1).
    ///
    /// - Parameters:
    ///   - refusal: Creates the error from a message.
    ///   - examine: Examines the token with keys; with nil if the provider has none.
    /// - Throws: What `examine` throws, and what fetching the keys throws. The refusal is temporary if the key is
    ///   unknown, because providers may sign with a new key before clients can fetch it, and if the keys were
    ///   fetched too recently to fetch them again.
    func verified<Value>(
        refusal: (_ message: String) -> AuthError, _ examine: (KeySet?) throws -> Examination<Value>
    ) async throws -> Value {
        if case .verified(let value) = try examine(try await keys?.keys()) { return value }
        guard let keys else { throw refusal("expected the provider to have a 'jwks_uri', found none") }
        // If another caller has just fetched the keys, those are the latest.
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

/// The result of examining a token. A thrown error is final; a signature may be valid with newer keys.
enum Examination<Value> {
    case verified(Value)
    /// A newer key may have made the signature.
    case signature(SignatureFinding)
}
