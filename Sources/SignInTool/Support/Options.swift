public import AppAuth
public import ArgumentParser

/// The options of every command. Values may begin with a dash.
///
/// No option group contains another one: in debug builds, the parser checks the options of each level four times for each
/// time that it checks the level above.
struct CommonOptions: ParsableArguments, Sendable {
    @Flag(help: "Log each step to standard error, without secrets.")
    var verbose = false
    @Option(
        parsing: .unconditional,
        help: "The time limit in seconds; a refresh that was sent is finished first.")
    var timeout: Seconds?
    @Option(
        name: .customLong("ca-file"), parsing: .unconditional, help: "A PEM file with additional root certificates.",
        completion: .file())
    var caFile: String?
    @Option(
        name: .customLong("proxy-auth"), parsing: .unconditional,
        help: "How the proxy of the environment authenticates the user. negotiate is Kerberos. (default: basic)")
    var proxyAuthentication: CurlTransport.ProxyAuthentication?

    /// The options that every command for the same server needs.
    var wordsOfNetwork: [String] {
        (caFile.map { ["--ca-file", $0] } ?? []) + (proxyAuthentication.map { ["--proxy-auth", $0.rawValue] } ?? [])
    }
}

extension ArgumentHelp {
    /// Of the flag `--json`.
    static let json: ArgumentHelp = "Print one JSON object on standard output and nothing else."
}

extension CurlTransport.ProxyAuthentication: ExpressibleByArgument {}

/// The options that select a stored session.
struct SessionOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: "The profile of the session. (default: SIGN_IN_PROFILE, or the one that 'sign-in use' has chosen)",
        completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(parsing: .unconditional, help: "The issuer of the session; required if several are stored.")
    var issuer: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id of the session.")
    var clientID: String?
    @Option(
        parsing: .unconditional, help: "Where the session is stored: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(_:))
    var store: StoreChoice?

    func validate() throws {
        if profile != nil, store != nil { throw ValidationError("--profile and --store exclude each other") }
    }
}

/// The options that name a new session.
struct NewSessionOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: """
            A name for the session and these options: with it alone, you can sign in again. (default: without --issuer, \
            SIGN_IN_PROFILE or the one that 'sign-in use' has chosen)
            """, completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(
        parsing: .unconditional, help: "Where to store the session: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(_:))
    var store: StoreChoice?

    /// Returns the store for the session. After storing it, call ``note(_:_:)``.
    func store(issuer: String, clientID: String) throws -> any TokenStore {
        let issuer = try Issuer(issuer)
        // Before the user signs in.
        if case .encrypted? = store { try StorePassphrase.require() }
        let name = profile.map(SessionName.profile) ?? .client(issuer, clientID)
        return try store?.store(name) ?? StateFolder().store(name)
    }

    /// Throws if the sign-in for a resource would replace a session for something else, although the options name neither.
    func requireRoom(in store: any TokenStore, for resources: [String], clientID: String?) async throws {
        guard !resources.isEmpty, clientID == nil, profile == nil, self.store == nil,
            let session = try await store.load(), session.end == nil, Set(session.resources) != Set(resources)
        else { return }
        throw WrongUsage(
            "the same client has a session for something else: give this one a name with --profile, or name the "
                + "--client-id to replace that session")
    }

    /// Returns the profile's session at this issuer, which only its user may replace; nil for none.
    func former(in store: any TokenStore, at issuer: String) async throws -> AuthStateRecord? {
        guard profile != nil, let former = try await store.load(), former.client.provider.issuer.string == issuer
        else { return nil }
        return former
    }

    /// Throws if the new session is not that of the profile's user.
    func requireUser(of former: AuthStateRecord?, in new: AuthStateRecord) throws {
        guard let profile, let former else { return }
        do { try new.requireUser(of: former) } catch var error as AuthError {
            error.message += ". To replace it, sign out of it first: sign-in logout --profile \(profile.name)"
            throw error
        }
    }

    /// Notes where the session is, and how the user has signed in. If that fails, the session is stored nevertheless.
    /// Says so if other commands will not use the session, because a profile is in use.
    func note(_ record: AuthStateRecord, in store: any TokenStore, _ console: Console) {
        StateFolder.note(store, console)
        sayIfAnotherIsInUse(record, console)
        let line = SignInLine(console.arguments)
        // Options that only complete those of the profile apply once.
        guard let profile, line.namesSession || (line.namesResource && (try? profile.signIn) == nil) else { return }
        do { try profile.remember(line.remembered) } catch {
            let why = (error as? AuthError)?.message ?? "\(error)"
            console.note("the options of the profile could not be stored: \(why)")
        }
    }
}

