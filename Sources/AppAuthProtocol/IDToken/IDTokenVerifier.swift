internal import FoundationEssentials
internal import JOSE

/// Verifies ID tokens by all steps of OpenID Connect Core §3.1.3.7. An error says what was expected and what was found.
///
/// A value without state: safe to use from many tasks, without I/O, and as fast as libcrypto. ``AuthState`` uses it. An
/// app needs it only for tokens that it obtained by itself.
///
/// ```swift
/// let verifier = IDTokenVerifier(client: client)
/// let idToken = try verifier.verify(token, keys: keys, expecting: .init(nonce: nonce))
/// ```
public struct IDTokenVerifier: Sendable {
    /// The client that the token must be for, and the provider that must have issued it.
    public let client: Client
    /// How far the two clocks may differ. 60 seconds by default.
    public var leeway: Duration = .seconds(60)
    /// The maximum age of a token that was just received, by its `iat`. A day by default.
    public var maximumAge: Duration = .seconds(86_400)
    /// Further audiences that are accepted (Core §3.1.3.7 step 3). None by default.
    public var trustedAudiences: Set<String> = []
    /// Returns the current time.
    public var now: @Sendable () -> Timestamp = { .current }
    /// The provider's clock, from the response with the token or another response of the provider.
    package var serverClock: ServerClock?

    /// Creates a verifier with the default limits.
    public init(client: Client) { self.client = client }

    /// The values, other than the client, that a token is checked against.
    public struct Expectations: Sendable {
        /// The nonce that was sent; nil if none was.
        public var nonce: Secret?
        /// The `max_age` that was sent.
        public var maxAge: Int?
        /// The `acr_values` that were sent.
        public var acrValues: [String] = []
        /// The `acr` values that were requested as essential (Core §5.5.1.1).
        public var essentialACRValues: [String]?
        /// The access token that came with the ID token, for `at_hash`.
        public var accessToken: Secret?
        /// Whether the token came from the browser and not from the token endpoint (Core §3.3.2.12). The client's
        /// secret would then suffice to forge an HMAC, so that one is accepted only if it is registered.
        public var isFromBrowser = false
        /// The ID token before a refresh, if this one comes from the refresh (Core §12.2).
        public var previous: IDToken?

        /// Expects a nonce, or no nonce.
        public init(nonce: Secret? = nil) { self.nonce = nonce }

        /// Expects the values of a request.
        public init(request: AuthorizationRequest) {
            nonce = request.nonce
            maxAge = request.options.maxAge
            acrValues = request.options.acrValues
            let acr = request.options.claims?["id_token"]?["acr"]
            if acr?["essential"]?.bool == true {
                essentialACRValues = acr?["values"]?.strings ?? acr?["value"]?.string.map { [$0] } ?? []
            }
        }
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - token: The token in compact form.
    ///   - keys: The provider's keys.
    ///   - expected: The values that the token is checked against.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken``, or ``AuthError/Code/clockSkew`` if everything
    ///   except a time is right.
    public func verify(_ token: Secret, keys: KeySet, expecting expected: Expectations) throws -> IDToken {
        switch try examine(token, keys: keys, expecting: expected) {
        case .verified(let idToken): return idToken
        case .signature(let finding): throw refusal(finding.message)
        }
    }

    /// As ``verify(_:keys:expecting:)``, for keys that may be outdated or missing.
    func examine(
        _ token: Secret, keys: KeySet?, expecting expected: Expectations
    ) throws -> Examination<IDToken> {
        let jws: JWS
        do { jws = try JWS(compact: token.reveal()) } catch { throw refusal("\(error)") }
        // RFC 8725 §3.11: a token that declares another type (at+jwt, logout+jwt) is not an ID token.
        if let typ = jws.header.typ, typ.lowercasedASCII.hasSuffix("+jwt") {
            throw refusal("expected an ID token, found a token of type '\(typ.prefix(64))'")
        }
        let idToken = try IDToken(rawValue: token, payload: jws.payload)
        let claims = idToken.claims
        // Step 1, decryption, is done before: see ``Environment/signedToken(in:)``.
        try checkIssuer(claims, expected)
        try checkAudience(claims)
        let finding: SignatureFinding
        do throws(JOSEError) {
            let listed = expected.isFromBrowser ? client.deliveredIDTokenAlgorithms : client.idTokenAlgorithms
            finding = try checkSignature(jws, keys: keys, listed: listed)
        } catch {
            throw refusal("\(error)")
        }
        guard finding == .valid else { return .signature(finding) }
        try checkSubject(claims)
        try checkPerson(claims, expected)
        // The times come last, so that an error about them means that everything else is right.
        try checkNonce(claims, expected)
        try checkAuthenticationContext(claims, expected)
        try checkAccessTokenHash(claims, expected, algorithm: jws.header.alg)
        try checkContinuity(idToken, expected)
        try checkTimes(claims)
        try checkAuthenticationTime(claims, expected)
        return .verified(idToken)
    }

    func refusal(_ message: String) -> AuthError {
        AuthError(.invalidIDToken, .idToken, "the ID token is refused: \(message)")
    }

    // Core §3.1.3.7 step 2: the issuer is exactly the provider's.
    private func checkIssuer(_ claims: Claims, _ expected: Expectations) throws {
        let issuer = client.provider.issuer.string
        guard claims["iss"] == .string(issuer) else {
            let remedy =
                expected.previous == nil
                ? "" : ". If the provider has changed its issuer, sign in again with the new one"
            throw refusal("expected 'iss' to be '\(issuer)', found \(claims["iss"].foundText)\(remedy)")
        }
    }

