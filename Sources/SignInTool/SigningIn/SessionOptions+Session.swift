internal import AppAuth

extension SessionOptions {
    /// Returns the store that the options select, with timeouts that fit a command's time limit; nil if no session matches.
    ///
    /// - Throws: ``WrongUsage`` if several sessions match the options.
    func find(within limit: Duration) async throws -> (any TokenStore)? {
        try await choose(limit)?.within(limit)
    }

    /// The profile that applies: the named one, or if nothing names a session, the one in use.
    var chosenProfile: Profile? {
        get throws {
            let namesSession = issuer != nil || clientID != nil || store != nil
            return try Profile.chosen(profile, lineNamesSession: namesSession)
        }
    }

    private func choose(_ limit: Duration) async throws -> (any TokenStore)? {
        if let profile = try chosenProfile { return try profile.store }
        let client = try issuer.flatMap { issuer in try clientID.map { (try Issuer(issuer), $0) } }
        let stores: [any TokenStore]
        switch (store, client) {
        case (.file, _), (.encrypted, _): return try store?.file
        case (.entry(let name), _): return name.keyring
        case (.memory, _): return MemoryTokenStore()
        case (.keyring, (let issuer, let id)?):
            // The keyring can do without the folder.
            stores = ((try? StateFolder().stores(of: issuer, id)) ?? []).filter { $0 is KeyringTokenStore }
            if stores.isEmpty { return SessionName.client(issuer, id).keyring }
        case (.keyring, nil): stores = try await KeyringTokenStore.allOfSignIn(within: limit)
        case (nil, (let issuer, let id)?): stores = try StateFolder().stores(of: issuer, id)
        case (nil, nil): stores = try StateFolder().stores()
        }
        // With only one store there is nothing to choose, so it is not read here.
        if client != nil || (issuer == nil && clientID == nil), stores.count < 2 { return stores.first }
        let entries = try await StateFolder.entries(stores.map { $0.within(limit) }).filter { entry in
            // A session that cannot be read may be this one.
            guard let name = entry.name else { return true }
            return (issuer ?? name.issuer) == name.issuer && (clientID ?? name.clientID) == name.clientID
        }
        guard entries.count > 1 else { return entries.first?.store }
        throw WrongUsage(
            "several sessions are stored, choose one", choosing: Self.choices(entries).map { .init(words: $0) })
    }

    /// Returns the session in the store that ``find(within:)`` has found.
    ///
    /// - Throws: ``AuthError`` if a named file has the session of another issuer or client, or the profile’s place that of
    ///   another profile.
    func restore(
        _ store: any TokenStore, of profile: Profile?, _ environment: Environment
    ) async throws -> AuthState? {
        guard let state = try await StateFolder.restore(store, environment) else { return nil }
        try profile?.requireSession(await state.record, in: store)
        let client = await state.record.client
        guard matches(client) else {
            throw AuthError(
                .invalidConfiguration, .store,
                "\(store.shownLocation) has the session of \(client.id.shownName) at \(client.provider.issuer). Use --issuer and "
                    + "--client-id for that session, or leave them out")
        }
        return state
    }

    /// Whether the options may mean a session of this client.
    func matches(_ client: Client) -> Bool {
        (issuer ?? client.provider.issuer.string) == client.provider.issuer.string
            && (clientID ?? client.id) == client.id
    }

    /// Returns the options that select each session.
    static func choices(_ entries: [StateFolder.Entry]) -> [String] {
        let names = entries.map { entry in
            // Only the resource has named the issuer of such a session. Users would repeat it to sign in, and agree to it; and
            // the same client may have another session.
            guard entry.profile == nil, !entry.isForResource, let name = entry.name else { return [String]?.none }
            return SignInLine.words(issuer: name.issuer, clientID: name.clientID)
        }
        return entries.indices.map { index in
            if let profile = entries[index].profile { return "--profile \(profile.name)" }
            if let name = names[index], names.filter({ $0 == name }).count == 1 { return name.shellLine }
            return ["--store", entries[index].store.shownLocation].shellLine
        }
    }

