internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// `sign-in token` where the stored token is good and there is nothing to do but to print it: programs do that all the
/// time, and wait for it.
///
/// The parsers, threads and timers of ``Tool`` take longer to start than all of this. Whatever is out of the ordinary is
/// left to it: other options, a token that is not fresh, several sessions or none, a store that cannot be read, the
/// keyring.
enum StoredToken {
    /// - Parameter arguments: Those of the program, without its name.
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
        // If nobody gets it, the long way says so.
        return Console.write(Array((line + "\n").utf8), to: .output) == 0
    }

    /// The session, if its token is good, or will be in a moment: of many processes that find it stale together one
    /// refreshes, and the others need no more than its response.
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
        // A session in the keyring counts by its note: neither libsecret nor the bus is needed to see it.
        guard let stores = try? StateFolder().stores(), stores.count == 1 else { return nil }
        return stores.first as? FileTokenStore
    }
}
