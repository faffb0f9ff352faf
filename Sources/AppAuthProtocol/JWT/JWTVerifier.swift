internal import JOSE

/// Verifies the JWTs that a client gets from its provider, with the provider's keys, which are fetched when needed: ID
/// tokens, logout tokens, and signed responses.
package struct JWTVerifier: Sendable {
    package var client: Client
    package let environment: Environment
    /// The provider's keys; nil if it has none (no `jwks_uri`).
    package let keys: KeySetCache?

    package init(client: Client, environment: Environment, keys entry: KeySetCache.Entry? = nil) {
        (self.client, self.environment) = (client, environment)
        keys = client.provider[.keys].map { KeySetCache(url: $0, environment: environment, entry: entry) }
    }

    /// Verifies a signed token and returns its claims. Checks the type, the issuer and the audience first, so that a
    /// made-up token causes no request for keys; then the signature, and then the times.
    ///
    /// - Parameters:
    ///   - token: The token in compact form.
    ///   - algorithms: The accepted signature algorithms.
    ///   - expected: What the claims are checked against.
    /// - Throws: The refusals of `expected`; as ``checkSignature(of:algorithms:refusal:)``.
    package func claims(
        in token: String, signedBy algorithms: [String], _ expected: ClaimsVerifier
    ) async throws -> JSON.Object {
        let (jws, claims) = try expected.parse(token)
        try await checkSignature(of: jws, algorithms: algorithms, refusal: expected.refusal)
        // Last, because the response with the keys may have reported the provider's clock.
        try expected.checkTimes(claims, at: environment.time(of: client), refusal: expected.refusal)
        return claims
    }

    /// Checks that one of the provider's keys signed a token, or the client secret.
    ///
    /// - Parameters:
    ///   - jws: The token.
    ///   - algorithms: The accepted algorithms.
    ///   - refusal: Creates the error from a message.
    /// - Throws: The refusal, and as ``tryKeys(refusal:_:)``. The refusal is temporary if the key is unknown, because
    ///   providers may sign with a new key before clients can fetch it, and if the keys were fetched too recently to
    ///   fetch them again.
    package func checkSignature(
        of jws: JWS, algorithms: [String], refusal: (_ message: String) -> AuthError
    ) async throws {
        var finding = SignatureFinding.keyUnknown
        let isFinal = try await tryKeys(refusal: refusal) { keys in
            do { finding = try client.checkSignature(of: jws, algorithms: algorithms, keys: keys) } catch {
                throw refusal("\(error)")
            }
            return finding == .valid
        }
        guard finding != .valid else { return }
        var error = refusal(finding.message)
        error.isTemporary = finding == .keyUnknown || !isFinal
        throw error
    }

    /// Checks something with the keys in memory, and with newer ones until the check is final: a provider may have a new
    /// key, under a new name or an old one (Core §10.1.1).
    ///
    /// - Parameters:
    ///   - refusal: Creates the error from a message.
    ///   - check: Returns whether newer keys cannot change its result. The keys are nil if none are known.
    /// - Returns: Whether no newer keys can change the result; false if they were fetched too recently to fetch them
    ///   again.
    /// - Throws: The refusal if the provider has no keys; what `check` throws; what fetching the keys throws.
    func tryKeys(
        refusal: (_ message: String) -> AuthError, _ check: (KeySet?) throws -> Bool
    ) async throws -> Bool {
        let cached = keys?.cached
        if try check(cached) { return true }
        guard let keys else { throw refusal("expected the provider to have a 'jwks_uri', found none") }
        if cached == nil, try check(await keys.keys()) { return true }
        // Also if the keys were fetched just now: a cache on the way may have had old ones.
        let fetched = try await keys.refetch()
        // If another caller has just fetched the keys, those are the latest.
        let latest = if let fetched { fetched } else { try await keys.keys() }
        return try check(latest) || fetched != nil
    }
}

/// The result of checking a signature.
enum SignatureFinding {
    case valid
    /// No key can have made the signature.
    case keyUnknown
    /// The matching key did not make the signature: it is forged, or the provider has replaced the key under the same
    /// name or without one.
    case keyDiffers

    /// The error message for an invalid signature.
    var message: String {
        self == .keyUnknown
            ? "expected a matching key in the provider’s key set, found none"
            : "expected a signature by the provider’s key, found another"
    }
}

extension Client {
    /// Core §3.1.3.7 steps 6 to 8, in every flow and for every JWT: TLS does not replace a signature.
    ///
    /// The provider's metadata must list the algorithm (RFC 8725 §3.1), or the client's registration name it. The key
    /// must have the header's kid, or none if no key has that one, and fit the algorithm by its alg, use and kty.
    func checkSignature(
        of jws: JWS, algorithms: [String], keys: KeySet?
    ) throws(JOSEError) -> SignatureFinding {
        let name = jws.header.alg
        try checkAlgorithm(name, isOneOf: algorithms)
        let algorithm = SignatureAlgorithm(rawValue: name)
        if let algorithm = MACAlgorithm(rawValue: name) {
            try checkMAC(of: jws, algorithm)
            return .valid
        }
        guard let algorithm else {
            throw JOSEError("expected a supported algorithm, found \(name.foundText)")
        }
        try algorithm.checkIsAvailable()
        guard let keys else { return .keyUnknown }
        let candidates = keys.jwks.candidates(kid: jws.header.kid, algorithm: algorithm)
        // Core §10.1: without a kid, exactly one key must fit.
        guard jws.header.kid != nil || candidates.count <= 1 else {
            throw JOSEError("expected a 'kid', since \(candidates.count) keys fit \(name), found none")
        }
        if candidates.contains(where: { jws.isSigned(by: $0, algorithm: algorithm) }) { return .valid }
        guard candidates.isEmpty else { return .keyDiffers }
        let unnamed = keys.jwks.unnamed(algorithm: algorithm)
        return unnamed.contains { jws.isSigned(by: $0, algorithm: algorithm) } ? .valid : .keyUnknown
    }

    func checkAlgorithm(_ name: String, isOneOf algorithms: [String]) throws(JOSEError) {
        let algorithm = SignatureAlgorithm(rawValue: name)
        guard algorithms.contains(where: { algorithm?.isNamed($0) ?? $0.isExactly(name) }) else {
            let expected = algorithms.joined(separator: " ")
            throw JOSEError("expected an algorithm of \(expected.foundText), found \(name.foundText)")
        }
    }

    /// Step 8: the key of an HMAC is the client secret. A public client has none.
    private func checkMAC(of jws: JWS, _ algorithm: MACAlgorithm) throws(JOSEError) {
        guard let secret = authentication.secret else {
            throw JOSEError(
                "expected a signature by a public key, found \(algorithm.rawValue), and the client has no secret")
        }
        // Core §16.19: a shorter secret could be guessed, and the signature forged.
        try algorithm.check(secret: secret.bytes)
        guard jws.isSigned(bySecret: secret.bytes, algorithm: algorithm) else {
            throw JOSEError("expected an \(algorithm.rawValue) signature by the client secret, found another")
        }
    }
}