    /// Runs the work with the session that the options select.
    ///
    /// If the work throws or is cancelled, a refresh in flight may still finish, because the server may have replaced
    /// the refresh token already. If the store has rejected new tokens, they are saved again until the time limit,
    /// because they would be lost with this process.
    func withState<Value: Sendable>(
        _ console: Console, within limit: Duration, _ work: (AuthState) async throws -> Value
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        let store = try await find(within: limit)
        return try await withState(console, in: store, within: deadline - .now, work)
    }

    /// As the function above, with the store that ``find(within:)`` has found.
    func withState<Value: Sendable>(
        _ console: Console, in store: (any TokenStore)?, within limit: Duration,
        _ work: (AuthState) async throws -> Value
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        let (store, state) = try await state(console, in: store, within: limit)
        do { return try await work(state) } catch {
            let pause = Duration.milliseconds(250)
            while !(error is CancellationError), await state.hasUnsavedTokens, ContinuousClock.now + pause < deadline {
                guard (try? await Task.sleep(for: pause)) != nil else { break }
                _ = try? await state.freshAccessToken()
            }
            await settle(state, console)
            guard let error = error as? AuthError else { throw error }
            throw try await advised(error, state, store, console)
        }
    }

    /// Returns the session in the store that ``find(within:)`` has found, and the store.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/signInRequired`` and the way to sign in, if there is none.
    func state(
        _ console: Console, in store: (any TokenStore)?, within limit: Duration
    ) async throws -> (any TokenStore, AuthState) {
        guard let store, let state = try await restored(store, console) else {
            throw AuthError(
                .signInRequired, .store, "not signed in\(try await wayToSignIn(store, console, limit))",
                outcome: .notSent)
        }
        return (store, state)
    }

    /// Restores the session. The line that sets a damaged one aside names its profile: it may be pasted where another profile
    /// is in use, whose session is whole.
    private func restored(_ store: any TokenStore, _ console: Console) async throws -> AuthState? {
        let chosen = try chosenProfile
        do {
            let state = try await restore(store, of: chosen, console.environment)
            // The keyring has no folders: where nothing but its place names a session, that may be a profile of another state
            // folder.
            if chosen == nil, self.store?.namesSession != true, let record = await state?.record,
                Profile.with(record.profileID) == nil
            {
                try StateFolder.profile(of: store)?.requireSession(record, in: store)
            }
            return state
        } catch var error as AuthError where error.storeProblem == .damaged {
            if profile == nil, let chosen { error.message = error.message(for: ["--profile", chosen.name]) }
            throw error
        }
    }

    /// Waits for a refresh in flight, because the provider may have replaced the refresh token already. Reports it to a
    /// user who waits.
    func settle(_ state: AuthState, _ console: Console) async {
        let note = Task {
            try await Task.sleep(for: Interrupts.grace)
            console.explain("finishing the refresh, press Ctrl-C again to give up")
        }
        await state.settle()
        note.cancel()
    }
}

extension StateFolder {
    /// Returns the session in the store, with what its profile names: the network, and the client's secret.
    static func restore(_ store: any TokenStore, _ environment: Environment) async throws -> AuthState? {
        let call = TokenStoreCall(expectsSession: expectsSession(in: store))
        let state = try await AuthState(restoring: store, call: call, environment: environment)
        guard let record = await state?.record else { return state }
        let signIn = record.profileSignIn
        let client = signIn.flatMap(record.client.withSecret(of:))
        let suiting = environment.suiting(record, as: signIn)
        guard client != nil || suiting != nil else { return state }
        return try await AuthState(restoring: store, call: call, as: client, environment: suiting ?? environment)
    }
}

extension AuthStateRecord {
    /// The sign-in that the session's profile remembers; nil without a profile, or if it cannot be read.
    var profileSignIn: SignInLine? { (try? Profile.with(profileID)?.signIn) ?? nil }
}
