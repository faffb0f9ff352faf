internal import AppAuthProtocol
internal import Logging

/// The sending of a refresh, and the verification of its response.
extension AuthState {
    /// Sends the refresh token (RFC 6749 §6) or the grant: once, unless the server demands another DPoP proof (RFC 9449 §8).
    func sendRefresh(_ attempt: SessionRules.Attempt) async -> Result<TokenResponse, AuthError> {
        environment.logger.info("refresh: refreshing the access token")
        let endpoint = TokenEndpoint(client: record.client, environment: environment, proof: proof)
        do { return .success(try await endpoint.send(.renew(attempt), stage: .refresh)) } catch {
            return .failure(Self.authError(error))
        }
    }

    /// Verifies the ID token of a response.
    func verify(_ response: TokenResponse) async -> SessionRules.IDTokenOutcome {
        guard let token = response.idToken, let previous = record.idToken else { return .absent }
        do {
            let verified = try await verify(token, of: response, after: previous)
            return .verified(verified, keys: verifier.keys?.entry)
        } catch {
            let error = Self.authError(error)
            return error.isForeign ? .refused(error) : .unverifiable(error)
        }
    }

    /// Verifies the ID token of a refresh like the first one, and against it (OpenID Connect Core §12.2).
    private func verify(_ token: Secret, of response: TokenResponse, after previous: IDToken) async throws -> IDToken {
        var expected = IDTokenVerifier.Expectations(nonce: record.nonce)
        expected.accessToken = response.accessToken
        expected.previous = previous
        do { return try await verifier.idToken(token, expected, serverClock: response.serverClock) } catch let error
            as AuthError where !error.isForeign && ![.clockSkew, .timeout].contains(error.code)
        {
            guard await renewMetadata() else { throw error }
            return try await verifier.idToken(token, expected, serverClock: response.serverClock)
        }
    }

    /// Fetches the metadata for the verification of ID tokens again: the stored one may be as old as the session.
    /// Metadata that an app has put together stays.
    ///
    /// - Returns: Whether the metadata has changed.
    private func renewMetadata() async -> Bool {
        let old = record.client.provider
        guard old.isDiscovered else { return false }
        let policy = record.client.idTokenRules.issuer
        let discovery = Discovery(environment: environment)
        guard let found = try? await discovery.metadata(for: old.issuer, policy: policy) else { return false }
        let new = old.verifying(as: found)
        guard new != old, record.end == nil else { return false }
        // Another task may have adopted newer metadata meanwhile.
        guard record.client.provider == old else { return true }
        environment.logger.info("session: the provider's keys or algorithms for ID tokens have changed")
        var client = record.client
        client.provider = new
        take(.changed(client))
        return true
    }

    private static func authError(_ error: any Error) -> AuthError {
        error as? AuthError
            ?? AuthError(
                .transport, .refresh, "the request was cancelled", outcome: .perhapsProcessed, isTemporary: true)
    }
}

extension TokenRequest {
    fileprivate static func renew(_ attempt: SessionRules.Attempt) throws -> TokenRequest {
        switch attempt.credential {
        case .refreshToken(let token): try refresh(token, attempt.need.parameters)
        case .grant(let grant): try present(grant, attempt.need.parameters)
        }
    }
}
