internal import AppAuth
internal import AppAuthProxy
internal import ArgumentParser
internal import Glibc

/// The command `sign-in proxy`.
struct Proxy: Command {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Passes requests of other programs on this machine to one server, with a valid token.",
        discussion: """
            Example: sign-in proxy --profile work https://api.example.org/v1/
            The programs send their requests to the address that it prints, without a token. It runs until Ctrl-C.
            """)

    @Argument(help: "The server, with the path below which requests are passed on.")
    var server: String?
    @Option(
        parsing: .unconditional,
        help: "A protected resource: the server, and the session that has signed in for it.")
    var resource: String?
    @Option(parsing: .unconditional, help: "The port on 127.0.0.1. (default: any free one)")
    var port: UInt16?
    @Option(
        parsing: .unconditional,
        help: "The path of a Unix socket, in place of a port. Only this user’s programs can open it.",
        completion: .file())
    var socket: String?
    @Option(
        name: .customLong("allow-origin"), parsing: .unconditionalSingleValue,
        help: "The origin of web pages that may send requests, such as http://127.0.0.1:5173. All others may not.")
    var allowedOrigins: [String] = []
    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    /// The limit is that of finding the session.
    var endsInTime: Bool { false }

    func validate() throws {
        if (server == nil) == (resource == nil) { throw ValidationError("expected a server, or --resource") }
        if port != nil, socket != nil { throw ValidationError("--port and --socket exclude each other") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let server = try SecureURL(server ?? resource ?? "")
        let sockets = socket == nil && port == nil ? try ProxyListener.activated() : nil
        let current = CurrentSession(console.environment) {
            try await select(for: server, isActivated: sockets != nil, console, limit)
        }
        do { _ = try await current.state() } catch is AuthError where sockets != nil {
            // A client has connected to the socket of systemd, and gets the error, with the way to sign in.
        }
        let proxy = try AuthProxy(
            for: server, on: sockets ?? listener(), allowing: Set(allowedOrigins),
            remedy: { await remedy(for: $0, at: server, of: current, console) }, session: { try await current.state() })
        raiseLimitOfFiles()
        try console.succeed(
            ["address": .string(proxy.address), "server": .string(server.string)], text: proxy.address)
        do { try await proxy.run() } catch {
            if let selected = await current.selected { await selected.options.settle(selected.state, console) }
            throw error
        }
        return 0
    }

    private func select(
        for server: SecureURL, isActivated: Bool, _ console: Console, _ limit: Duration
    ) async throws -> CurrentSession.Selected {
        do {
            let options = try await chosen(for: server, limit)
            let (store, state) = try await options.state(console, in: options.find(within: limit), within: limit)
            let isForServer = await state.record.isOwnResource(server)
            guard resource == nil || isForServer else { throw Self.noSession(for: server, in: store.shownLocation) }
            return .init(options: options, store: store, state: state)
        } catch let usage as WrongUsage where isActivated {
            // For a client, which sees nothing else.
            throw AuthError(.invalidConfiguration, .configuration, usage.message)
        }
    }

    /// Returns the command line that signs in as the server demands, or again; nil for none.
    private func remedy(
        for challenge: StepUpChallenge?, at server: SecureURL, of current: CurrentSession, _ console: Console
    ) async -> String? {
        guard let selected = await current.selected else { return nil }
        let record = await selected.state.record
        // Another API could demand scopes that have nothing to do with it, and so could this one of another session, which has
        // taken the place of the proxy's.
        if let challenge {
            guard let stored = try? await selected.store.load(), stored.id == record.id,
                challenge.mayBeMet(with: record.scope), record.isOwnResource(server),
                challenge.canBeShown(with: challenge.scope)
            else { return nil }
        }
        let line = try? selected.options.line(
            selected.store, record, console, requesting: challenge?.scope ?? [])
        return line.map { SignInLine($0.words + (challenge?.words ?? [])).shellLine }
    }

    private static func noSession(for server: SecureURL, in place: String? = nil) -> AuthError {
        let line = ["sign-in", "login", "--resource", server.string].shellLine
        let what = place.map { "\($0.foundText) has no session for \(server)" } ?? "no session is for \(server)"
        return AuthError(.signInRequired, .store, "\(what). Sign in with: \(line)", outcome: .notSent)
    }

    /// Returns the options of the session: with a resource, those of the one that is for it, among those that the line names.
    private func chosen(for server: SecureURL, _ limit: Duration) async throws -> SessionOptions {
        let stores: [(store: any TokenStore, profile: Profile?)]
        switch session.store {
        case nil where resource != nil && session.profile == nil: stores = try StateFolder.storesWithProfiles()
        case .keyring? where resource != nil:
            stores = try await KeyringTokenStore.allOfSignIn(within: limit).map { ($0, StateFolder.profile(of: $0)) }
        default: return session
        }
        let isNamed = session.issuer != nil || session.clientID != nil
        let entries = try await StateFolder.entries(stores.map { ($0.store.within(limit), $0.profile) }).filter {
            entry in
            guard let record = try? entry.record.get(), session.matches(record.client) else { return false }
            // Not one of a provider that merely lists the resource, unless the user names it.
            return record.isOwnResource(server) && (isNamed || !record.resources.isEmpty)
        }
        guard let entry = entries.first else { throw Self.noSession(for: server) }
        guard entries.count == 1 else {
            throw WrongUsage(
                "several sessions are for this resource, choose one",
                choosing: SessionOptions.choices(entries).map { .init(words: $0) })
        }
        var options = session
        (options.issuer, options.clientID, options.store) = (nil, nil, nil)
        if let profile = entry.profile {
            options.profile = profile
        } else {
            options.store = try StoreChoice(stored: entry.store.shownLocation)
        }
        return options
    }

    private func listener() throws -> ProxyListener {
        if let socket { return try .socket(at: socket) }
        return try .loopback(port: port ?? 0)
    }

    /// Raises the limit of open files to what the user may have: a request needs two, and shells allow 1024.
    private func raiseLimitOfFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

extension StepUpChallenge {
    /// Whether a sign-in by the command line may meet the demand.
    ///
    /// - Parameter known: The scopes of the session. Another sign-in would have no more than these.
    fileprivate func mayBeMet(with known: [Scope]) -> Bool {
        claims == nil && (!words.isEmpty || !scope.allSatisfy(known.contains))
    }

    /// The options of a sign-in that meets the demand, beside its scopes.
    fileprivate var words: [String] {
        (acrValues.isEmpty ? [] : ["--acr-values", acrValues.joined(separator: " ")])
            + (maxAge.map { ["--max-age", "\($0)"] } ?? [])
    }
}
