internal import JOSE

/// The result of checking the ID token of a refresh (OpenID Connect Core §12.2).
///
/// Only ``Finding/refused(_:)`` withholds the access token that came with it. Each of these refusals protects the user:
/// the token is another user's, another client's or another sign-in's, or it is forged. If a token cannot be verified for
/// any other reason, none of its claims is used. The access token is good all the same: a response without an ID token
/// would have been accepted, too.
package struct RefreshedIDToken: Sendable {
    package enum Finding: Sendable {
        case verified(IDToken)
        /// It is the one before the refresh once more. Some providers repeat it, even after it has expired.
        case repeated
        case unverified(AuthError)
        /// If the error is ``AuthError/isForGood``, the provider has signed the token.
        case refused(AuthError)
    }

    /// What may lead to another finding.
    package enum Remedy: Sendable { case none, newerKeys, newerMetadata }

    package var finding: Finding
    package let remedy: Remedy

    /// Whether nothing of the response may be used.
    package var isRefusal: Bool { if case .refused = finding { true } else { false } }

    init(_ finding: Finding, remedy: Remedy = .none) { (self.finding, self.remedy) = (finding, remedy) }

    /// Returns the verified token: the new one, or the one before if it was repeated.
    func get(_ previous: IDToken) throws -> IDToken {
        switch finding {
        case .verified(let token): token
        case .repeated: previous
        case .unverified(let error), .refused(let error): throw error
        }
    }
}

extension IDTokenVerifier {
    /// Checks the ID token of a refresh, which is not encrypted any more, without I/O.
    ///
    /// - Parameters:
    ///   - token: The token in compact form.
    ///   - previous: The verified ID token before the refresh.
    ///   - keys: The provider's keys; nil if they are not known.
    func check(
        refreshed token: Secret, after previous: IDToken, _ expected: Expectations, keys: KeySet?
    ) -> RefreshedIDToken {
        guard token != previous.rawValue else { return RefreshedIDToken(.repeated) }
        var common = commonChecks
        // A refusal of the issuer or the audience follows the signature.
        (common.iss, common.aud) = (.ignored, .ignored)
        // Any member but those that say whose token it is may be missing.
        (common.exp, common.iat, common.nbf) = (.optional, .optional, .optional)
        let (jws, idToken): (JWS, IDToken)
        do {
            let parsed = try common.parse(token.reveal())
            (jws, idToken) = (parsed.jws, IDToken(rawValue: token, claims: Claims(parsed.claims)))
        } catch { return RefreshedIDToken(.unverified(Self.error(error))) }
        var refusal: AuthError?
        do { try checkContinuity(idToken, jws.header.alg, expected, previous) } catch { refusal = Self.error(error) }
        if let unsigned = checkSignature(of: jws, expected, keys) {
            guard var refusal, !unsigned.isRefusal else { return unsigned }
            // Only the provider's signature says that it is another user.
            refusal.isForeign = false
            return RefreshedIDToken(.refused(refusal), remedy: unsigned.remedy)
        }
        if var refusal {
            refusal.isForGood = true
            return RefreshedIDToken(.refused(refusal))
        }
        do {
            common.aud = .required
            try common.checkAudience(idToken.claims.members)
            _ = try common.seconds("auth_time", .optional, in: idToken.claims.members)
            try checkTimes(idToken.claims, common)
        } catch {
            // Some providers sign it again, for the new access token.
            var (new, old) = (idToken.claims.members, previous.claims.members)
            (new["at_hash"], old["at_hash"]) = (nil, nil)
            return RefreshedIDToken(new == old ? .repeated : .unverified(Self.error(error)))
        }
        return RefreshedIDToken(.verified(idToken))
    }

    /// Core §12.2, and at_hash (§3.1.3.8): what says that a token is this session's and belongs to this access token.
    ///
    /// `auth_time` is not among it. The provider may report a later sign-in of the user, for example for another app.
    private func checkContinuity(
        _ idToken: IDToken, _ algorithm: String, _ expected: Expectations, _ previous: IDToken
    ) throws {
        let claims = idToken.claims
        let common = ClaimsVerifier(client: client, refusal: Self.refusal)
        do { try common.checkIssuer(claims.members) } catch {
            var error = Self.error(error)
            error.message += ". If the provider has changed its issuer, sign in again with the new one"
            throw error
        }
        try common.checkAudience(claims.members)
        try checkAuthorizedParty(claims.members)
        try checkSubject(claims)
        try checkUser(idToken, previous)
        // The previous token may have omitted the nonce: the one that was sent counts too.
        if let nonce = claims.members[nonEmpty: "nonce"], nonce != previous.claims["nonce"] {
            guard let found = nonce.string, let sent = expected.nonce, Secret(found) == sent else {
                throw Self.refusal("expected the same 'nonce' as before the refresh, found another")
            }
        }
        try checkHash("at_hash", of: expected.accessToken, claims, algorithm, isRequired: false)
    }

