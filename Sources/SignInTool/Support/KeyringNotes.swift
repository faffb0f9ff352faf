internal import AppAuth
internal import FoundationEssentials
internal import Glibc

extension KeyringTokenStore {
    /// Returns this program's entry for a client of an issuer.
    static func signIn(issuer: Issuer, clientID: String) -> KeyringTokenStore {
        KeyringTokenStore(application: "sign-in", issuer: issuer, clientID: clientID)
    }

    /// Returns this program's entries. The wait for the keyring service fits a command's time limit.
    ///
    /// An entry that only a note names counts too: the keyring may be away for a while (KeePassXC with no open database).
    static func allOfSignIn(within limit: Duration) async throws -> [KeyringTokenStore] {
        let listed = try await stored(application: "sign-in", within: min(.seconds(30), limit.forWaits))
        let noted = try StateFolder().stores().compactMap { $0 as? KeyringTokenStore }
        return listed + noted.filter { note in !listed.contains { $0.account == note.account } }
    }
}

/// Notes in the state folder of the sessions that are in the keyring. Each is a small file, `NAME.keyring`, with the
/// issuer and the client id, and without secrets.
///
/// Querying the keyring itself takes a library and a round trip on the session bus, and is impossible without a bus. So
/// a command without `--store` reads the notes, and does not touch the keyring if there is none. A note may outlive its
/// session; the keyring is then empty. A session without a note, for example from another state folder, is found with
/// `--store keyring`.
extension StateFolder {
    /// Returns the store for a new session. After storing it, call ``note(_:_:)``.
    static func store(_ choice: StoreChoice?, issuer: String, clientID: String) throws -> any TokenStore {
        let issuer = try Issuer(issuer)
        guard let choice else { return try StateFolder().store(issuer: issuer, clientID: clientID) }
        return choice.store(issuer: issuer, clientID: clientID)
    }

    /// Writes a note for a stored session if it is in the keyring. If that fails, the session is stored nevertheless.
    static func note(_ store: any TokenStore, _ console: Console) {
        guard let keyring = store as? KeyringTokenStore, let (issuer, clientID) = parts(keyring.account) else { return }
        do { try StateFolder().note(issuer: issuer, clientID: clientID) } catch {
            console.note("\((error as? AuthError)?.message ?? "\(error)"); later commands need --store keyring")
        }
    }

    private func note(issuer: Issuer, clientID: String) throws {
        let file = file(issuer, clientID) + ".keyring"
        try? FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        let text = Array("\(issuer.string) \(clientID)\n".utf8)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, write(descriptor, text, text.count) == text.count else {
            throw AuthError(
                .store, .store, "\(file) cannot be written: \(String(cString: strerror(errno)))", outcome: .notSent)
        }
    }

    /// Removes the note of a session that no longer exists.
    func removeNote(of store: KeyringTokenStore) {
        guard let (issuer, clientID) = Self.parts(store.account) else { return }
        unlink(file(issuer, clientID) + ".keyring")
    }

    /// Returns whether a note says that a session was stored there. A locked keyring then still has it.
    static func expectsSession(in store: any TokenStore) -> Bool {
        guard let keyring = store as? KeyringTokenStore, let (issuer, clientID) = parts(keyring.account) else {
            return false
        }
        return (try? StateFolder())?.notedKeyring(issuer: issuer, clientID: clientID) != nil
    }

    /// Sets aside an unusable session, and reports its new location.
    static func discard(_ store: any TokenStore, _ console: Console) async throws -> String? {
        let aside: String?
        switch store {
        case let file as FileTokenStore: aside = try await file.discard()
        case let keyring as KeyringTokenStore: aside = try await keyring.discard()
        default: aside = nil
        }
        if let aside { console.say("The contents of \(store.location) are now in \(aside).") }
        return aside
    }

    /// Returns the session in the store.
    static func restore(_ store: any TokenStore, _ environment: Environment) async throws -> AuthState? {
        try await TokenStoreCall.$expectsSession.withValue(expectsSession(in: store)) {
            let state = try await AuthState(restoring: store, environment: environment)
            guard let provider = await state?.record.client.provider,
                let dialect = ProviderPreset.dialect(of: provider)
            else { return state }
            var environment = environment
            environment.dialect = dialect
            return try await AuthState(restoring: store, environment: environment)
        }
    }

    /// Returns the keyring store if there is a note for it.
    func notedKeyring(issuer: Issuer, clientID: String) -> KeyringTokenStore? {
        guard access(file(issuer, clientID) + ".keyring", F_OK) == 0 else { return nil }
        return KeyringTokenStore.signIn(issuer: issuer, clientID: clientID)
    }

    static func keyring(notedIn file: String) -> KeyringTokenStore? {
        guard let note = FileManager.default.contents(atPath: file), note.last == UInt8(ascii: "\n"),
            let (issuer, clientID) = parts(String(decoding: note.dropLast(), as: UTF8.self))
        else { return nil }
        return KeyringTokenStore.signIn(issuer: issuer, clientID: clientID)
    }

    /// Splits an account name at its first space; an issuer contains none.
    static func parts(_ account: String) -> (issuer: Issuer, clientID: String)? {
        guard let space = account.firstIndex(of: " "), let issuer = try? Issuer(String(account[..<space])) else {
            return nil
        }
        return (issuer, String(account[account.index(after: space)...]))
    }
}
