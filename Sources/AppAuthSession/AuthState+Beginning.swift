package import AppAuthProtocol

extension AuthState {
    /// Verifies, confirms and stores the tokens that have just come. If they cannot be stored in the end, they are revoked:
    /// they would stay good for months, and no sign-out could reach them.
    ///
    /// - Parameters:
    ///   - tokens: What the token endpoint answered.
    ///   - store: Where the session goes. A session that is there is replaced. If there is one and this one fails, nothing is
    ///     revoked, since several providers would end the grant of the stored session too.
    ///   - confirm: A last step of the app's before the session is stored, which may use it.
    ///   - verified: Verifies what came.
    /// - Returns: What is stored.
    package static func begin(
        with tokens: TokenResponse, of client: Client, proof: DPoP?, in store: any TokenStore, environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }, verified: () async throws -> AuthStateRecord
    ) async throws -> AuthStateRecord {
        var unused = RevocableToken.tokens(tokens.refreshToken, tokens.accessToken)
        do {
            let record = try await verified()
            let state = AuthState(
                record: record, store: MemoryTokenStore(record), environment: environment, wasStored: true, proof: proof
            )
            let result: Result<Void, any Error>
            do { result = .success(try await confirm(state)) } catch { result = .failure(error) }
            let confirmed = await state.record
            unused = confirmed.revocable
            try result.get()
            try await store.replace(with: confirmed)
            return confirmed
        } catch {
            // What came with an ID token that is refused may be another person's: nothing of it is used for anything.
            if let error = error as? AuthError, error.stage == .idToken { throw error }
            await revoke(unused, of: client, unlessStoredIn: store, environment)
            throw error
        }
    }

    /// Waits for the provider a few seconds at most, also in a task that was cancelled.
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
