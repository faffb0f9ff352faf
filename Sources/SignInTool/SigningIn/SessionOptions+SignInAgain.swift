internal import AppAuth

extension SessionOptions {
    /// Returns the error with the command line that mends it, if one does: with another client, or another sign-in.
    func advised(
        _ error: AuthError, _ state: AuthState, _ store: any TokenStore, _ console: Console
    ) async throws -> AuthError {
        let record = await state.record
        var error = error
        // Elsewhere, the client lacks a right, which no other sign-in gives it.
        if error.isAboutClient, !error.needsSignIn, error.code == .invalidClient || error.stage == .refresh {
            return try forgotten(error, record, store, console)
        }
        if error.stage == .refresh, !error.needsSignIn, record.backoff?.isRefusedAgain == true {
            let line = try line(store, record, console).shellLine
            error.message += ". If the provider no longer accepts the session, sign in with: \(line)"
            return error
        }
        let missing = error.missingScope(in: record)
        guard error.needsSignIn || error.isRejectionOfUserInfo && !record.renewsItself || !missing.isEmpty else {
            return error
        }
        let source = await record.signInToSource
        let line = try (source ?? line(store, record, console, requesting: missing)).shellLine
        // The line says it better than the library, which knows no command.
        // A server's words end with a quote.
        if error.saysToSignIn, let advice = error.message.ranges(of: ". Sign in again").last,
            !error.message[advice.lowerBound...].contains(where: { "'\"".contains($0) })
        {
            error.message.removeSubrange(advice.lowerBound...)
        }
        error.message += ". Sign in with: \(line)"
        return error
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
    func wayToSignIn(
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
        case .client?, .resource?: nil
        case nil: try chosenProfile
        }
    }

    /// The words for the provider and the client, of which there is no session.
    ///
    /// If only a resource has named the issuer, `--issuer` would be the user's agreement to it. A client that has no file may
    /// have had one, if sign-ins have registered others there: then nothing says whether it is the user's. Nor does anything for
    /// one that is published (`--client-document`).
    private func wordsOfClient(_ console: Console) -> [String] {
        let known = issuer.flatMap { try? RegisteredClients.all(at: $0) } ?? []
        let meant = clientID.map { id in known.filter { $0.client.id == id } } ?? known
        let resources = Set(meant.compactMap(\.resource))
        if meant.allSatisfy(\.isOurs), !resources.isEmpty {
            return resources.count == 1 ? resources.flatMap { [SignInLine.resource, $0] } : []
        }
        if let clientID, meant.isEmpty, clientID.contains("://") || known.contains(where: \.isOurs) { return [] }
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
            let place = store.map { ["--store", $0.argumentOfSignIn] } ?? []
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
        if let store, remembered == nil { words += ["--store", store.argumentOfSignIn] }
        if store == nil, profile == nil, found is KeyringTokenStore { words += ["--store", "keyring"] }
        // There is no session, and the command asks for what is missing.
        let line = SignInLine(words + console.wordsOfNetwork)
        return record == nil ? line : line.withItsOwnProfile
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
