internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials
internal import JOSE
internal import Logging

/// The command `sign-in logout`.
struct Logout: Command {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Revokes the tokens, ends the session and removes it from the store.",
        discussion: "Example: sign-in logout --profile work")

    @Flag(name: .customLong("revoke-only"), help: "Revoke the tokens without opening the browser.")
    var revokeOnly = false
    @Flag(help: "Only remove the session here, without contacting the provider.")
    var local = false
    @Flag(name: .customLong("no-browser"), help: "Show a URL that ends the session instead of starting a browser.")
    var noBrowser = false
    @Flag(help: "If the stored session is damaged or cannot be decrypted, set it aside under a new name.")
    var discard = false
    @Flag(help: "Sign out of all stored sessions, one after another.")
    var all = false
    @Flag(help: "Also forget the profile: its name, and the options of its sign-in.")
    var forget = false
    @Option(
        name: .customLong("post-logout-redirect-uri"), parsing: .unconditional,
        help: """
            The post-logout redirect URI that is registered for the client: a loopback URI, or none. \
            (default: the one from 'sign-in register', otherwise the redirect URI of the sign-in)
            """)
    var postLogoutRedirect: PostLogoutRedirectArgument?
    @Option(
        name: .customLong("redirect-https"), parsing: .unconditional, help: .certificate, completion: .file())
    var certificateFile: String?
    @Option(name: .customLong("redirect-key"), parsing: .unconditional, help: .certificateKey, completion: .file())
    var keyFile: String?
    @Option(
        name: .customLong("revocation-endpoint"), parsing: .unconditional,
        help: "The URL of the revocation endpoint, if the provider’s metadata has none.")
    var revocationEndpoint: String?
    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(60) }
    /// The session must be removed even if the provider never responds.
    var endsInTime: Bool { false }
    var endsBrowserSession: Bool { !local && !revokeOnly }

    func validate() throws {
        guard !revokeOnly || !local else { throw ValidationError("--revoke-only and --local exclude each other") }
        if keyFile != nil, certificateFile == nil { throw ValidationError.keyWithoutCertificate }
        let isNamed = session.profile != nil || session.issuer != nil || session.clientID != nil || session.store != nil
        guard !all || !isNamed else { throw ValidationError("--all takes no option that names a session") }
        // RFC 7009 §2.1: a token goes only to the server that issued it.
        guard !all || (revocationEndpoint == nil && postLogoutRedirect == nil) else {
            throw ValidationError(
                "--all takes no --revocation-endpoint and no --post-logout-redirect-uri, which belong to one provider")
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        guard !all else { return try await signOutOfAll(until: deadline, console) }
        let profile = try session.chosenProfile
        let known = try? profile?.known
        // A misspelled profile has no session, but the user's session goes on.
        let isDamaged = forget && profile?.isDamaged == true
        if let profile, !isDamaged, try !profile.hasFile { try profile.checkIsKnown() }
        let store = try await withTimeout(limit, .store, "the store did not respond") {
            isDamaged ? try profile?.likelyStore.within(limit) : try await session.find(within: limit)
        }
        var signedOut = SignedOut()
        if let store {
            let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
            do {
                signedOut = try await signOut(
                    of: store, of: profile, within: rest, endsBrowserSession: endsBrowserSession, console)
            } catch let error as AuthError
                where local && forget && error.isOfClosedKeyring && (profile ?? StateFolder.profile(of: store)) != nil
            {
                // It may never open again, for example after the password of the login was changed elsewhere.
                console.say("\(error.message.asSentence). \(store.shownLocation.foundText) stays in the keyring.")
                if let keyring = store as? KeyringTokenStore { try StateFolder().removeNote(of: keyring) }
            }
        }
        // Whose session it was, if its place is named after a profile.
        let named = store.flatMap(StateFolder.profile).flatMap { named in
            signedOut.record.map(named.hasSession) != false ? named : nil
        }
        if let source = named ?? profile, signedOut.hadSession {
            try await signOut(ofSessionsFrom: source, until: deadline, console)
        }
        // The provider decides how long the sign-out takes. Another session is there if the user has signed in again.
        let isBack = signedOut.hadSession ? try await store?.load() != nil : false
        let isReused = (try? profile?.known)?.id != known?.id
        // A session that the profile has left behind in another store says nothing about it.
        let left = named.flatMap { named in store.flatMap { named.hasSession(in: $0) ? named : nil } }
        let forgotten = forget && !isBack && !isReused ? profile ?? left : nil
        try forgotten?.forget()
        if isDamaged, let profile, !signedOut.hadSession { throw profile.hasLostItsSession }
        var lines = signedOut.hadSession ? ["Signed out."] : []
        if let forgotten { lines.append("Forgot the profile \(forgotten.name).") }
        if lines.isEmpty {
            let profiles = try await session.profilesOfClient(within: limit)
            lines = [
                profiles.isEmpty
                    ? "No such session is stored."
                    : "No such session is stored without a profile. To sign out of the session of a profile: "
                        + profiles.map { "sign-in logout \($0)" }.joined(separator: ", or ")
            ]
        }
        try console.succeed(.object(signedOut.json), text: lines.joined(separator: " "))
        return 0
    }

    /// Signs out of the session in a store, unless it is not that of the profile. It is also a success if there is none.
    ///
    /// - Parameter limit: The session is removed even if that is nothing.
    func signOut(
        of store: any TokenStore, of profile: Profile?, within limit: Duration, endsBrowserSession: Bool,
        _ console: Console
    ) async throws -> SignedOut {
        let deadline = ContinuousClock.now + limit
        let (state, discarded) = try await withTimeout(limit, .store, "the store did not respond") {
            if discard, all { try await refuseIfEncrypted(store) }
            let discarded = discard ? try await StateFolder.discard(store, console) : nil
            return (try await self.state(in: store, of: profile, console.environment), discarded)
        }
        var signedOut = SignedOut(
            store: store, isOneOfSeveral: all, record: await state?.record, discarded: discarded)
        if let state, let record = signedOut.record {
            let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
            let note = WaitingNote(within: rest)
            defer { note.stop() }
            var signOut = signOut(record, in: store, signedOut.prefix, note, console, limit: rest)
            signOut.endsBrowserSession = endsBrowserSession
            signedOut.report = try await signOut.run(state)
        }
        if let store = store as? KeyringTokenStore {
            // The session is gone: a note that stays only costs a look into the keyring.
            do { try StateFolder().removeNote(of: store) } catch let error as AuthError { console.note(error.message) }
        }
        sayWhatIsNotConfirmed(signedOut, console)
        return signedOut
    }

    /// Signs out of the sessions that come from a profile's, without which they cannot be renewed.
    private func signOut(
        ofSessionsFrom source: Profile, until deadline: ContinuousClock.Instant, _ console: Console
    ) async throws {
        // The options about the session are about that of the profile.
        var plain = self
        (plain.session.profile, plain.session.issuer, plain.session.clientID, plain.session.store) = (
            nil, nil, nil, nil
        )
        (plain.revocationEndpoint, plain.postLogoutRedirect, plain.discard) = (nil, nil, false)
        for entry in try await source.sessionsFromIt(within: .seconds(5)) {
            let rest = max(.seconds(5), ContinuousClock.now.duration(to: deadline))
            do {
                let ended = try await plain.signOut(
                    of: entry.store, of: entry.profile, within: rest, endsBrowserSession: false, console)
                let resource = ended.record?.resources.first ?? ended.location
                console.say(
                    "Signed out of \(resource.shownURL) too: its session came from the profile \(source.name).")
            } catch let error as AuthError {
                // The profile's own session is gone all the same.
                console.note("\(entry.store.shownLocation) came from the profile \(source.name): \(error.message)")
            }
        }
    }

    /// Throws if the session is encrypted with another passphrase. It is not damaged: name it, to set it aside.
    private func refuseIfEncrypted(_ store: any TokenStore) async throws {
        do { _ = try await store.load() } catch let error as AuthError where error.storeProblem == .encryption {
            throw error
        } catch {}
    }

    /// Ends the session in the browser, after it was removed here.
    func endBrowserSession(
        _ signedOut: SignedOut, within limit: Duration, _ console: Console
    ) async throws -> SignedOut {
        guard let record = signedOut.record, let store = signedOut.store else { return signedOut }
        let note = WaitingNote(within: limit)
        defer { note.stop() }
        var signOut = signOut(record, in: store, signedOut.prefix, note, console, limit: limit)
        signOut.revokesTokens = false
        signOut.observe = { [observe = signOut.observe] event in
            if case .removed = event { return }
            observe(event)
        }
        var signedOut = signedOut
        let state = try await AuthState(
            record: record, store: MemoryTokenStore(), environment: console.environment)
        let report = try await signOut.run(state)
        signedOut.report.sessionEnded = report.sessionEnded
        signedOut.report.endSessionError = report.endSessionError
        sayWhatIsNotConfirmed(signedOut, console)
        return signedOut
    }

    private func state(
        in store: any TokenStore, of profile: Profile?, _ environment: Environment
    ) async throws -> AuthState? {
        let state = try await session.restore(store, of: nil, environment)
        if let profile, let record = await state?.record, !profile.hasSession(record) { return nil }
        guard let revocationEndpoint, let record = await state?.record else { return state }
        var client = record.client
        client.provider = try client.provider.with(.revocation, at: revocationEndpoint)
        return try await AuthState(
            restoring: store, as: client,
            environment: environment.suiting(record, as: record.profileSignIn) ?? environment)
    }

    private func signOut(
        _ record: AuthStateRecord, in store: any TokenStore, _ prefix: String, _ note: WaitingNote, _ console: Console,
        limit: Duration
    ) -> SignOut {
        // Before the session is removed, which the line names.
        let signIn = try? session.line(store, record, console, by: SignInLine.commands[0])
        var signOut = SignOut(appName: "sign-in")
        signOut.pages = CompletionPages(appName: "sign-in", inTerminal: true)
        signOut.timeout = limit
        signOut.revokesTokens = !local
        signOut.endsBrowserSession = endsBrowserSession
        signOut.postLogoutRedirect = postLogoutRedirect?.redirect ?? Self.privateUse(record) ?? .automatic
        signOut.redirectCertificate =
            .init(file: certificateFile, key: keyFile) ?? (try? StateFolder.profile(of: store)?.signIn)?.certificate
        if noBrowser { signOut.browser = nil }
        // No redirect reaches a command from the browser of another machine.
        signOut.waitsWithoutBrowser = false
        signOut.observe = { event in
            switch event {
            case .browserObstacle(let obstacle): note.tell(obstacle, console)
            case .openingBrowser:
                if console.isExplaining { Explanation().showEndSession() }
                console.say("Ending the session in the browser…")
            case .endSession(let url):
                if console.isExplaining { Explanation().showEndSession() }
                console.say("Open this URL in your browser to end the session there too:")
                console.say("  \(url.quotedAgainstJobs)")
            case .waiting(let uri):
                note.start(console) {
                    Self.sayWhatToCompare(uri, record, console)
                    if postLogoutRedirect == nil, let signIn { Self.sayHowToFixThePort(of: uri, signIn, console) }
                }
            case .foreignRedirect:
                note.stop()
                console.sayOnce(
                    "The browser came back without the state of this sign-out, which some providers leave out. You may be signed "
                        + "out there, but nothing confirms it. Ctrl-C ends the wait.")
            case .removed:
                console.log("store: removed the session")
                if local { Self.sayWhatStaysValid(record, [], prefix, console) }
            case .revoked(let revocations):
                // Reported before the wait for the browser, which the user may interrupt.
                Self.sayWhatStaysValid(record, revocations, prefix, console)
            }
        }
        return signOut
    }

    /// Returns the sign-in's redirect URI if it has a private-use scheme and the client has not registered others.
    private static func privateUse(_ record: AuthStateRecord) -> SignOut.PostLogoutRedirect? {
        guard record.client.registration == nil, let uri = record.redirectURI else { return nil }
        let redirect = try? PrivateUseRedirect(ofSignIn: uri)
        return redirect.map { .privateUse($0) }
    }
}

/// The post-logout redirect: `none` or a loopback URI.
struct PostLogoutRedirectArgument: ExpressibleByArgument, Sendable {
    let redirect: SignOut.PostLogoutRedirect

    init?(argument: String) {
        if argument == "none" {
            redirect = .nowhere
        } else {
            guard let url = try? SecureURL(argument), url.isLoopback else { return nil }
            redirect = .uri(argument)
        }
    }
}
