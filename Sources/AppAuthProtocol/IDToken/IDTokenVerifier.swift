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
    /// The client that the token must be for, with its ``Client/idTokenRules``, and the provider that must have issued it.
    public var client: Client
    /// Returns the current time.
    public var now: @Sendable () -> Timestamp = { .current }
    /// The provider's clock, from the response with the token or another response of the provider.
    package var serverClock: ServerClock?

    /// Creates a verifier.
    public init(client: Client) { self.client = client }

    /// The values, other than the client, that a token is checked against.
    public struct Expectations: Sendable {
        /// The nonce that was sent; nil if none was.
        public var nonce: Secret?
        /// The `max_age` that was sent.
        public var maxAge: Int?
        /// The values of which `acr` must be one, if the token has it.
        public var acrValues: [String] = []
        /// The `acr` values that were requested as essential (Core §5.5.1.1).
        public var essentialACRValues: [String]?
        /// The access token that came with the ID token, for `at_hash`.
        public var accessToken: Secret?
        /// Whether the token came from the browser and not from the token endpoint (Core §3.3.2.12). The client's
        /// secret would then suffice to forge an HMAC, so that one is accepted only if it is registered.
        public var isFromBrowser = false
        /// The code that came with the token, for `c_hash`, which is then required (Core §3.3.2.10).
        package var code: Secret?
        /// The state of the request, for `s_hash` (FAPI 1.0 Advanced §5.1).
        package var state: Secret?
        /// Whether `s_hash` is required.
        package var requiresStateHash = false
        /// The ID token before a refresh, if this one comes from the refresh (Core §12.2).
        public var previous: IDToken?

        /// Expects a nonce, or no nonce.
        public init(nonce: Secret? = nil) { self.nonce = nonce }

        /// Expects the values of a request.
        public init(request: AuthorizationRequest) {
            nonce = request.nonce
            maxAge = request.options.maxAge
            if !request.options.acceptsOtherACR { acrValues = request.options.acrValues }
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
        if let previous = expected.previous {
            return try check(refreshed: token, after: previous, expected, keys: keys).get(previous)
        }
        let common = commonChecks
        let (jws, idToken) = try parse(token, common)
        do throws(JOSEError) {
            let finding = try client.checkSignature(of: jws, algorithms: algorithms(expected), keys: keys)
            guard finding == .valid else { throw JOSEError(finding.message) }
        } catch {
            throw Self.refusal("\(error)")
        }
        try check(idToken, algorithm: jws.header.alg, expected, common)
        return idToken
    }

    static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidIDToken, .idToken, "invalid ID token: \(message)")
    }

    // The steps of Core §3.1.3.7 follow in its order, except that the times (steps 9 and 10) come after steps 11 and 12.
    // Step 1, decryption, is done before: see ``Environment/signedToken(in:)``.

    /// Steps 2 to 5: the issuer and the audience, before keys are fetched.
    func parse(_ token: Secret, _ common: ClaimsVerifier) throws -> (jws: JWS, idToken: IDToken) {
        let (jws, claims) = try common.parse(token.reveal())
        try checkAuthorizedParty(claims)
        try requireAuthorizedParty(claims)
        return (jws, IDToken(rawValue: token, claims: Claims(claims)))
    }

    /// Steps 6 to 8, the signature, are ``Client/checkSignature(of:algorithms:keys:)``, by these algorithms.
    func algorithms(_ expected: Expectations) -> [String] {
        expected.isFromBrowser ? client.deliveredIDTokenAlgorithms : client.idTokenAlgorithms
    }

    /// Steps 9 to 13, and what other sections require.
    func check(
        _ idToken: IDToken, algorithm: String, _ expected: Expectations, _ common: ClaimsVerifier
    ) throws {
        let claims = idToken.claims
        try checkSubject(claims)
        try checkNonce(claims, expected)
        try checkAuthenticationContext(claims, expected)
        try checkHash("at_hash", of: expected.accessToken, claims, algorithm, isRequired: false)
        try checkHash("c_hash", of: expected.code, claims, algorithm, isRequired: true)
        try checkHash("s_hash", of: expected.state, claims, algorithm, isRequired: expected.requiresStateHash)
        // Steps 9 and 10: the times come last, so that an error about them means that everything else is right.
        try checkTimes(claims, common)
        try checkAuthenticationTime(claims, expected, common)
    }

    /// Steps 2, 3, 9 and 10. A token that declares another type (at+jwt, logout+jwt) is not an ID token.
    var commonChecks: ClaimsVerifier {
        var verifier = ClaimsVerifier(client: client, refusal: Self.refusal)
        let rules = client.idTokenRules
        (verifier.type, verifier.trustedAudiences) = (.generic, rules.trustedAudiences)
        (verifier.exp, verifier.iat, verifier.nbf) = (.required, .required, .optional)
        (verifier.leeway, verifier.maximumAge) = (rules.leeway, rules.maximumAge)
        return verifier
    }

    // Step 5: issued to this client.
    func checkAuthorizedParty(_ claims: JSON.Object) throws {
        guard let azp = claims[nonEmpty: "azp"], azp != .string(client.id) else { return }
        throw Self.refusal("expected 'azp' to be \(client.id.foundText), found \(claims["azp"].foundText)")
    }

    // Step 4: several audiences require an azp.
    private func requireAuthorizedParty(_ claims: JSON.Object) throws {
        guard claims[nonEmpty: "azp"] == nil, let audience = claims["aud"]?.array, audience.count > 1 else { return }
        throw Self.refusal("expected 'azp', since there are several audiences, found none")
    }

    // Core §2: sub is present and has at most 255 ASCII characters. It identifies the user: no message repeats it.
    func checkSubject(_ claims: Claims) throws {
        let expected = "expected 'sub' of 1 to 255 ASCII characters"
        guard let subject = claims.subject else {
            throw Self.refusal("\(expected), found \(claims["sub"].foundKind)")
        }
        let count = subject.utf8.count
        guard (1...255).contains(count) else { throw Self.refusal("\(expected), found \(count)") }
        guard subject.utf8.allSatisfy({ $0 < 128 }) else {
            throw Self.refusal("\(expected), found other characters")
        }
    }

    // Step 11: the nonce is the one that was sent.
    private func checkNonce(_ claims: Claims, _ expected: Expectations) throws {
        let found = claims["nonce"]
        switch (expected.nonce, found) {
        case (nil, nil): break
        case (nil, _): throw Self.refusal("expected no 'nonce', since none was sent, found one")
        case (let nonce?, _):
            guard let found = found?.string, Secret(found) == nonce else {
                throw Self.refusal("expected the 'nonce' that was sent, found \(found == nil ? "none" : "another")")
            }
        }
    }

    // Step 12: an acr that was requested as essential must be present (Core §5.5.1.1). One requested by acr_values is
    // voluntary (Core §3.1.2.1): it may be missing, but must not differ, unless the app accepts that.
    private func checkAuthenticationContext(_ claims: Claims, _ expected: Expectations) throws {
        let found = claims["acr"]?.string
        if let essential = expected.essentialACRValues {
            guard let found, essential.isEmpty || essential.contains(where: found.isExactly) else {
                throw Self.refusal(
                    "expected 'acr' to be one of \(essential.joined(separator: " ").foundText), found \(claims["acr"].foundText)"
                )
            }
        }
        if let found, !expected.acrValues.isEmpty, !expected.acrValues.contains(where: found.isExactly) {
            throw Self.refusal(
                "expected 'acr' to be one of \(expected.acrValues.joined(separator: " ").foundText), found \(found.foundText)"
            )
        }
    }

    // Core §3.1.3.8, §3.3.2.11, FAPI 1.0 Advanced §5.1: the claim is the left half of the hash of a value that came with
    // the token, with the digest of the signature's algorithm (Core §3.1.3.6).
    func checkHash(
        _ name: String, of value: Secret?, _ claims: Claims, _ algorithm: String, isRequired: Bool
    ) throws {
        guard let value, isRequired || claims.members[nonEmpty: name] != nil else { return }
        let digest = SignatureAlgorithm(rawValue: algorithm)?.digest ?? MACAlgorithm(rawValue: algorithm)?.digest
        guard let hash = digest?.hash(value.bytes) else {
            // No specification says which digest belongs to ML-DSA.
            guard isRequired else { return }
            throw Self.refusal(
                "expected an algorithm whose digest is known for \(name.foundText), found \(algorithm.foundText)")
        }
        let expected = Base64URL.encode(Array(hash.prefix(hash.count / 2)))
        guard let found = claims[name] else { throw Self.refusal("expected \(name.foundText), found none") }
        guard let text = found.string, constantTimeEqual(text, expected) else {
            throw Self.refusal(
                "expected \(name.foundText) to be \(expected.foundText), found \(claims[name].foundText)")
        }
    }

    // Step 13: with max_age, auth_time must be present, not longer ago and not in the future.
    private func checkAuthenticationTime(
        _ claims: Claims, _ expected: Expectations, _ common: ClaimsVerifier
    ) throws {
        let found = try common.seconds("auth_time", .optional, in: claims.members)
        guard let maxAge = expected.maxAge else { return }
        guard let found else { throw Self.refusal("expected 'auth_time', since 'max_age' was sent, found none") }
        let age = currentTime(for: claims.members).date.timeIntervalSince1970 - found
        let leeway = common.leeway.seconds
        guard age >= -leeway, age <= Double(maxAge) + leeway else {
            throw Self.refusal("expected a sign-in at most \(maxAge) s ago, found one \(Int(age)) s ago")
        }
    }

    func checkTimes(_ claims: Claims, _ common: ClaimsVerifier) throws {
        try common.checkTimes(claims.members, at: currentTime(for: claims.members)) { [serverClock] in
            Self.skew($0, serverClock)
        }
    }

    /// Returns the time with which the token's times are compared, and whose clock it is: the provider's if it is known
    /// and plausible, otherwise this machine's.
    ///
    /// A proxy may have written the `Date` of a response. So if the token was issued just now by this machine's clock, and
    /// not by the other one, this machine's is that of the issuer.
    private func currentTime(for claims: JSON.Object) -> (date: Date, clock: String) {
        let now = now()
        let own = (date: now.wall, clock: "this computer’s clock")
        guard let theirs = serverClock?.time(at: now) else { return own }
        func isNow(_ clock: Date) -> Bool? {
            claims["iat"]?.double.map { abs(clock.timeIntervalSince1970 - $0) <= client.idTokenRules.leeway.seconds }
        }
        return isNow(own.date) == true && isNow(theirs.date) == false ? own : theirs
    }

    private static func skew(_ message: String, _ serverClock: ServerClock?) -> AuthError {
        let measured =
            serverClock.map { "According to the provider’s Date field, \($0.skewDescription)" }
            ?? "Check this computer’s clock (timedatectl)"
        return AuthError(.clockSkew, .idToken, "invalid ID token: \(message). \(measured)", isTemporary: true)
    }
}
