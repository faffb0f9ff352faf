internal import AppAuthConcurrency
public import AppAuthProtocol
internal import Logging

/// The end of an app's use of a session.
extension AuthState {
    /// Waits until a refresh that was sent has failed or its new refresh token is stored, but no longer than the limit.
    /// Tries once more to store what the store has rejected.
    ///
    /// Call it before the end of a process in which a caller was cancelled: the caller returns at once, and the refresh
    /// that it leaves behind has used up its refresh token. This method waits even in a cancelled task. It also waits
    /// for changes of the client's registration and for revocations. It does not wait for a refresh that waits
    /// for the refresh lock, nor for the verification of a response whose refresh token is stored.
    ///
    /// - Parameter limit: The default is longer than a refresh in which every request times out (30 s each).
    public func settle(atMost limit: Duration = .seconds(90)) async {
        guard exposures.isTaken || registering?.running != nil || unsaved != nil || revoking != nil else {
            return
        }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        Task {
            try? await exposures.turn().end()
            await registering?.settle()
            // An attempt in progress may fail for a reason that no longer holds, for example an unanswered prompt.
            let wasSaving = saves > 0
            if (try? await save()) == nil, wasSaving { try? await save() }
            await revoking?.value
            end.finish()
        }
        let clock = Task {
            try await Task.sleep(for: limit)
            end.finish()
        }
        await Task { for await _ in ends {} }.value
        clock.cancel()
    }

    /// Signs the user out of this app: revokes the tokens (RFC 7009), ends the session and removes it from the store.
    ///
    /// The session ends only after the revocations. No later response brings it back, here or in another process. A
    /// newer session in the store stays. The session in the browser stays too: `SignOut` in AppAuth ends it.
    ///
    /// - Parameter revokingTokens: Whether to revoke the tokens. If false, nothing is sent, except to
    ///   revoke the tokens that a running refresh brings.
    /// - Returns: One entry for each token that was to be revoked, with the error if its revocation failed or if the
    ///   endpoint could not be looked up; none if the provider has no revocation endpoint, or if another sign-in has
    ///   replaced the session in the store.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the session could not be removed; `CancellationError`
    ///   if the task is cancelled and the removal or a revocation does not finish within two seconds. In both cases, the
    ///   session in memory has ended.
    @discardableResult
    public func signOut(revokingTokens: Bool = true) async throws -> [TokenRevocation] {
        let revocations = revokingTokens ? await revokeTokens() : []
        try await forget()
        return revocations
    }

    /// Tells the provider that the tokens will not be used again (RFC 7009): the refresh token, then all access
    /// tokens at the same time, also those for other scopes and resources.
    ///
    /// The session here stays as it is; ``forget()`` ends it. Nothing is thrown: a sign-out goes on even if this fails.
    ///
    /// - Returns: As ``signOut(revokingTokens:)``.
    package func revokeTokens() async -> [TokenRevocation] {
        // Another process may have refreshed the session: revoke its tokens. If another sign-in has replaced the
        // session, revoke nothing: several providers then end all grants of the client, including the new one.
        if await replacement(isUnattended: false) != nil { return [] }
        let tokens = record.revocable
        revoked.formUnion(tokens.map(\.value))
        return await revoke(tokens)
    }

    /// Reads the store without a prompt, and returns whether it has another session at the same provider. The browser may
    /// be signed in for that session.
    package func isReplacedAtProvider() async -> Bool {
        guard let later = await replacement(isUnattended: true), later.end == nil else { return false }
        return later.client.provider.issuer == record.client.provider.issuer
    }

    private func replacement(isUnattended: Bool) async -> AuthStateRecord? {
        (try? await readReplacement(isUnattended: isUnattended)) ?? nil
    }

    func revoke(_ tokens: [RevocableToken]) async -> [TokenRevocation] {
        await RevocationEndpoint(client: record.client, environment: environment).revoke(tokens)
    }

    /// Ends the session here and removes it from the store. Tokens that a refresh has brought since ``revokeTokens()``
    /// are revoked.
    ///
    /// - Throws: As ``signOut(revokingTokens:)``.
    package func forget(because reason: String = "signed out") async throws {
        end(because: reason)
        let (ends, finish) = AsyncThrowingStream.makeStream(of: Never.self)
        Task {
            do {
                try await save()
                await revoking?.value
                finish.finish()
            } catch { finish.finish(throwing: error) }
        }
        // A caller that is cancelled during the sign-out is still signed out, unless the store takes too long for a
        // cancelled caller.
        try await withTaskCancellationHandler {
            try await Task { for try await _ in ends {} }.value
        } onCancel: {
            Task {
                try await Task.sleep(for: .seconds(2))
                finish.finish(throwing: CancellationError())
            }
        }
    }

    /// Ends the session in memory, and leaves its removal to the next save. It takes no refresh lock, whose holder may be
    /// stopped. A refresh that runs finds the end with its next call.
    private func end(because reason: String) {
        // The first sign-out knows the tokens.
        if unsaved?.isSignOut == true { return }
        let (before, wasAuthorized) = (record, isAuthorized)
        record.end(reason, at: environment.now().wall)
        if wasAuthorized, let end = record.end { publish(.ended(end)) }
        setUnsaved(.signedOut, before, nil)
        show()
    }

    /// Revokes tokens that will not be used, after all earlier revocations. A sign-out and ``settle(atMost:)`` wait for it.
    func beginRevoking(_ revoke: @escaping @Sendable () async -> Void) {
        environment.logger.notice("session: revoking tokens that are no longer needed")
        revoking = Task { [previous = revoking] in
            await previous?.value
            await revoke()
        }
    }

    /// Ends the session if the provider has ended it.
    ///
    /// - Parameter isNamed: Whether the provider's message names the session of an ID token.
    /// - Returns: Whether the session was ended by this call; false if it was over already.
    package func endByProvider(if isNamed: (IDToken) -> Bool) async throws -> Bool {
        // Another process may have stored or ended the session.
        let later = await replacement(isUnattended: false)
        let (known, reason) = (record, "the provider has ended it")
        var hasEnded = false
        // A session that has ended in memory may still be in a store that rejected its removal.
        if record.end == nil || unsaved != nil, let idToken = record.idToken, isNamed(idToken) {
            try await forget(because: reason)
            hasEnded = true
        }
        // Or the message may name a later sign-in of the same user, which a refresh would go on with.
        if let later, later.succeeds(known), let idToken = later.idToken, isNamed(idToken) {
            try await AuthState(stored: later, store: store, environment: environment)
                .forget(because: reason)
            hasEnded = true
        }
        return hasEnded
    }
}

extension EndSessionRequest {
    /// Creates a request to sign out of a stored session; see ``init(client:idToken:postLogoutRedirectURI:)``.
    public init(record: AuthStateRecord, postLogoutRedirectURI: String?) throws {
        try self.init(client: record.client, idToken: record.idToken, postLogoutRedirectURI: postLogoutRedirectURI)
    }
}