extension NewSessionOptions {
    private func sayIfAnotherIsInUse(_ record: AuthStateRecord, _ console: Console) {
        guard (try? StateFolder()) != nil else { return }
        let found: Profile?
        do { found = try Profile.chosen(nil, lineNamesSession: false) } catch let error as AuthError {
            return console.note(error.message)
        } catch { return }
        guard let inUse = found, inUse != profile else { return }
        let words: [String]
        switch (profile, store) {
        case (_, .memory?): return
        case (let profile?, _): words = ["--profile", profile.name]
        case (nil, let store?) where store.path != nil: words = ["--store", store.argument]
        default: words = ["--issuer", record.client.provider.issuer.string, "--client-id", record.client.id]
        }
        let options = words.shellLine
        console.say("The profile \(inUse.name) is in use. For this session, add to other commands: \(options)")
    }
}

extension String {
    /// Checks that the value of an option is a name without control characters.
    func checkAsName(of option: String) throws {
        guard !isEmpty, utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("\(option): expected a name in one line")
        }
    }
}

/// A positive number of seconds.
struct Seconds: ExpressibleByArgument, Sendable {
    let duration: Duration

    init?(argument: String) {
        guard let seconds = Double(argument), seconds > 0, seconds <= 1_000_000 else { return nil }
        duration = .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}

extension Duration {
    /// The part of a command's time that it may wait for a lock, or for the user to unlock the keyring. The rest is for the
    /// error that says so.
    var forWaits: Duration { self * 5 / 6 }
}

extension TokenStore {
    /// Returns the store with timeouts that fit a command's time limit.
    func within(_ limit: Duration) -> any TokenStore {
        if var file = self as? FileTokenStore {
            file.lockTimeout = min(file.lockTimeout, limit.forWaits)
            return file
        }
        guard var keyring = self as? KeyringTokenStore else { return self }
        keyring.promptTimeout = min(keyring.promptTimeout, limit.forWaits)
        // A call also ends at the time limit for prompts, and could then not name the process that has the lock.
        keyring.lockTimeout = min(keyring.lockTimeout, keyring.promptTimeout.forWaits)
        return keyring
    }
}

/// The argument of `--store`: `file:PATH`, `encrypted:PATH`, `keyring` or `memory`.
enum StoreChoice: Sendable {
    case file(String)
    /// A file that is encrypted with the passphrase of ``StorePassphrase``.
    case encrypted(String)
    case keyring
    case memory

    /// Without `file:` and `encrypted:`, after which shells would add a space.
    static var completion: CompletionKind { .list(["keyring", "memory"]) }

    init(_ argument: String) throws {
        switch argument {
        case "memory": self = .memory
        case "keyring": self = .keyring
        case _ where argument.hasPrefix("file:") && argument.count > "file:".count:
            self = .file(String(argument.dropFirst("file:".count)))
        case _ where argument.hasPrefix("encrypted:") && argument.count > "encrypted:".count:
            self = .encrypted(String(argument.dropFirst("encrypted:".count)))
        default: throw ValidationError("expected file:PATH, encrypted:PATH, keyring or memory")
        }
    }

    /// The path of a file; nil for another store.
    var path: String? {
        switch self {
        case .file(let path), .encrypted(let path): path
        case .keyring, .memory: nil
        }
    }

    /// The argument that ``init(_:)`` parses.
    var argument: String {
        switch self {
        case .file(let path): "file:\(path)"
        case .encrypted(let path): "encrypted:\(path)"
        case .keyring: "keyring"
        case .memory: "memory"
        }
    }

    /// Returns the store for a session with this name.
    func store(_ name: SessionName) throws -> any TokenStore {
        switch self {
        case .file(let path): FileTokenStore(path: path)
        case .encrypted(let path): try StorePassphrase.file(path)
        case .keyring: name.keyring
        case .memory: MemoryTokenStore()
        }
    }
}

extension TokenStore {
    /// The location for the user. For a file, it is the argument of `--store`.
    var shownLocation: String {
        guard let file = self as? FileTokenStore, file.isEncrypted else { return location }
        return StoreChoice.encrypted(file.path).argument
    }
}

extension LoopbackRedirectListener.Host: ExpressibleByArgument {
    /// Parses the host as it is in a redirect URI.
    public init?(argument: String) {
        switch argument {
        case "127.0.0.1": self = .ipv4
        case "[::1]": self = .ipv6
        case "both": self = .both
        case "localhost": self = .localhost
        default: return nil
        }
    }

    /// The argument that ``init(argument:)`` parses.
    public var defaultValueDescription: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        case .both: "both"
        case .localhost: "localhost"
        }
    }
}

extension ProviderMetadata {
    /// Returns the metadata with the user's URL for an endpoint.
    func with(_ endpoint: Endpoint, at url: String?) throws -> ProviderMetadata {
        guard let url else { return self }
        var document = document
        document[endpoint.rawValue] = .string(url)
        return try ProviderMetadata(document: .object(document))
    }
}
