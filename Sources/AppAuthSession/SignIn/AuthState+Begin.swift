internal import AppAuthProtocol

extension AuthState {
    /// Requests tokens, and verifies, confirms and stores them. If they cannot be stored in the end, they are revoked:
    /// otherwise they would stay valid for months, and no sign-out could reach them. For the same reason, the tokens of
    /// the session that they replace are revoked.
    ///
    /// Nothing is revoked if that could end the session that stays, see ``AuthStateRecord/mayShareGrant(with:)``. The
    /// revocation of a replaced session goes on after the return; ``settle(atMost:)`` waits for it.
    ///
    /// - Parameters:
    ///   - store: The store for the session. An existing session is replaced.
    ///   - replaceable: The session that may be replaced; nil for the one that the store has now.
    ///   - confirm: A last step of the app before the session is stored, which may use the session.
    ///   - requested: Returns the response of the token endpoint.
    ///   - verified: Verifies it.
    /// - Returns: The session with the record that was stored.
    static func begin(
        as client: Client, proof: DPoP?, in store: any TokenStore, if replaceable: Replaceable?,
        environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }, requested: () async throws -> TokenResponse,
        verified: (TokenResponse) async throws -> AuthStateRecord
    ) async throws -> AuthState {
        let replaceable = if let replaceable { replaceable } else { await Replaceable(in: store) }
        var unused: [RevocableToken] = []
        var failed: AuthStateRecord?
        var isConfirmed = false
        do {
            let tokens = try await requested()
            unused = tokens.revocable
            var record = try await verified(tokens)
            failed = record
            record.profileID = replaceable.profileID
            let state = AuthState(
                stored: record, store: MemoryTokenStore(record), environment: environment, proof: proof)
            let result: Result<Void, any Error>
            do { result = .success(try await confirm(state)) } catch { result = .failure(error) }
            // The app may have left a refresh behind, whose response has the only valid refresh token.
            await state.settle()
            let confirmed = await state.record
            unused = confirmed.revocable
            try result.get()
            isConfirmed = true
            // The app may have used the session in `confirm`, and ignored that it ended there.
            if let end = confirmed.end { throw SessionRules.signInRequired(end.reason) }
            let replaced = try await store.replace(with: confirmed, if: replaceable)
            let session = AuthState(stored: confirmed, store: store, environment: environment, proof: proof)
            if let replaced, replaced.end == nil, !replaced.mayShareGrant(with: confirmed) {
                // The user is signed in, and does not wait for the provider of before.
                await session.beginRevoking { await revoke(replaced.revocable, of: replaced.client, environment) }
            }
            return session
        } catch {
            var error = error
            if var rejected = error as? AuthError {
                // After a refused ID token, the tokens may be another user's: do not use them, not even for a revocation.
                // (The tokens of a refused refresh are revoked: that grant was this user's.)
                if failed == nil, rejected.stage == .idToken { throw error }
                // A response that cannot be used may have brought a refresh token all the same.
                if let token = rejected.rotatedRefreshToken { unused = RevocableToken.tokens(token, []) }
                rejected.rotatedRefreshToken = nil
                error = rejected
                // The app has refused another user, whose other session may share the grant.
                if rejected.code == .sessionReplaced, !isConfirmed { throw error }
            }
            if unused.isEmpty { throw error }
            await revoke(unused, of: client, environment) { [failed] in
                // The user may have dismissed a prompt of this store a moment ago.
                let stored = try await store.load(TokenStoreCall(isUnattended: true))
                guard let stored, stored.end == nil else { return true }
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
