internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// The default folder for sessions, with a file per issuer and client, and the notes of the sessions in the keyring:
/// see `KeyringNotes.swift`.
struct StateFolder: Sendable {
    /// The path: `$XDG_STATE_HOME/sign-in`, or `~/.local/state/sign-in` (XDG Base Directory Specification).
    let path: String

    /// A stored session, or the error of reading it.
    struct Entry: Sendable {
        let store: any TokenStore
        /// The profile that the session belongs to.
        let profile: Profile?
        let record: Result<AuthStateRecord, AuthError>

        /// The issuer and client id of the session, if they are known.
        var name: (issuer: String, clientID: String)? {
            if case .success(let record) = record { return (record.client.provider.issuer.string, record.client.id) }
            let account = (store as? KeyringTokenStore)?.account
            guard case .client(let issuer, let id)? = account.flatMap(SessionName.init(account:)) else { return nil }
            return (issuer.string, id)
        }
    }

    init() throws {
        if let folder = variable("XDG_STATE_HOME"), folder.hasPrefix("/") {
            path = folder + "/sign-in"
        } else if let home = variable("HOME") {
            path = home + "/.local/state/sign-in"
        } else {
            throw AuthError(.store, .store, "the environment has neither HOME nor XDG_STATE_HOME: set one of them")
        }
    }

    /// Returns the store of a session in a file.
    func store(_ name: SessionName) -> FileTokenStore { FileTokenStore(path: "\(path)/\(name.fileName).json") }

    /// Returns the profile that a store is named after.
    static func profile(of store: any TokenStore) -> Profile? {
        if let keyring = store as? KeyringTokenStore {
            guard case .profile(let profile)? = SessionName(account: keyring.account) else { return nil }
            return profile
        }
        guard let file = store as? FileTokenStore, let folder = try? StateFolder(),
            file.path.hasPrefix(folder.path + "/"),
            let profile = Profile(argument: String(file.path.dropFirst(folder.path.count + 1).dropLast(".json".count)))
        else { return nil }
        return folder.store(.profile(profile)).path == file.path ? profile : nil
    }

    /// Returns the text of a small file without its last line break; nil if there is none.
    func text(of file: String) throws -> String? {
        do {
            let bytes = try InputFile.read("\(path)/\(file)", atMost: 64 << 10)
            return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
        } catch .system(ENOENT) { return nil } catch {
            throw AuthError(.store, .store, "\(path)/\(file): \(error.description)", outcome: .notSent)
        }
    }

    /// Writes a small file that only the user can read, as a whole.
    func write(_ text: String, to file: String) throws {
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let (file, new) = ("\(path)/\(file)", "\(path)/\(file).\(getpid()).new")
        do throws(SystemError) {
            let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw SystemError(number: errno) }
            defer { close(descriptor) }
            try OutputFile.write(Array(text.utf8), to: descriptor)
            guard rename(new, file) == 0 else { throw SystemError(number: errno) }
        } catch {
            unlink(new)
            throw AuthError(.store, .store, "\(file) cannot be written: \(error.text)", outcome: .notSent)
        }
    }

    /// Removes a small file. It is also a success if there is none.
    func remove(_ file: String) throws {
        guard unlink("\(path)/\(file)") != 0, errno != ENOENT else { return }
        let error = SystemError(number: errno)
        throw AuthError(.store, .store, "\(path)/\(file) cannot be removed: \(error.text)", outcome: .notSent)
    }

    /// Returns all stores of this folder that may hold a session, by name.
    func stores() throws -> [any TokenStore] {
        try names().sorted().compactMap { name in
            if name.hasSuffix(".json") { return FileTokenStore(path: "\(path)/\(name)") }
            return name.hasSuffix(".keyring") ? keyring(notedIn: name) : nil
        }
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
        guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
        do { return try FolderNames.read(path) } catch {
            throw AuthError(.store, .store, "\(path) cannot be read: \(error.text)", outcome: .notSent)
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
            let record = try await TokenStoreCall.$expectsSession.withValue(expectsSession(in: store)) { [reader] in
                try await reader.load()
            }
            return record.map { Entry(store: store, profile: profile, record: .success($0)) }
        } catch let error as AuthError { return Entry(store: store, profile: profile, record: .failure(error)) }
    }
}
