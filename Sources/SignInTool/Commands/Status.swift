internal import AppAuth
internal import ArgumentParser

/// The command `sign-in status`.
struct Status: Command {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Lists the sessions and profiles, without tokens. * marks the profile in use.",
        discussion: "Example: sign-in status\n\n'sign-in accounts' lists only the profiles, in a line each.")

    @Option(
        parsing: .unconditional, help: "List only the session of this profile. If it is not signed in, fail.",
        completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(parsing: .unconditional, help: "List only the sessions at this issuer.")
    var issuer: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "List only the sessions of this client.")
    var clientID: String?
    @Option(
        parsing: .unconditional,
        help: "List what is stored there: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(stored:))
    var store: StoreChoice?
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if profile != nil, store != nil { throw ValidationError("--profile and --store exclude each other") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let (listed, unreadable) = try await list(console, limit)
        var result: JSON.Object = ["sessions": .array(listed.filter { $0.record != nil }.map(\.json))]
        let signedOut = listed.filter { $0.record == nil }
        if !signedOut.isEmpty { result["signed_out"] = .array(signedOut.map(\.json)) }
        if !unreadable.isEmpty { result["unreadable"] = .array(unreadable) }
        guard let profile, !listed.contains(where: \.isSignedIn) else {
            try console.succeed(.object(result), text: Self.text(listed.map { advised($0, console) }))
            return 0
        }
        if !json { try console.print(Array((Self.text(listed) + "\n").utf8)) }
        let command = (try? profile.signIn)?.words.first ?? SignInLine.commands[0]
        let line = ["sign-in", command, "--profile", profile.name].shellLine
        console.fail(
            code: AuthError.Code.signInRequired.rawValue,
            "the profile is not signed in. Sign in with: \(line)")
        return 1
    }

    /// Returns a session with the command line that signs in again, if it has ended.
    private func advised(_ session: ListedSession, _ console: Console) -> ListedSession {
        guard let record = session.record, !session.isSignedIn else { return session }
        var options = SessionOptions()
        (options.profile, options.issuer, options.clientID, options.store) = (session.profile, nil, nil, store)
        var session = session
        session.signIn = try? options.line(session.store, record, console)
        return session
    }

    static func text(_ listed: [ListedSession]) -> String {
        listed.isEmpty ? "No session is stored." : listed.map(\.text).joined(separator: "\n\n")
    }

    /// Returns the sessions and the profiles that are signed out. What cannot be read is noted.
    func list(_ console: Console, _ limit: Duration) async throws -> (listed: [ListedSession], unreadable: [JSON]) {
        // A misspelled profile is an error, not one that is signed out.
        if let profile, try !profile.hasFile { try profile.checkIsKnown() }
        let stores = try await stores(limit)
        let isOfStore = store != nil
        var inUse: Profile?
        // What is wrong about the choice hides no session: the user chooses among them.
        do { inUse = try Profile.chosen(nil, lineNamesSession: false) } catch  where isOfStore {} catch {
            console.note((error as? AuthError)?.message ?? (error as? WrongUsage)?.message ?? "\(error)")
        }
        let entries = try await StateFolder.entries(stores)
        var unreadable: [(store: any TokenStore, profile: Profile?, error: AuthError)] = []
        let listed = stores.compactMap { store, profile -> ListedSession? in
            let entry = entries.first { $0.store.location == store.location && $0.profile == profile }
            if case .failure(let error)? = entry?.record {
                unreadable.append((store, profile, error))
                return nil
            }
            guard entry != nil || (profile != nil && !isOfStore) else { return nil }
            let isInUse = profile != nil && profile == inUse
            return ListedSession(store: store, profile: profile, isInUse: isInUse, record: try? entry?.record.get())
        }.filter { (issuer ?? $0.issuer) == $0.issuer && (clientID ?? $0.clientID) == $0.clientID }
        // A system without any keyring is no error.
        if profile == nil, !isOfStore {
            unreadable.removeAll { [.noLibrary, .noBus, .noService].contains($0.error.storeProblem) }
        }
        func message(_ store: any TokenStore, _ error: AuthError) -> String {
            error.message(for: ["--store", store.shownLocation])
        }
        // If nothing can be read, "no session" would be a guess.
        if !listed.contains(where: { $0.record != nil }), let last = unreadable.popLast() {
            for (store, _, error) in unreadable { console.note(message(store, error)) }
            var error = last.error
            // The hint is complete: it names the session, which the arguments may not.
            (error.message, error.storeProblem) = (message(last.store, error), nil)
            throw error
        }
        let reasons = unreadable.map { store, profile, error in
            let reason = message(store, error)
            console.note(reason)
            var json: JSON.Object = ["store": .string(store.shownLocation), "reason": .string(reason)]
            if let profile { json["profile"] = .string(profile.name) }
            return JSON.object(json)
        }
        return (listed, reasons)
    }

    private func stores(_ limit: Duration) async throws -> [(store: any TokenStore, profile: Profile?)] {
        func named(_ stores: [any TokenStore]) -> [(store: any TokenStore, profile: Profile?)] {
            stores.map { ($0, StateFolder.profile(of: $0)) }
        }
        if let profile { return [(try profile.store.within(limit), profile)] }
        return switch store {
        case nil: try StateFolder.storesWithProfiles().map { ($0.store.within(limit), $0.profile) }
        case .entry(let name): named([name.keyring.within(limit)])
        case .keyring: named(try await KeyringTokenStore.allOfSignIn(within: limit))
        case .file, .encrypted: named([try store?.file].compactMap(\.self))
        case .memory: []
        }
    }
}