    // Steps 3 to 5: for this client, for no untrusted audience, and issued to this client.
    private func checkAudience(_ claims: Claims) throws {
        guard let audience = IDToken.audience(of: claims) else {
            throw refusal("expected 'aud' to be a string or an array of strings, found \(claims["aud"].foundKind)")
        }
        guard audience.contains(where: client.id.isExactly) else {
            throw refusal(
                "expected 'aud' to contain '\(client.id)', found '\(audience.joined(separator: " ").prefix(200))'")
        }
        if let other = audience.first(where: {
            !client.id.isExactly($0) && !trustedAudiences.contains(where: $0.isExactly)
        }) {
            throw refusal("expected no audience beside '\(client.id)', found '\(other.prefix(200))'")
        }
        if let azp = claims["azp"] {
            guard azp == .string(client.id) else {
                throw refusal("expected 'azp' to be '\(client.id)', found \(claims["azp"].foundText)")
            }
        } else if audience.count > 1 {
            throw refusal("expected 'azp', since there are several audiences, found none")
        }
    }

    // Core §2: sub is present and has at most 255 ASCII characters. It identifies the user: no message repeats it.
    private func checkSubject(_ claims: Claims) throws {
        let expected = "expected 'sub' of 1 to 255 ASCII characters"
        guard let subject = claims.subject else { throw refusal("\(expected), found \(claims["sub"].foundKind)") }
        guard (1...255).contains(subject.utf8.count) else { throw refusal("\(expected), found \(subject.utf8.count)") }
        guard subject.utf8.allSatisfy({ $0 < 128 }) else { throw refusal("\(expected), found others among them") }
    }

    // Step 11: the nonce is the one that was sent. A token of a refresh may omit it (Core §12.2).
    private func checkNonce(_ claims: Claims, _ expected: Expectations) throws {
        guard expected.previous == nil else { return }
        let found = claims["nonce"]
        switch (expected.nonce, found) {
        case (nil, nil): break
        case (nil, _): throw refusal("expected no 'nonce', since none was sent, found one")
        case (let nonce?, _):
            guard let found = found?.string, Secret(found) == nonce else {
                throw refusal("expected the 'nonce' that was sent, found \(found == nil ? "none" : "another")")
            }
        }
    }

    // Step 12: an acr that was requested as essential must be present. One requested by acr_values is voluntary
    // (Core §3.1.2.1) and may be missing, but must not differ.
    private func checkAuthenticationContext(_ claims: Claims, _ expected: Expectations) throws {
        let found = claims["acr"]?.string
        if let essential = expected.essentialACRValues {
            guard let found, essential.isEmpty || essential.contains(where: found.isExactly) else {
                throw refusal(
                    "expected 'acr' to be one of '\(essential.joined(separator: " "))', found \(found ?? "none")")
            }
        }
        if let found, !expected.acrValues.isEmpty, !expected.acrValues.contains(where: found.isExactly) {
            throw refusal(
                "expected 'acr' to be one of '\(expected.acrValues.joined(separator: " "))', found '\(found)'")
        }
    }

    // Core §3.1.3.8: at_hash, if present, is the left half of the access token's hash.
    private func checkAccessTokenHash(_ claims: Claims, _ expected: Expectations, algorithm: String) throws {
        guard let accessToken = expected.accessToken, claims["at_hash"] != nil else { return }
        try checkHash("at_hash", of: claims, is: accessToken, algorithm: algorithm)
    }

    /// Checks a claim that is the left half of the hash of a value that came with the token.
    func checkHash(_ name: String, of claims: Claims, is value: Secret, algorithm: String) throws {
        guard let hash = Self.leftHalfOfHash(of: value, algorithm: algorithm) else {
            throw refusal("expected an algorithm whose digest is known for '\(name)', found '\(algorithm.prefix(64))'")
        }
        guard let found = claims[name] else { throw refusal("expected '\(name)', found none") }
        guard let text = found.string, constantTimeEqual(text, hash) else {
            throw refusal("expected '\(name)' to be '\(hash)', found \(claims[name].foundText)")
        }
    }

    /// Core §3.1.3.6: with the digest of the signature's algorithm.
    private static func leftHalfOfHash(of value: Secret, algorithm: String) -> String? {
        let digest = SignatureAlgorithm(rawValue: algorithm)?.digest ?? MACAlgorithm(rawValue: algorithm)?.digest
        guard let hash = digest?.hash(value.bytes) else { return nil }
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }

    // Core §12.2: the sub after a refresh is the same. The check follows the signature's, because a different sub ends
    // the session.
    private func checkPerson(_ claims: Claims, _ expected: Expectations) throws {
        guard let previous = expected.previous, claims.subject?.isExactly(previous.subject) != true else { return }
        var error = refusal("expected the same 'sub' as before the refresh, found another")
        error.isForeign = true
        throw error
    }

    // Core §12.2: aud and azp stay the same, and so do the nonce and auth_time, if present.
    private func checkContinuity(_ idToken: IDToken, _ expected: Expectations) throws {
        guard let previous = expected.previous else { return }
        func require(_ name: String, _ isSame: Bool) throws {
            guard isSame else { throw refusal("expected the same '\(name)' as before the refresh, found another") }
        }
        try require("aud", Set(idToken.audience.map(ExactText.init)) == Set(previous.audience.map(ExactText.init)))
        try require("azp", idToken.claims["azp"] == previous.claims["azp"])
        // auth_time is the time of the original authentication, not of the refresh.
        if let first = previous.authTime, let now = idToken.claims["auth_time"], now != .null {
            try require("auth_time", idToken.authTime == first)
        }
        // The previous token may have omitted the nonce: the one that was sent counts too.
        if let nonce = idToken.claims["nonce"], nonce != .null {
            let isSent = nonce.string.map(Secret.init) == expected.nonce && expected.nonce != nil
            try require("nonce", isSent || nonce == previous.claims["nonce"])
        }
    }
}
