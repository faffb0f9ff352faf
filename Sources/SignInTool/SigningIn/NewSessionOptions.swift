internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// The options that name a new session.
struct NewSessionOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: """
            A name for the session and these options: with it alone, you can sign in again. (default: without --issuer, \
            SIGN_IN_PROFILE or the one that 'sign-in use' has chosen)
            """, completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(
        parsing: .unconditional, help: "Where to store the session: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @Flag(name: .customLong("no-profile"), help: "Sign in without a profile, also if one is in use.")
    var withoutProfile = false

    func validate() throws {
        if withoutProfile, profile != nil { throw ValidationError("--no-profile and --profile exclude each other") }
    }

    /// Returns the store for the session. After storing it, call ``note(_:_:)``.
    ///
    /// - Parameter unnamed: The name of the session without a profile.
    func store(_ unnamed: SessionName) throws -> any TokenStore {
        let name = profile.map(SessionName.profile) ?? unnamed
        let found = try store?.store(name) ?? StateFolder().store(name)
        // Before the user signs in.
        if case .encrypted? = store { try StorePassphrase.require() }
        return found
    }

    /// Throws if the sign-in would show an authorization server the client of another, which only the profile remembers.
    func requireSameServer(
        as issuer: String, of place: any TokenStore, clientID: String?, _ console: Console
    ) async throws {
        // Before the sign-in: afterwards, the options could not be stored.
        if profile != nil { _ = try SignInLine(console.arguments).remembered }
        if let profile, let clientID, !clientID.contains("://"), !SignInLine(console.arguments).namesSession,
            let former = try await latestIssuer(of: profile, in: place), !former.isExactly(issuer)
        {
            throw AuthError(
                .issuerMismatch, .configuration,
                "the client \(clientID.shownName) of the profile \(profile.name.foundText) belongs to "
                    + "\(former), and the resource is now protected by \(issuer). Name your client "
                    + "there with --client-id. With --issuer and this issuer, a client is registered, and you agree to sign in "
                    + "wherever it leads you", outcome: .notSent)
        }
    }

    /// Returns the issuer of a profile's latest sign-in.
    private func latestIssuer(of profile: Profile, in store: any TokenStore) async throws -> String? {
        if !profile.isDamaged, let known = try profile.known?.issuer { return known }
        return try await store.load()?.client.provider.issuer.string
    }

    /// Returns what the sign-in may replace, as it is when the command begins: servers decide how long it takes from then on.
    ///
    /// - Returns: Nil if only the server's responses name the session.
    /// - Throws: ``AuthError`` if the profile is for something else, or another one has its session there.
    func replaceable(_ console: Console) async throws -> Replaceable? {
        try profile?.requirePurpose(of: console.line)
        let name = profile.map(SessionName.profile)
        guard let place = try store?.file ?? name.map({ try store?.store($0) ?? StateFolder().store($0) }) else {
            return nil
        }
        return try await replaceable(in: place)
    }

    /// Returns what the sign-in may replace in its place.
    func replaceable(in place: any TokenStore) async throws -> Replaceable {
        var replaceable = await Replaceable(in: place)
        if let other = Profile.with(replaceable.profileID), other != profile {
            throw AuthError(
                .sessionReplaced, .store,
                "\(place.shownLocation) has the session of the profile \(other.name.foundText). Name another place with --store, "
                    + "or forget that profile first: sign-in logout --profile \(other.name) --forget", outcome: .notSent
            )
        }
        let known = profile?.isDamaged == true ? nil : try profile?.known
        replaceable.profileID = try profile.map { _ in try known?.id ?? Secret(randomBytes: 16).reveal() }
        return replaceable
    }

    /// Returns the profile's session at this issuer, which only its user may replace; nil for none.
    func former(in store: any TokenStore, at issuer: String) async throws -> AuthStateRecord? {
        guard profile != nil, let former = try await store.load(), former.client.provider.issuer.string == issuer
        else { return nil }
        return former
    }

    /// Throws if the new session is not that of the profile's user, or if another sign-in has created the profile in the
    /// meantime. A new profile is created here, before its session is stored.
    func confirm(_ new: AuthStateRecord, replacing former: AuthStateRecord?, _ console: Console) throws {
        guard let profile else { return }
        do { try former.map(new.requireUser) } catch var error as AuthError {
            error.message += ". To replace it, sign out of it first: sign-in logout --profile \(profile.name)"
            throw error
        }
        try profile.create(new.profileID, signIn: console.line.remembered)
    }

    /// Notes where the session is, and how the user has signed in. If that fails, the session is stored nevertheless.
    /// Says so if other commands will not use the session, because a profile is in use.
    func note(_ record: AuthStateRecord, in store: any TokenStore, _ console: Console) {
        StateFolder.note(store, console)
        sayIfAnotherIsInUse(record, in: store, console)
        let line = SignInLine(console.arguments)
        guard let profile else { return }
        // Options that only complete those of the profile apply once.
        let isNew = line.namesSession || (line.namesResource && (try? profile.signIn) == nil)
        do { try profile.remember(isNew ? line.remembered : nil, of: record) } catch {
            let why = (error as? AuthError)?.message ?? "\(error)"
            console.note("the options of the profile could not be stored: \(why)")
        }
    }
}

extension NewSessionOptions {
    private func sayIfAnotherIsInUse(_ record: AuthStateRecord, in place: any TokenStore, _ console: Console) {
        guard (try? StateFolder()) != nil else { return }
        let found: Profile?
        do { found = try Profile.chosen(nil, lineNamesSession: false) } catch let error as AuthError {
            return console.note(error.message)
        } catch { return }
        guard let inUse = found, inUse != profile else { return }
        let words: [String]
        switch (profile, store) {
        case (_, .memory?): return
        case (let profile?, _): words = ["--profile", profile.name]
        case (nil, let store?) where store.path != nil: words = ["--store", store.argument]
        // Only the resource has named the issuer. Users would repeat it to sign in, and agree to it; and the same client may have
        // another session.
        case _ where !record.resources.isEmpty: words = ["--store", place.shownLocation]
        default: words = SignInLine.words(issuer: record.client.provider.issuer.string, clientID: record.client.id)
        }
        let options = words.shellLine
        console.say("The profile \(inUse.name) is in use. For this session, add to other commands: \(options)")
    }
}
