internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import Logging

/// The refresh of a session, in the order in which it happens.
extension AuthState {
    /// All callers with the same requirement share one run (`SingleFlight`), in a task that is never cancelled.
    func refresh(_ need: SessionRules.TokenRequirement) async throws -> AccessToken {
        do { return try await renew(need) } catch let error as AuthError {
            // The grant is over, or only what this caller requests is refused: the session's own tokens, once they have
            // expired, find out.
            if error.code == .invalidGrant, need.parameters != .session {
                let own = SessionRules.TokenRequirement(began: environment.now())
                do { _ = try await renew(own) } catch let end as AuthError where end.code == .signInRequired {
                    throw end
                } catch {}
            }
            // The refresh was early: a token that is still valid is better than an error.
            guard isOpen, let token = record.token(for: need.parameters),
                need.acceptsForNow(token, at: environment.now())
            else { throw error }
            if error.code == .store { publish(.refreshFailed(error)) }
            return token
        }
    }

    private func renew(_ need: SessionRules.TokenRequirement) async throws -> AccessToken {
        // Another process may have refreshed. Not every store can lock, so this comes first.
        if let token = try await read(need, .unlocked).token { return token }
        let held: HeldLock
        switch try await lockOrToken(need) {
        case .token(let token): return token
        case .lock(let lock): held = lock
        }
        // An unsaved change may need the lock for longer.
        defer { withExtendedLifetime(held) {} }
        while true {
            // Another process may have had the lock before. Then no room is needed.
            if let token = try await read(need, .held).token { return token }
            // The decisive read, and before it the store makes room for what will come.
            let attempt: SessionRules.Attempt
            switch try await read(need, .held, preparingUnder: held.lock).action {
            case .send(let next): attempt = next
            case .handOut(let token): return token
            case .fail(let error): throw error
            case .decideAgain, .waitForLock, .done: continue
            }
            // From here until its successor is stored, the refresh token must not be lost: `settle` waits for it.
            let exposure = try await exposures.turn()
            defer { exposure.end() }
            // Another holder may be sending this refresh token, or may have used it up.
            guard held.lock.isHeld else { throw lockWasLost }
            let event: SessionRules.Event
            switch await sendRefresh(attempt) {
            case .failure(let error): event = .failed(attempt, error, jitter: environment.jitter())
            case .success(let response):
                if response.refreshToken == nil { exposure.end() }
                var outcome = SessionRules.IDTokenVerification.absent
                // OpenID Connect Core §12.2: without an earlier ID token, there is nothing to compare the new one with.
                if response.idToken != nil, record.idToken != nil {
                    // Fetching keys may take seconds, and the process may die. If the store rejects this, the write below
                    // includes it.
                    if response.refreshToken != nil {
                        switch try? await change(.received(attempt, response), under: held.lock).action {
                        case .decideAgain?: continue
                        case .fail(let error)?: throw error
                        case .some: exposure.end()
                        case nil: break
                        }
                    }
                    outcome = await verify(response)
                }
                event = .completed(attempt, response, idToken: outcome, jitter: environment.jitter())
            }
            switch try await change(event, under: held.lock, isKept: true).action {
            case .handOut(let token): return token
            case .fail(let error): throw error
            case .decideAgain, .send, .waitForLock, .done: continue
            }
        }
    }

    private var lockWasLost: AuthError {
        AuthError(
            .store, .store, "the refresh lock of \(store.location) was lost before the refresh token was sent",
            outcome: .notSent, isTemporary: true)
    }

    // MARK: - The request

    /// Sends the refresh token (RFC 6749 §6) or the grant: once, unless the server demands another DPoP proof (RFC 9449 §8),
    /// or refuses what the request names, and another one may be what it wants, or the endpoint has moved.
    func sendRefresh(_ attempt: SessionRules.Attempt) async -> Result<TokenResponse, AuthError> {
        environment.logger.info("refresh: refreshing the access token")
        let (form, wanted) = (record.refreshForm, attempt.need.parameters)
        func send(_ form: RefreshForm) async -> (TokenParameters, Result<TokenResponse, AuthError>) {
            var parameters = wanted
            do {
                let request: TokenRequest
                switch attempt.credential {
                case .grant(let grant):
                    let whole = try await grant.withAssertion(for: record.client, in: environment, .refresh)
                    request = try .present(whole, parameters)
                case .refreshToken(let token):
                    parameters = form.parameters(
                        wanted, scope: record.scope, withheld: record.withheldScope, resources: record.resources,
                        at: record.client.provider)
                    request = try .refresh(token, parameters)
                }
                var endpoint = ClientEndpoint(client: record.client, environment: environment, proof: proof)
                endpoint.known = [record.accessToken?.value].compactMap(\.self)
                return (parameters, .success(try await endpoint.send(request, stage: .refresh)))
            } catch { return (parameters, .failure(Self.authError(error))) }
        }
        let url = url(of: .token)
        var (sent, result) = await send(form)
        if case .failure(let error) = result, await hasMoved(.token, from: url, since: error, .refresh) {
            (sent, result) = await send(form)
        }
        guard attempt.refreshToken != nil, case .failure(let error) = result,
            let other = form.after(error, to: sent, wanted: wanted, scope: record.scope)
        else { return result }
        environment.logger.info("refresh: refused as it was requested, so it is requested in another way: \(error)")
        return await send(other).1.map { response in
            var response = response
            response.refreshForm = other
            return response
        }
    }

    // MARK: - The lock

    /// The refresh lock, and the turn of its caller in this process. An unsaved change keeps the lock, although the turn is over.
    typealias HeldLock = (turn: TaskQueue.Turn, lock: RefreshLock)

    private enum LockOrToken: Sendable { case lock(HeldLock), token(AccessToken) }

    /// The lock, or the token or the error that its holder has stored meanwhile, whichever comes first.
    private func lockOrToken(_ need: SessionRules.TokenRequirement) async throws -> LockOrToken {
        try await firstResult {
            .lock(try await self.lock())
        } or: {
            .token(try await self.poll(need))
        }
    }

    /// Waits for the refresh lock. In this process, callers take turns. An unsaved change has the lock, and goes first.
    func lock() async throws -> HeldLock {
        let turn = try await lockTurns.turn()
        try await save()
        let lock = try await store.convertingErrors { [store] in
            try await store.refreshLock(TokenStoreCall(expectsSession: true))
        }
        return (turn, lock)
    }

    /// As ``lock()``, with an error that names the holder after a while.
    func lock(within limit: Duration) async throws -> HeldLock {
        try await firstResult {
            try await self.lock()
        } or: { [environment, store] in
            try await environment.sleepAwake(limit)
            throw await store.lockIsHeld(for: limit)
        }
    }

    /// Reads the store from time to time, while another caller or process has the lock. Its holder may be stopped.
    private func poll(_ need: SessionRules.TokenRequirement) async throws -> AccessToken {
        let patience = environment.lockPatience
        var left = patience.limit
        while left > .zero {
            // Only the pauses count. While the machine sleeps, the holder cannot go on either.
            try await environment.sleepAwake(min(patience.pause, left))
            left -= patience.pause
            // A later read may succeed.
            guard let decision = try? await read(need, .waiting, isUnattended: true) else { continue }
            if let token = try decision.token { return token }
        }
        throw await store.lockIsHeld(for: patience.limit)
    }
}

extension SessionRules.Decision {
    /// The token to hand out; nil if there is more to do.
    var token: AccessToken? {
        get throws {
            switch action {
            case .handOut(let token): token
            case .fail(let error): throw error
            case .waitForLock, .send, .decideAgain, .done: nil
            }
        }
    }
}
