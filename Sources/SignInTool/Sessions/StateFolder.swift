internal import AppAuth
internal import Glibc

/// The default folder for sessions, with a file per issuer and client, and the notes of the sessions in the keyring:
/// see `StateFolder+KeyringNotes.swift`.
struct StateFolder: Sendable {
    /// The path: `$XDG_STATE_HOME/sign-in`, or `~/.local/state/sign-in` (XDG Base Directory Specification).
    let path: String

    /// A stored session, or the error of reading it.
    struct Entry: Sendable {
        let store: any TokenStore
        /// The profile that the session belongs to.
        let profile: Profile?
        let record: Result<AuthStateRecord, AuthError>

        /// Whether the session is known to be for a resource: its issuer and client may be those of another session.
        var isForResource: Bool {
            if case .resource? = StateFolder.name(of: store) { return true }
            return (try? record.get().resources.isEmpty) == false
        }

        /// The issuer and client id of the session, if they are known.
        var name: (issuer: String, clientID: String)? {
            if case .success(let record) = record { return (record.client.provider.issuer.string, record.client.id) }
            switch StateFolder.name(of: store) {
            case .client(let issuer, let id)?, .resource(_, let issuer, let id)?: return (issuer.string, id)
            case .profile(let profile)?:
                guard let line = try? profile.signIn,
                    let issuer = line.value(of: "--issuer").flatMap({ try? Issuer($0) }),
                    let id = line.value(of: "--client-id")
                else { return nil }
                return (issuer.string, id)
            case nil: return nil
            }
        }
    }

    init() throws {
        if let folder = try PathVariable.value("XDG_STATE_HOME"), folder.hasPrefix("/") {
            path = folder + "/sign-in"
        } else if let home = try HomeFolder.variable() {
            path = home + "/.local/state/sign-in"
        } else {
            throw AuthError(.store, .store, "the environment has neither HOME nor XDG_STATE_HOME: set one of them")
        }
        // Sessions that are away are not missing.
        guard access(path, F_OK) != 0, errno == ENOENT, StateFile.isThere(path) else { return }
        throw AuthError(
            .store, .store, "\(path) is a link to a folder that does not exist. Is the disk mounted?", outcome: .notSent
        )
    }

    /// Returns the store of a session in a file.
    func store(_ name: SessionName) -> FileTokenStore { FileTokenStore(path: "\(path)/\(name.fileName).json") }

    /// Returns the profile that a store is named after.
    static func profile(of store: any TokenStore) -> Profile? {
        guard case .profile(let profile)? = name(of: store) else { return nil }
        return profile
    }

    /// Returns the name of the session that a store is for; nil for a file elsewhere, or one that is named after a digest.
    static func name(of store: any TokenStore) -> SessionName? {
        if let keyring = store as? KeyringTokenStore { return SessionName(account: keyring.account) }
        guard let file = store as? FileTokenStore, let folder = try? StateFolder(),
            file.path.hasPrefix(folder.path + "/"),
            let name = SessionName(fileName: String(file.path.dropFirst(folder.path.count + 1).dropLast(".json".count)))
        else { return nil }
        return folder.store(name).path == file.path ? name : nil
    }

    /// Returns a small file of this folder.
    func file(_ name: String, remedy: String) -> StateFile { StateFile(path: "\(path)/\(name)", remedy: remedy) }

    /// Returns all stores of this folder that may hold a session, by name.
    func stores() throws -> [any TokenStore] {
        try names().sorted().compactMap { name in
            if name.hasSuffix(".json") { return FileTokenStore(path: "\(path)/\(name)") }
            return name.hasSuffix(".keyring") ? try keyring(notedIn: name) : nil
        }
    }

    /// Returns the stores of a client's session without a profile: its own, or else those for resources. If there is none, its
    /// own file, which does not exist.
    func stores(of issuer: Issuer, _ clientID: String) throws -> [any TokenStore] {
        let own = ownStores(of: issuer, clientID)
        if !own.isEmpty { return own }
        let found = try stores().filter { store in
            switch Self.name(of: store) {
            case .resource(_, issuer, clientID)?: return true
            case .some: return false
            case nil:
                // A digest. One that cannot be read may be this session.
                guard let client = try? (store as? FileTokenStore)?.read()?.client else { return true }
                return client.provider.issuer == issuer && client.id == clientID
            }
        }
        return found.isEmpty ? [store(.client(issuer, clientID))] : found
    }

    /// Returns the stores that may hold the client's own session; none if there is no file and no note of it.
    func ownStores(of issuer: Issuer, _ clientID: String) -> [any TokenStore] {
        let name = SessionName.client(issuer, clientID)
        let file = store(name)
        return (StateFile.isThere(file.path) ? [file] : []) + (notedKeyring(name).map { [$0] } ?? [])
    }

    /// Returns all stores that may hold a session, and those of the profiles, which may be elsewhere, with the profiles.
    static func storesWithProfiles() throws -> [(store: any TokenStore, profile: Profile?)] {
        let folder = try StateFolder()
        let profiles = try Profile.all().map { profile in
            // A damaged profile does not hide the others.
            (store: try profile.likelyStore, profile: Optional(profile))
        }
        let others = try folder.stores().filter { store in
            !profiles.contains { $0.store.location == store.location }
        }
        return profiles + others.map { ($0, profile(of: $0)) }
    }

    /// The names of the files; none if there is no folder.
    func names() throws -> [String] {
        do { return try FolderNames.read(path) } catch  where error.number == ENOENT { return [] } catch {
            throw AuthError.unopened(path, path, "cannot be read", errno: error.number)
        }
    }

    /// Reads the stored sessions, without prompting the user to unlock the keyring. It reads all at the same time, since a
    /// keyring service that does not respond takes the whole time of each store.
    static func entries(_ stores: [(store: any TokenStore, profile: Profile?)]) async throws -> [Entry] {
        try await withThrowingTaskGroup(of: (Int, Entry?).self) { group in
            for (index, (store, profile)) in stores.enumerated() {
                group.addTask { (index, try await entry(store, profile)) }
            }
            var entries = [Entry?](repeating: nil, count: stores.count)
            for try await (index, entry) in group { entries[index] = entry }
            return entries.compactMap { $0 }
        }
    }

    static func entries(_ stores: [any TokenStore]) async throws -> [Entry] {
        try await entries(stores.map { ($0, profile(of: $0)) })
    }

    private static func entry(_ store: any TokenStore, _ profile: Profile?) async throws -> Entry? {
        var reader = store
        if var keyring = store as? KeyringTokenStore {
            keyring.mayPrompt = false
            reader = keyring
        }
        do {
            let record = try await reader.load(TokenStoreCall(expectsSession: expectsSession(in: store)))
            // A profile that cannot be read may have its session elsewhere.
            if record == nil { _ = try profile?.signIn }
            try record.map { try profile?.requireSession($0, in: store) }
            return record.map { Entry(store: store, profile: profile, record: .success($0)) }
        } catch let error as AuthError { return Entry(store: store, profile: profile, record: .failure(error)) }
    }
}
