internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// The fast path of `sign-in token`: prints the stored token if it is still valid. Programs call this command often and
/// wait for it.
///
/// Starting the parsers, threads and timers of ``Tool`` takes longer than all of this. ``Tool`` handles every other
/// case: other options, a token that is not fresh, several sessions or none, an unreadable store, the keyring.
enum StoredToken {
    /// - Parameter arguments: The arguments of the program, without its name.
    /// - Returns: Whether a token was printed.
    static func print(_ arguments: [String]) -> Bool {
        guard arguments.first == "token" else { return false }
        var (json, path) = (false, nil as String?)
        var rest = arguments.dropFirst()
        while let option = rest.popFirst() {
            switch option {
            case "--json": json = true
            case "--store":
                guard case .file(let named)? = rest.popFirst().flatMap({ try? StoreChoice($0) }) else {
                    return false
                }
                path = named
            default: return false
            }
        }
        guard let store = path.map(FileTokenStore.init(path:)) ?? onlyStore, let record = freshOrSoon(store),
            let token = record.accessToken
        else { return false }
        let line = json ? Token.result(token, record).serialized() : token.value.reveal()
        // If the token cannot be written, the slow path reports the error.
        return Console.write(Array((line + "\n").utf8), to: .output) == 0
    }

    /// Returns the session if its token is fresh, or becomes fresh within 200 milliseconds. If many processes find a
    /// stale token together, one refreshes it, and the others need only the result.
    private static func freshOrSoon(_ store: FileTokenStore) -> AuthStateRecord? {
        if let record = fresh(store) { return record }
        let end = ContinuousClock.now + .milliseconds(200)
        while store.isBeingRefreshed {
            guard ContinuousClock.now < end else { return nil }
            usleep(1000)
        }
        return fresh(store)
    }

    private static func fresh(_ store: FileTokenStore) -> AuthStateRecord? {
        guard let record = try? store.read(), record.move == nil, record.accessToken?.isFresh(at: .current) == true
        else { return nil }
        return record
    }

    private static var onlyStore: FileTokenStore? {
        // A note represents a session in the keyring: finding it needs neither libsecret nor the bus.
        guard let stores = try? StateFolder().stores(), stores.count == 1 else { return nil }
        return stores.first as? FileTokenStore
    }
}