    /// Another user ends the session. (With only one issuer, the check of the issuer has compared it.)
    private func checkUser(_ idToken: IDToken, _ previous: IDToken) throws {
        let isSameIssuer = client.idTokenRules.issuer == .exact || idToken.issuer.isExactly(previous.issuer)
        guard !isSameIssuer || !idToken.subject.isExactly(previous.subject) else { return }
        let name = isSameIssuer ? "sub" : "iss"
        var error = Self.refusal("expected the same \(name.foundText) as before the refresh, found another")
        error.isForeign = true
        throw error
    }

    /// Returns the result for a token whose signature is not valid; nil if it is.
    private func checkSignature(of jws: JWS, _ expected: Expectations, _ keys: KeySet?) -> RefreshedIDToken? {
        let (name, algorithms) = (jws.header.alg, algorithms(expected))
        do { try client.checkAlgorithm(name, isOneOf: algorithms) } catch {
            return RefreshedIDToken(.refused(Self.error(error)), remedy: .newerMetadata)
        }
        let finding: SignatureFinding
        do { finding = try client.checkSignature(of: jws, algorithms: algorithms, keys: keys) } catch {
            // The client secret is always there. Otherwise, it is not known which key to use, or how.
            let isWrong = MACAlgorithm(rawValue: name) != nil
            let error = Self.error(error)
            return RefreshedIDToken(isWrong ? .refused(error) : .unverified(error), remedy: .newerKeys)
        }
        var error = Self.refusal(finding.message)
        switch finding {
        case .valid: return nil
        case .keyDiffers: return RefreshedIDToken(.refused(error), remedy: .newerKeys)
        case .keyUnknown:
            error.isTemporary = true
            return RefreshedIDToken(.unverified(error), remedy: .newerKeys)
        }
    }

    static func error(_ error: any Error) -> AuthError { error as? AuthError ?? refusal("\(error)") }
}

extension JWTVerifier {
    /// Decrypts the ID token of a refresh if it is encrypted, and checks it with the provider's keys, which are fetched
    /// when needed.
    ///
    /// - Parameter willFetch: Called before something is fetched, and at the end if there is a remedy, with the refusal
    ///   that then holds unless the result is another; nil if there is none.
    /// - Returns: The result. If it has a remedy, no newer keys can be had now.
    package func check(
        refreshed token: Secret, after previous: IDToken, _ expected: IDTokenVerifier.Expectations,
        serverClock: ServerClock?, willFetch: (RefreshedIDToken?) -> Void
    ) async -> RefreshedIDToken {
        if JWE.hasForm(token.reveal()) { willFetch(nil) }
        let signed: Secret
        do { signed = try await environment.signedToken(in: token) } catch {
            let isReadable = error is AuthError || error is JOSEError
            return RefreshedIDToken(
                .unverified(
                    isReadable ? IDTokenVerifier.error(error) : IDTokenVerifier.refusal("it cannot be decrypted")))
        }
        var result = RefreshedIDToken(.repeated)
        do {
            let isFinal = try await tryKeys(refusal: IDTokenVerifier.refusal) { keys in
                var verifier = IDTokenVerifier(client: client)
                verifier.now = environment.now
                // The response with the keys may have reported the provider's clock.
                verifier.serverClock = serverClock ?? environment.serverClocks.clock(of: client, at: environment.now())
                result = verifier.check(refreshed: signed, after: previous, expected, keys: keys)
                guard case .newerKeys = result.remedy else { return true }
                willFetch(result.isRefusal ? result.withoutRemedy() : nil)
                return false
            }
            return isFinal ? result : result.withoutRemedy()
        } catch {
            return result.withoutRemedy(IDTokenVerifier.error(error))
        }
    }
}

extension RefreshedIDToken {
    /// Returns the result if newer keys or metadata cannot be had now. They may lead to another one later, so that a
    /// refusal is temporary.
    ///
    /// - Parameter error: Why. It takes the place of the reason for which the token was not verified.
    package func withoutRemedy(_ error: AuthError? = nil) -> RefreshedIDToken {
        var result = self
        switch finding {
        case .verified, .repeated: break
        case .unverified(let known): result.finding = .unverified(error ?? known)
        case .refused(var known):
            known.isTemporary = true
            result.finding = .refused(known)
        }
        return result
    }
}
