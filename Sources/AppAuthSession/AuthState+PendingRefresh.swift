internal import AppAuthProtocol
internal import Logging

/// What goes to the provider in a refresh, and what is made of the response.
extension AuthState {
    /// What came of the refresh token that was sent.
    enum Presented: Sendable {
        case decided(SessionRules.Decision)
        /// The rotated refresh token is stored. The ID token has not been verified, and nothing is handed out before.
        case toVerify(SessionRules.Attempt, TokenResponse)
    }

    /// Sends the refresh token, once (RFC 6749 §6), or the grant, and stores the refresh token that takes its place.
    ///
    /// The verification of the ID token may fetch metadata and keys for minutes. A process that dies meanwhile must not take
    /// the only good refresh token with it, so that one is stored before.
    func present(_ need: SessionRules.TokenRequirement, under lock: RefreshLock) async throws -> Presented {
        let wanted = try await step(.wanted(need))
        guard case .present(let attempt) = wanted.action else { return .decided(wanted) }
        environment.logger.info("refresh: the access token is being refreshed")
        let response: TokenResponse
        do {
            response = try await TokenEndpoint(client: record.client, environment: environment, proof: proof)
                .send(.renew(attempt), stage: .refresh)
        } catch {
            let failed = SessionRules.Event.failed(attempt, Self.authError(error), jitter: .random(in: 0...1))
            return .decided(try await record(failed, under: lock))
        }
        guard response.idToken != nil, record.idToken != nil else {
            return .decided(try await verify(response, to: attempt, under: lock))
        }
        guard response.refreshToken != nil else { return .toVerify(attempt, response) }
        guard let received = try? await step(.received(attempt, response)) else {
            // The write after the verification has all of it, and is tried again.
            return .decided(try await verify(response, to: attempt, under: lock))
        }
        guard case .done = received.action else { return .decided(received) }
        return .toVerify(attempt, response)
    }

    /// Verifies a response, and stores what it is worth.
    func verify(
        _ response: TokenResponse, to attempt: SessionRules.Attempt, under lock: RefreshLock
    ) async throws -> SessionRules.Decision {
        let verdict: SessionRules.IDTokenOutcome
        do {
            let idToken = try await verifiedIDToken(of: response)
            verdict = .verified(idToken, keys: verification.keys?.entry)
        } catch {
            let error = Self.authError(error)
            verdict = error.isForeign ? .refused(error) : .unverifiable(error)
        }
        return try await record(.answered(attempt, response, verdict, jitter: .random(in: 0...1)), under: lock)
    }

    /// Core §12.2: an ID token that comes with a refresh is verified like the first one, and against it.
    private func verifiedIDToken(of response: TokenResponse) async throws -> IDToken? {
        guard let token = response.idToken, let previous = record.idToken else { return nil }
        var expected = IDTokenVerifier.Expectations(nonce: record.nonce)
        expected.accessToken = response.accessToken
        expected.previous = previous
        do { return try await verification.verify(token, expected, serverClock: response.serverClock) } catch let error
            as AuthError where !error.isForeign && ![.clockSkew, .timeout].contains(error.code)
        {
            guard await renewMetadata() else { throw error }
            return try await verification.verify(token, expected, serverClock: response.serverClock)
        }
    }

    /// Asks the provider anew by what its ID tokens are verified: what is stored may be as old as the session. What an app
    /// has put together stays.
    ///
    /// - Returns: Whether it is something else than was known.
    private func renewMetadata() async -> Bool {
        let old = record.client.provider
        guard old.isDiscovered else { return false }
        guard let found = try? await Discovery(environment: environment).metadata(for: old.issuer) else { return false }
        let new = old.verifying(as: found)
        guard new != old, record.end == nil else { return false }
        environment.logger.info("session: the provider verifies its ID tokens otherwise than before")
        var client = record.client
        client.provider = new
        let keys = new[.keys] == old[.keys] ? verification.keys?.entry : nil
        record.change(client)
        verification = IDTokenVerification(client: client, environment: environment, keys: keys)
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
        switch attempt.renewal {
        case .refreshToken(let token): try refresh(token, attempt.need.parameters)
        case .grant(let grant): try present(grant, attempt.need.parameters)
        }
    }
}
