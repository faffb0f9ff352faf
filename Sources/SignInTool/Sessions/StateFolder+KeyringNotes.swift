internal import AppAuth
internal import FoundationEssentials
internal import Glibc

extension KeyringTokenStore {
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
/// account, and without secrets.
///
/// Querying the keyring itself takes a library and a round trip on the session bus, and is impossible without a bus. So
/// a command without `--store` reads the notes, and does not touch the keyring if there is none. A note may outlive its
/// session; the keyring is then empty. A session without a note, for example from another state folder, is found with
/// `--store keyring`.
extension StateFolder {
    /// Writes a note for a stored session if it is in the keyring. If that fails, the session is stored nevertheless.
    static func note(_ store: any TokenStore, _ console: Console) {
        guard let keyring = store as? KeyringTokenStore, let name = SessionName(account: keyring.account) else {
            return
        }
        do { try StateFolder().note(name).write(keyring.account + "\n") } catch {
            console.note("\((error as? AuthError)?.message ?? "\(error)"); later commands need --store keyring")
        }
    }

    /// Removes the note of a session that no longer exists.
    func removeNote(of store: KeyringTokenStore) throws {
        if let name = SessionName(account: store.account) { try note(name).remove() }
    }

    /// Returns whether a note says that a session was stored there. A locked keyring then still has it.
    static func expectsSession(in store: any TokenStore) -> Bool {
        guard let keyring = store as? KeyringTokenStore, let name = SessionName(account: keyring.account) else {
            return false
        }
        return (try? StateFolder())?.notedKeyring(name) != nil
    }

    /// Sets aside an unusable session, and reports its new location.
    static func discard(_ store: any TokenStore, _ console: Console) async throws -> String? {
        let aside: String?
        switch store {
        case let file as FileTokenStore: aside = try await file.discard()
        case let keyring as KeyringTokenStore: aside = try await keyring.discard()
        default: aside = nil
        }
        if let aside { console.say("The contents of \(store.shownLocation) are now in \(aside).") }
        return aside
    }

    /// Returns the keyring store if there is a note for it.
    func notedKeyring(_ name: SessionName) -> KeyringTokenStore? {
        StateFile.isThere(note(name).path) ? name.keyring : nil
    }

    /// Returns the keyring store that a note is for. Its name says it, unless that is a digest.
    func keyring(notedIn file: String) throws -> KeyringTokenStore? {
        let fileName = String(file.dropLast(".keyring".count))
        if let name = SessionName(fileName: fileName) { return name.keyring }
        let note = note(named: fileName)
        guard let account = try note.read() else { return nil }
        guard let name = SessionName(account: account) else { throw note.damaged }
        return name.keyring
    }

    private func note(_ name: SessionName) -> StateFile { note(named: name.fileName) }

    private func note(named name: String) -> StateFile {
        let path = "\(path)/\(name).keyring"
        return StateFile(
            path: path,
            remedy: "It says that a session is in the keyring. To do without it: "
                + ["mv", path, path + ".damaged"].shellLine)
    }
}
