internal import AppAuth
internal import FoundationEssentials
internal import Glibc

extension KeyringTokenStore {
    /// The entry of this program for an issuer's client.
    static func signIn(issuer: Issuer, clientID: String) -> KeyringTokenStore {
        KeyringTokenStore(application: "sign-in", issuer: issuer, clientID: clientID)
    }
}

/// Notes of the sessions in the keyring, in the state folder: a small file for each, `NAME.keyring`, with issuer and
/// client id in it, and nothing that is secret.
///
/// To ask the keyring itself costs a library and a trip over the session bus, and cannot be done where there is none. So
/// commands that are not told where to look go by the notes: without a note the keyring is left alone. A note may
/// outlive its session; then there is nothing in the keyring. A session without a note, of another state folder for
/// example, is found with `--store keyring`.
extension StateFolder {
    /// The store for a new session, which ``note(_:_:)`` has to follow.
    static func store(_ choice: StoreChoice?, issuer: String, clientID: String) throws -> any TokenStore {
        let issuer = try Issuer(issuer)
        guard let choice else { return try StateFolder().store(issuer: issuer, clientID: clientID) }
        return choice.store(issuer: issuer, clientID: clientID)
    }

    /// Notes a session that was stored, if it is in the keyring. It is stored, noted or not.
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

    /// Removes the note of a session that is gone.
    func removeNote(of store: KeyringTokenStore) {
        guard let (issuer, clientID) = Self.parts(store.account) else { return }
        unlink(file(issuer, clientID) + ".keyring")
    }

    /// Whether a session was stored there, as far as noted: then a keyring that is not open has it still.
    static func expectsSession(in store: any TokenStore) -> Bool {
        guard let keyring = store as? KeyringTokenStore, let (issuer, clientID) = parts(keyring.account) else {
            return false
        }
        return (try? StateFolder())?.notedKeyring(issuer: issuer, clientID: clientID) != nil
    }

    /// Sets aside what cannot be used as a session, and says where it is now.
    static func discard(_ store: any TokenStore, _ console: Console) async throws -> String? {
        let aside: String?
        switch store {
        case let file as FileTokenStore: aside = try await file.discard()
        case let keyring as KeyringTokenStore: aside = try await keyring.discard()
        default: aside = nil
        }
        if let aside { console.say("What was in \(store.location) is now in \(aside).") }
        return aside
    }

    /// The session that is stored there.
    static func restore(_ store: any TokenStore, _ environment: Environment) async throws -> AuthState? {
        try await TokenStoreCall.$expectsSession.withValue(expectsSession(in: store)) {
            try await AuthState(restoring: store, environment: environment)
        }
    }

    /// The store of a session that is noted.
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

    /// An issuer has no space in it.
    static func parts(_ account: String) -> (issuer: Issuer, clientID: String)? {
        guard let space = account.firstIndex(of: " "), let issuer = try? Issuer(String(account[..<space])) else {
            return nil
        }
        return (issuer, String(account[account.index(after: space)...]))
    }
}
