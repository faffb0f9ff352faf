internal import JOSE
internal import Logging

// The ID tokens of a sign-in: from the token endpoint, and from the browser.

extension JWTVerifier {
    /// Verifies the ID token in a response of the token endpoint. Returns nil if `openid` was not requested, or
    /// only for a resource at a server without keys.
    ///
    /// - Parameter expected: The values of the request; the access token is added here.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken`` if a required ID token is missing
    ///   (Core §3.1.3.3), and as ``idToken(_:_:serverClock:)``.
    package func idToken(
        of tokens: TokenResponse, scope: [Scope], _ expected: IDTokenVerifier.Expectations
    ) async throws -> IDToken? {
        guard scope.contains(.openID), !client.idTokenRules.areIgnored else { return nil }
        guard let token = tokens.idToken else {
            throw AuthError(
                .invalidIDToken, .idToken, "expected an ID token, since the scope contains 'openid', found none")
        }
        var expected = expected
        expected.accessToken = tokens.accessToken
        return try await idToken(token, expected, serverClock: tokens.serverClock)
    }

    /// Verifies the ID token that came with the code (response type `code id_token`, Core §3.3), and that it is for this
    /// code and this state.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: As ``idToken(_:_:serverClock:)``.
    package func idToken(with grant: AuthorizationGrant, for request: AuthorizationRequest) async throws -> IDToken? {
        guard let token = grant.idToken else { return nil }
        var expected = IDTokenVerifier.Expectations(request: request)
        expected.isFromBrowser = true
        (expected.code, expected.state) = (grant.code, request.state)
        expected.requiresStateHash = request.options.requiresStateHash
        return try await idToken(token, expected, serverClock: nil)
    }

    /// Decrypts an ID token if it is encrypted, and verifies it by all steps of Core §3.1.3.7.
    ///
    /// - Parameter serverClock: The clock of the response with the token; nil if the browser brought the token, or if
    ///   the response had no `Date`. The clock of another response of the provider is then used, such as that with its
    ///   keys.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidIDToken``, temporary if a newer key may fit, or
    ///   ``AuthError/Code/clockSkew``; what fetching the keys throws; what ``Environment/decryptionKey`` throws.
    package func idToken(
        _ token: Secret, _ expected: IDTokenVerifier.Expectations, serverClock: ServerClock?
    ) async throws -> IDToken {
        var verifier = IDTokenVerifier(client: client)
        let signed: Secret
        do { signed = try await environment.signedToken(in: token) } catch let error as JOSEError {
            throw IDTokenVerifier.refusal("\(error)")
        }
        let common = verifier.commonChecks
        let (jws, idToken) = try verifier.parse(signed, common)
        try await checkSignature(
            of: jws, algorithms: verifier.algorithms(expected), refusal: IDTokenVerifier.refusal)
        verifier.now = environment.now
        verifier.serverClock = serverClock ?? environment.serverClocks.clock(of: client, at: environment.now())
        try verifier.check(idToken, algorithm: jws.header.alg, expected, common)
        let nonce = expected.nonce == nil ? "" : ", with the nonce that was sent"
        environment.logger.info(
            "idToken: it is signed by the provider (\(jws.header.alg)), for this client\(nonce), and not expired")
        return idToken
    }
}

extension IDToken {
    /// Core §3.3.3.6: both tokens of a sign-in must have the same issuer and subject.
    package func requireSameUser(as other: IDToken?) throws {
        guard let other, !isAbout(userOf: other) else { return }
        throw IDTokenVerifier.refusal(
            "expected the 'iss' and 'sub' of the ID token that came with the code, found others")
    }
}
