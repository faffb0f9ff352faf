internal import AppAuthProtocol

extension AuthState {
    /// Verifies, confirms and stores tokens that have just arrived. If they cannot be stored in the end, they are
    /// revoked: otherwise they would stay valid for months, and no sign-out could reach them.
    ///
    /// - Parameters:
    ///   - tokens: The response of the token endpoint.
    ///   - store: The store for the session. An existing session is replaced. If there is one and this one fails,
    ///     nothing is revoked, since several providers would end the grant of the stored session too.
    ///   - confirm: A last step of the app before the session is stored, which may use the session.
    ///   - verified: Verifies the response.
    /// - Returns: The session with the record that was stored.
    static func begin(
        with tokens: TokenResponse, of client: Client, proof: DPoP?, in store: any TokenStore, environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }, verified: () async throws -> AuthStateRecord
    ) async throws -> AuthState {
        var unused = RevocableToken.tokens(tokens.refreshToken, tokens.accessToken)
        do {
            let record = try await verified()
            let state = AuthState(
                record: record, store: MemoryTokenStore(record), environment: environment, wasStored: true, proof: proof
            )
            let result: Result<Void, any Error>
            do { result = .success(try await confirm(state)) } catch { result = .failure(error) }
            // The app may have left a refresh behind, whose response has the only valid refresh token.
            await state.settle()
            let confirmed = await state.record
            unused = confirmed.revocable
            try result.get()
            try await store.replace(with: confirmed)
            return AuthState(
                record: confirmed, store: store, environment: environment, wasStored: true, proof: proof)
        } catch {
            // After a refused ID token, the tokens may be another user's: do not use them, not even for a revocation. (The
            // tokens of a refused refresh are revoked: that grant was this user's.)
            if let error = error as? AuthError, error.stage == .idToken { throw error }
            await revoke(unused, of: client, unlessStoredIn: store, environment)
            throw error
        }
    }

    /// Revokes tokens, unless the store has a session or cannot be read. Waits a few seconds at most for the provider,
    /// even in a cancelled task.
    private static func revoke(
        _ tokens: [RevocableToken], of client: Client, unlessStoredIn store: any TokenStore,
        _ environment: Environment
    ) async {
        let revocation = RevocationEndpoint(client: client, environment: environment)
        await Task {
            await withTaskGroup { group in
                group.addTask {
                    let stored: AuthStateRecord?
                    do { stored = try await store.load() } catch { return }
                    if stored == nil || stored?.end != nil { _ = await revocation.revoke(tokens) }
                }
                group.addTask { try? await Task.sleep(for: .seconds(5)) }
                await group.next()
                group.cancelAll()
            }
        }.value
    }
}
