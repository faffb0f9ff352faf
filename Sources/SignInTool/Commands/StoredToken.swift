internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// The fast path of `sign-in token`: prints the stored token if it is still valid. Programs call this command often and
/// wait for it.
///
/// Starting the parsers, threads and timers of ``Tool`` takes longer than all of this. ``Tool`` handles every other
/// case: other options, a token that is not fresh, several matching sessions or none, an unreadable store, the keyring.
enum StoredToken {
    /// - Parameter arguments: The arguments of the program, without its name.
    /// - Returns: Whether a token was printed.
    static func print(_ arguments: [String]) -> Bool {
        guard arguments.first == "token", let choice = Choice(arguments.dropFirst()),
            let (store, profile) = choice.place, let record = freshOrSoon(store), choice.matches(record),
            profile?.hasSession(record) != false, let token = record.accessToken
        else { return false }
        let line = choice.json ? Token.result(token, record).serialized() : token.value.reveal()
        // If the token cannot be written, the slow path reports the error.
        return (try? OutputFile.write(Array((line + "\n").utf8), to: STDOUT_FILENO)) != nil
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
        guard let record = try? store.read(), record.accessToken?.isFresh(at: .current) == true
        else { return nil }
        return record
    }
}

extension StoredToken {
    /// The options that the fast path knows, as ``SessionOptions`` and ``CommonOptions`` parse them.
    struct Choice {
        fileprivate var json = false
        private var profile: Profile?
        private var issuer: Issuer?
        private var clientID: String?
        private var path: String?

        /// Returns nil for any other option or value.
        init?(_ arguments: ArraySlice<String>) {
            var rest = arguments
            while let option = rest.popFirst() {
                guard option != "--json" else {
                    json = true
                    continue
                }
                guard let value = rest.popFirst() else { return nil }
                switch option {
                case "--profile":
                    guard let valid = Profile(argument: value) else { return nil }
                    profile = valid
                case "--issuer":
                    guard let valid = try? Issuer(value) else { return nil }
                    issuer = valid
                case "--client-id": clientID = value
                case "--store":
                    guard let choice = try? StoreChoice(value), case .file = choice, let file = try? choice.file else {
                        return nil
                    }
                    path = file.path
                default: return nil
                }
            }
            // The parser refuses it.
            if profile != nil, path != nil { return nil }
        }

        /// The command as its parser would create it, which takes more than a millisecond. Every option must be set here.
        var command: Token {
            var (token, session, common) = (Token(), SessionOptions(), CommonOptions())
            (session.profile, session.issuer, session.clientID) = (profile, issuer?.string, clientID)
            session.store = path.map(StoreChoice.file)
            (common.verbose, common.explain, common.timeout) = (false, false, nil)
            (common.caFile, common.proxyAuthentication) = (nil, nil)
            (token.minimumValidity, token.forceRefresh, token.isIDToken) = (nil, false, false)
            (token.format, token.user, token.json) = (.token, nil, json)
            (token.session, token.common) = (session, common)
            return token
        }

        /// The store that ``SessionOptions/find(within:)`` would find, if that is a file and the only one, and its profile.
        fileprivate var place: (FileTokenStore, Profile?)? {
            if let path { return (FileTokenStore(path: path), nil) }
            let namesSession = issuer != nil || clientID != nil
            do {
                let chosen = try Profile.chosen(profile, lineNamesSession: namesSession)
                if let chosen { return (try chosen.store as? FileTokenStore).map { ($0, chosen) } }
            } catch { return nil }
            return storeWithoutProfile.map { ($0, nil) }
        }

        private var storeWithoutProfile: FileTokenStore? {
            guard let folder = try? StateFolder() else { return nil }
            // A note represents a session in the keyring: finding it needs neither libsecret nor the bus.
            if let issuer, let clientID {
                guard let found = try? folder.stores(of: issuer, clientID), found.count == 1 else { return nil }
                return found[0] as? FileTokenStore
            }
            guard let all = try? folder.stores() else { return nil }
            let files = all.compactMap { $0 as? FileTokenStore }
            guard files.count == all.count else { return nil }
            guard issuer != nil || clientID != nil else { return files.count == 1 ? files.first : nil }
            // One that cannot be read may match too.
            guard let found = try? files.filter({ try $0.read().map(matches) == true }) else { return nil }
            return found.count == 1 ? found.first : nil
        }

        /// Whether this is a session of the issuer and client in the options.
        func matches(_ record: AuthStateRecord) -> Bool {
            let client = record.client
            return (issuer ?? client.provider.issuer) == client.provider.issuer && (clientID ?? client.id) == client.id
        }
    }
}
