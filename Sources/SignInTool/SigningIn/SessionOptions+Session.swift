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
        let provider = try issuer.map { try Issuer($0) }
        let stores: [any TokenStore]
        switch store {
        case .file, .encrypted: return try store?.file
        case .memory: return MemoryTokenStore()
        case .keyring:
            if let provider, let clientID { return SessionName.client(provider, clientID).keyring }
            stores = try await KeyringTokenStore.allOfSignIn(within: limit)
        case nil:
            let folder = try StateFolder()
            if let provider, let clientID {
                let file = folder.store(.client(provider, clientID))
                guard let keyring = folder.notedKeyring(.client(provider, clientID)) else { return file }
                guard StateFile.isThere(file.path) else { return keyring }
                stores = [file, keyring]
            } else {
                stores = try folder.stores()
            }
        }
        // With only one store there is nothing to choose, so it is not read here.
        if issuer == nil, clientID == nil, stores.count < 2 { return stores.first }
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
                    + "--client-id for that session, or leave them out",
                outcome: .notSent)
        }
        return state
    }

    private func matches(_ client: Client) -> Bool {
        (issuer ?? client.provider.issuer.string) == client.provider.issuer.string
            && (clientID ?? client.id) == client.id
    }

    /// Returns the options that select each session.
    static func choices(_ entries: [StateFolder.Entry]) -> [String] {
        let names = entries.map { entry in
            // Only the resource has named the issuer of such a session. Users would repeat it to sign in, and agree to it.
            let isForResource = (try? entry.record.get().resources.isEmpty) == false && entry.store is FileTokenStore
            guard entry.profile == nil, !isForResource, let name = entry.name else { return [String]?.none }
            return SignInLine.words(issuer: name.issuer, clientID: name.clientID)
        }
        return entries.indices.map { index in
            let (store, name) = (entries[index].store, names[index])
            if let profile = entries[index].profile { return "--profile \(profile.name)" }
            if let name, names.filter({ $0 == name }).count == 1 { return name.shellLine }
            guard store is KeyringTokenStore else { return ["--store", store.shownLocation].shellLine }
            return (["--store", "keyring"] + (name ?? [])).shellLine
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
            let record = await state.record
            // Elsewhere, the client lacks a right, which no other sign-in gives it.
            if let error = error as? AuthError, error.isAboutClient, !error.needsSignIn,
                error.code == .invalidClient || error.stage == .refresh
            {
                throw try forgotten(error, record, store, console)
            }
            if var error = error as? AuthError, error.stage == .refresh, !error.needsSignIn,
                record.backoff?.isRefusedAgain == true
            {
                let line = try line(store, record, console).shellLine
                error.message += ". If the provider no longer accepts the session, sign in with: \(line)"
                throw error
            }
            guard var required = error as? AuthError,
                required.needsSignIn || required.isRejectionOfUserInfo && !record.renewsItself
                    || !required.missingScope(in: record).isEmpty
            else { throw error }
            let missing = required.missingScope(in: record)
            let source = await record.signInToSource
            let command = try (source ?? line(store, record, console, requesting: missing)).shellLine
            // The line says it better than the library, which knows no command.
            // A server's words end with a quote.
            if required.saysToSignIn, let advice = required.message.ranges(of: ". Sign in again").last,
                !required.message[advice.lowerBound...].contains(where: { "'\"".contains($0) })
            {
                required.message.removeSubrange(advice.lowerBound...)
            }
            required.message += ". Sign in with: \(command)"
            throw required
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
        do { return try await restore(store, of: chosen, console.environment) } catch var error as AuthError
            where error.storeProblem == .damaged
        {
            if profile == nil, let chosen { error.message = error.message(for: ["--profile", chosen.name]) }
            throw error
        }
    }

    /// Returns the error with the way to replace a client that the provider no longer accepts, or its credentials.
    func forgotten(
        _ error: AuthError, _ record: AuthStateRecord, _ store: any TokenStore, _ console: Console
    ) throws -> AuthError {
        let issuer = record.client.provider.issuer.string
        let known = try RegisteredClients.find(issuer: issuer, clientID: record.client.id, for: record.resources)
        var error = error
        let line = try line(store, record, console).shellLine
        if let known, !known.isOurs, error.code != .listener {
            error.message += known.replacement(console)
        } else if error.code == .listener, known?.isOurs != true {
            error.message +=
                ". If the provider accepts other ports, name free ones with --redirect-port, and sign in with: \(line)"
        } else if let known, known.isOurs {
            error.message += ". For another registration, sign in with: \(line)"
        } else {
            error.message += ". If the provider has changed the client, sign in with: \(line)"
        }
        return error
    }

    /// Returns how to create the session that is not there, or which profiles have one of the same client.
    private func wayToSignIn(
        _ found: (any TokenStore)?, _ console: Console, _ limit: Duration
    ) async throws -> String {
        if let chosen = try chosenProfile, try chosen.signIn == nil {
            let isOfVariable = profile == nil && variable(Profile.variableInUse) != nil
            return ": \(try chosen.isUnknown)" + (isOfVariable ? ". \(Profile.variableInUse) names it" : "")
        }
        let profiles = try await profilesOfClient(within: limit)
        guard profiles.isEmpty else {
            return
                " without a profile. To use the session of a profile, name it: \(profiles.joined(separator: ", or "))"
        }
        let folder = try StateFolder()
        // A job of cron, for example, may have another folder than the user's shell.
        let place =
            store == nil && (try? folder.stores().isEmpty) == true ? ": there is no session in \(folder.path)" : ""
        let isInUse = try profile == nil && variable(Profile.variableInUse) == nil && chosenProfile != nil
        return (isInUse ? " with the profile in use, unless you choose none: sign-in use --none" : place)
            + ". Sign in with: \(try completed.line(found, nil, console).shellLine)"
    }

    /// The options; if they name nothing, those of the only profile that is signed out, or of the only registered client.
    private var completed: SessionOptions {
        get throws {
            guard try chosenProfile == nil, issuer == nil, clientID == nil, store == nil else { return self }
            var options = self
            // Only for the message: what cannot be read is not offered.
            let profiles = (try? Profile.all()) ?? []
            let clients = ((try? RegisteredClients.all()) ?? []).filter { !$0.isOurs }
            if profiles.count == 1 { options.profile = profiles[0] }
            if profiles.isEmpty, clients.count == 1 {
                (options.issuer, options.clientID) = (clients[0].client.provider.issuer.string, clients[0].client.id)
            }
            return options
        }
    }

    /// Returns the options that select the profiles with a session of the client that the options name.
    func profilesOfClient(within limit: Duration) async throws -> [String] {
        guard profile == nil, store == nil, let issuer, let clientID else { return [] }
        let stores = try StateFolder.storesWithProfiles().map { ($0.store.within(limit), $0.profile) }
        return try await Self.choices(
            StateFolder.entries(stores).filter { entry in
                entry.profile != nil && entry.name.map { $0 == (issuer, clientID) } == true
            })
    }

    /// The profile whose session is in the store; without a store, the one that applies.
    func profile(of found: (any TokenStore)?) throws -> Profile? {
        switch found.flatMap(StateFolder.name) {
        case .profile(let profile)?: profile
        case .client?: nil
        case nil: try chosenProfile
        }
    }

    /// The words for the provider and the client, of which there is no session.
    ///
    /// If only a resource has named the issuer, `--issuer` would be the user's agreement to it. A client that has no file may
    /// have had one, if sign-ins have registered others there: then nothing says whether it is the user's.
    private func wordsOfClient(_ console: Console) -> [String] {
        let known = issuer.flatMap { try? RegisteredClients.all(at: $0) } ?? []
        let named = known.first { $0.client.id == clientID }
        if let resource = named?.resource { return [SignInLine.resource, resource] }
        if clientID != nil, named == nil, known.contains(where: \.isOurs) { return [] }
        // On a terminal, it asks for what is missing.
        let isKnown = console.canConverse || issuer.map(RegisteredClients.mayHaveAny(at:)) ?? true
        return (issuer.map { ["--issuer", $0] } ?? [])
            + ((clientID ?? (isKnown ? nil : "ID")).map { ["--client-id", $0] } ?? [])
    }

    /// Returns the command line that signs in to a session again.
    ///
    /// - Parameters:
    ///   - missing: Scopes to request in addition.
    ///   - name: The command; nil for the one of the first sign-in.
    func line(
        _ found: (any TokenStore)?, _ record: AuthStateRecord?, _ console: Console, requesting missing: [Scope] = [],
        by name: String? = nil
    ) throws -> SignInLine {
        let profile = try profile(of: found)
        // The name belongs to another session now. What this one's server demands must not reach the server or the store of
        // that one.
        if let profile, let found, let record, !profile.hasSession(in: found) || !profile.hasSession(record) {
            let place = store.map { ["--store", $0.argument] } ?? []
            return SignInLine(record.signInAgain(requesting: missing, by: name) + place + console.wordsOfNetwork)
                .withItsOwnProfile
        }
        var words: [String]
        // With the profile's own options. It remembers the store too.
        let remembered = try? profile?.signIn
        if let remembered {
            // The profile completes the line. An issuer that only the profile remembers would be an agreement in it.
            words = [name ?? remembered.words[0]]
            if let record, !missing.isEmpty {
                words += ["--scope", record.scopeToRequestAgain.adding(missing).spaceDelimited ?? ""]
            }
        } else if let record {
            words = record.signInAgain(requesting: missing, by: name)
        } else {
            words = [name ?? SignInLine.commands[0]] + wordsOfClient(console)
        }
        if let profile { words += ["--profile", profile.name] }
        if let store, remembered == nil { words += ["--store", store.argument] }
        if store == nil, profile == nil, found is KeyringTokenStore { words += ["--store", "keyring"] }
        // There is no session, and the command asks for what is missing.
        let line = SignInLine(words + console.wordsOfNetwork)
        return record == nil ? line : line.withItsOwnProfile
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

extension ProviderMetadata {
    fileprivate var mayKnowOfflineAccess: Bool {
        isDiscovered && preset?.name != "google" && scopes?.contains(Scope.offlineAccess.rawValue) ?? true
    }
}

extension AuthError {
    /// Whether the message ends with that advice. The provider's own errors do not.
    fileprivate var saysToSignIn: Bool { [.signInRequired, .noRefreshToken, .noIDToken].contains(code) }

    /// The scopes without which the same sign-in would not help.
    fileprivate func missingScope(in record: AuthStateRecord) -> [Scope] {
        // OpenID Connect Core §5.3: the endpoint takes the access tokens of OpenID Connect.
        if isRejectionOfUserInfo { return record.scope.contains(.openID) ? [] : [.openID] }
        return switch code {
        // For an unknown scope, some providers show an error page. Google has another way.
        case .noRefreshToken: record.client.provider.mayKnowOfflineAccess ? [.offlineAccess] : []
        case .noIDToken: record.idToken == nil ? [.openID] : []
        default: []
        }
    }
}

extension StateFolder {
    /// Returns the session in the store.
    static func restore(_ store: any TokenStore, _ environment: Environment) async throws -> AuthState? {
        let call = TokenStoreCall(expectsSession: expectsSession(in: store))
        let state = try await AuthState(restoring: store, call: call, environment: environment)
        guard let provider = await state?.record.client.provider,
            let environment = environment.speaking(to: provider)
        else { return state }
        return try await AuthState(restoring: store, call: call, environment: environment)
    }
}
