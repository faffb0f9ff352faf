internal import AppAuth
internal import FoundationEssentials
internal import Glibc
internal import JOSE

/// The default folder for sessions, with a file per issuer and client, and the notes of the sessions in the keyring:
/// see `KeyringNotes.swift`.
struct StateFolder: Sendable {
    /// The path: `$XDG_STATE_HOME/sign-in`, or `~/.local/state/sign-in` (XDG Base Directory Specification).
    let path: String

    /// A stored session, or the error of reading it.
    struct Entry: Sendable {
        let store: any TokenStore
        let record: Result<AuthStateRecord, AuthError>

        /// The issuer and client id of the session, if they are known.
        var name: (issuer: String, clientID: String)? {
            if case .success(let record) = record { return (record.client.provider.issuer.string, record.client.id) }
            let parts = (store as? KeyringTokenStore).flatMap { StateFolder.parts($0.account) }
            return parts.map { ($0.issuer.string, $0.clientID) }
        }
    }

    init() throws {
        if let folder = Self.variable("XDG_STATE_HOME"), folder.hasPrefix("/") {
            path = folder + "/sign-in"
        } else if let home = Self.variable("HOME") {
            path = home + "/.local/state/sign-in"
        } else {
            throw AuthError(.store, .store, "the environment has neither HOME nor XDG_STATE_HOME: set one of them")
        }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the store of an issuer's client.
    func store(issuer: Issuer, clientID: String) -> FileTokenStore {
        FileTokenStore(path: file(issuer, clientID) + ".json")
    }

    /// Returns the path for an issuer's client, without an extension.
    ///
    /// The name contains both, encoded as in a form, so `sign-in token` finds the file without starting libcrypto. A
    /// name too long for a file system is a digest, which has no `+` as all others do.
    func file(_ issuer: Issuer, _ clientID: String) -> String {
        // An issuer contains no space.
        let name = FormParameters.encode("\(issuer.string) \(clientID)")
        guard name.utf8.count > 200 else { return "\(path)/\(name)" }
        return "\(path)/\(Base64URL.encode(Digest.sha256.hash(name)))"
    }

    /// Returns all stores that may hold a session, by name.
    func stores() throws -> [any TokenStore] {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
        return try names().sorted().compactMap { name in
            if name.hasSuffix(".json") { return FileTokenStore(path: "\(path)/\(name)") }
            return name.hasSuffix(".keyring") ? Self.keyring(notedIn: "\(path)/\(name)") : nil
        }
    }

    private func names() throws -> [String] {
        do { return try FolderNames.read(path) } catch {
            throw AuthError(.store, .store, "\(path) cannot be read: \(error.text)", outcome: .notSent)
        }
    }

    /// Reads the stored sessions, without prompting the user to unlock the keyring. It reads all at the same time, since a
    /// keyring service that does not respond takes the whole time of each store.
    static func entries(_ stores: [any TokenStore]) async throws -> [Entry] {
        try await withThrowingTaskGroup(of: (Int, Entry?).self) { group in
            for (index, store) in stores.enumerated() { group.addTask { (index, try await entry(store)) } }
            var entries = [Entry?](repeating: nil, count: stores.count)
            for try await (index, entry) in group { entries[index] = entry }
            return entries.compactMap { $0 }
        }
    }

    private static func entry(_ store: any TokenStore) async throws -> Entry? {
        var reader = store
        if var keyring = store as? KeyringTokenStore {
            keyring.mayPrompt = false
            reader = keyring
        }
        do {
            let record = try await TokenStoreCall.$expectsSession.withValue(expectsSession(in: store)) { [reader] in
                try await reader.load()
            }
            return record.map { Entry(store: store, record: .success($0)) }
        } catch let error as AuthError { return Entry(store: store, record: .failure(error)) }
    }
}

extension SessionOptions {
    /// Returns the store that the options select, with timeouts that fit a command's time limit; nil if no session matches.
    ///
    /// - Throws: ``WrongUsage`` if several sessions match the options.
    func find(within limit: Duration) async throws -> (any TokenStore)? {
        try await choose(limit)?.within(limit)
    }

    private func choose(_ limit: Duration) async throws -> (any TokenStore)? {
        let provider = try issuer.map { try Issuer($0) }
        let stores: [any TokenStore]
        switch store {
        case .file(let path): return FileTokenStore(path: path)
        case .memory: return MemoryTokenStore()
        case .keyring:
            if let provider, let clientID { return KeyringTokenStore.signIn(issuer: provider, clientID: clientID) }
            stores = try await KeyringTokenStore.allOfSignIn(within: limit)
        case nil:
            let folder = try StateFolder()
            if let provider, let clientID {
                let file = folder.store(issuer: provider, clientID: clientID)
                guard let keyring = folder.notedKeyring(issuer: provider, clientID: clientID) else { return file }
                guard access(file.path, F_OK) == 0 else { return keyring }
                stores = [file, keyring]
            } else {
                stores = try folder.stores()
            }
        }
        // With only one store there is nothing to choose, so it is not read here.
        if issuer == nil, clientID == nil, stores.count < 2 { return stores.first }
        let entries = try await StateFolder.entries(stores.map { $0.within(limit) }).filter { entry in
            guard let name = entry.name else { return issuer == nil && clientID == nil }
            return (issuer ?? name.issuer) == name.issuer && (clientID ?? name.clientID) == name.clientID
        }
        guard entries.count > 1 else { return entries.first?.store }
        let choices = Self.choices(entries)
        throw WrongUsage("several sessions are stored, choose one: \(choices.joined(separator: ", or "))")
    }

    /// Returns the session in the store that ``find(within:)`` has found.
    ///
    /// - Throws: ``AuthError`` if a named file has the session of another issuer or client.
    func restore(_ store: any TokenStore, _ environment: Environment) async throws -> AuthState? {
        guard let state = try await StateFolder.restore(store, environment) else { return nil }
        let client = await state.record.client
        guard matches(client) else {
            throw AuthError(
                .invalidConfiguration, .store,
                "\(store.location) has the session of \(client.id) at \(client.provider.issuer). Use --issuer and "
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
    private static func choices(_ entries: [StateFolder.Entry]) -> [String] {
        let names = entries.map { entry in entry.name.map { "--issuer \($0.issuer) --client-id \($0.clientID)" } }
        return zip(entries, names).map { entry, name in
            let isAlone = names.filter { $0 == name }.count == 1
            if let name, isAlone { return name }
            if let name, entry.store is KeyringTokenStore { return "--store keyring \(name)" }
            return "--store \(entry.store is KeyringTokenStore ? "keyring" : entry.store.location)"
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
        guard let store = try await find(within: limit),
            let state = try await restore(store, console.environment)
        else {
            throw AuthError(
                .signInRequired, .store, "not signed in. Sign in with: sign-in login", outcome: .notSent)
        }
        do { return try await work(state) } catch {
            let pause = Duration.milliseconds(250)
            while !(error is CancellationError), await state.hasUnsavedTokens, ContinuousClock.now + pause < deadline {
                guard (try? await Task.sleep(for: pause)) != nil else { break }
                _ = try? await state.freshAccessToken()
            }
            await settle(state, console)
            throw error
        }
    }

    /// Waits for a refresh in flight, because the provider may have replaced the refresh token already. Reports it to a
    /// user who waits.
    private func settle(_ state: AuthState, _ console: Console) async {
        let note = Task {
            try await Task.sleep(for: Interrupts.grace)
            console.explain("finishing the refresh, press Ctrl-C again to give up")
        }
        await state.settle()
        note.cancel()
    }
}
