internal import AppAuthProtocol

extension AuthState {
    /// Verifies, confirms and stores tokens that have just arrived. If they cannot be stored in the end, they are
    /// revoked: otherwise they would stay valid for months, and no sign-out could reach them. For the same reason, the
    /// tokens of the session that they replace are revoked.
    ///
    /// Nothing is revoked if that could end the session that stays, see ``AuthStateRecord/mayShareGrant(with:)``. The
    /// revocation of a replaced session goes on after the return; ``settle(atMost:)`` waits for it.
    ///
    /// - Parameters:
    ///   - tokens: The response of the token endpoint.
    ///   - store: The store for the session. An existing session is replaced.
    ///   - confirm: A last step of the app before the session is stored, which may use the session.
    ///   - verified: Verifies the response.
    /// - Returns: The session with the record that was stored.
    static func begin(
        with tokens: TokenResponse, of client: Client, proof: DPoP?, in store: any TokenStore, environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }, verified: () async throws -> AuthStateRecord
    ) async throws -> AuthState {
        var unused = tokens.revocable
        var failed: AuthStateRecord?
        do {
            let record = try await verified()
            failed = record
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
            let replaced = try await store.replace(with: confirmed)
            let session = AuthState(
                record: confirmed, store: store, environment: environment, wasStored: true, proof: proof)
            // If the replaced session is being moved, another store has it too.
            if let replaced, replaced.end == nil, replaced.move == nil, !replaced.mayShareGrant(with: confirmed) {
                // The user is signed in, and does not wait for the provider of before.
                await session.beginRevoking { await revoke(replaced.revocable, of: replaced.client, environment) }
            }
            return session
        } catch {
            // After a refused ID token, the tokens may be another user's: do not use them, not even for a revocation. (The
            // tokens of a refused refresh are revoked: that grant was this user's.)
            if let error = error as? AuthError, error.stage == .idToken { throw error }
            await revoke(unused, of: client, environment) { [failed] in
                guard let stored = try await store.load(), stored.end == nil else { return true }
                return failed.map { !stored.mayShareGrant(with: $0) } ?? false
            }
            throw error
        }
    }

    /// Revokes tokens, unless `mayRevoke` returns false or throws. Waits a few seconds at most for the provider, even in
    /// a cancelled task.
    private static func revoke(
        _ tokens: [RevocableToken], of client: Client, _ environment: Environment,
        if mayRevoke: @escaping @Sendable () async throws -> Bool = { true }
    ) async {
        let revocation = RevocationEndpoint(client: client, environment: environment)
        await Task {
            await withTaskGroup { group in
                group.addTask {
                    guard (try? await mayRevoke()) ?? false else { return }
                    _ = await revocation.revoke(tokens)
                }
                group.addTask { try? await Task.sleep(for: .seconds(5)) }
                await group.next()
                group.cancelAll()
            }
        }.value
    }
}
