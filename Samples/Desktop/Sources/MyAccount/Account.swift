import AppAuth

/// The app's session, without any GTK: what the user can do, and the status that the window shows.
@MainActor final class Account {
    enum Status {
        case starting
        case signedOut(problem: AuthError?)
        /// The user is in the browser. The URL is nil until the request is ready.
        case signingIn(url: String?)
        case signedIn(Claims?)
        /// The session is over: only a new sign-in helps.
        case ended
        /// The session is removed from this machine. The browser ends the session at the provider.
        case signingOut(url: String?)
    }

    /// The provider and the client that the app is registered as.
    struct Configuration {
        var appID: String
        var issuer: String
        var clientID: String
        /// The URL that the app calls with the user's token.
        var api: String
    }

    private(set) var status = Status.starting { didSet { changed() } }
    /// The failure of the latest refresh, if no later one succeeded: for example, the computer is offline.
    private(set) var trouble: AuthError? { didSet { changed() } }
    /// Where the session is stored.
    private(set) var storage = Storage.file(path: "", because: nil) { didSet { changed() } }
    /// Called after each change.
    var changed: () -> Void = {}

    enum Storage {
        case keyring
        /// The error says why the keyring was not used.
        case file(path: String, because: AuthError?)
    }

    var issuer: Issuer { signIn.issuer }

    private let configuration: Configuration
    private var signIn: SignIn
    private var store: (any TokenStore)?
    private var session: AuthState?
    private var work: Task<Void, Never>?
    private var watching: Task<Void, Never>?
    /// Serves the one-time URL of ``openAgain()`` until the user is done in the browser.
    private var opener: LoopbackRedirectListener?

    init(_ configuration: Configuration) throws {
        self.configuration = configuration
        signIn = try SignIn(
            issuer: Issuer(configuration.issuer), clientID: configuration.clientID,
            scope: [.openID, .profile, .email, .offlineAccess],
            appName: "My Account")
        // The observer is called on any thread.
        signIn.observe = { [weak self] event in
            guard case .authorization(let url) = event else { return }
            Task { @MainActor in
                if let self, case .signingIn = self.status { self.status = .signingIn(url: url) }
            }
        }
    }

    /// Restores the session of an earlier run. Opens no browser and sends nothing, so it works offline.
    func restore() {
        perform { [self] in
            let file = try FileTokenStore(appID: configuration.appID)
            let choice = try await signIn.keyringStore(application: configuration.appID).orElse(file)
            store = choice.store
            storage = choice.isKeyring ? .keyring : .file(path: file.path, because: choice.refusal)
            guard let session = try await AuthState(restoring: choice.store, environment: .live),
                await session.record.client.provider.issuer == signIn.issuer,
                await session.record.client.id == signIn.clientID
            else { return status = .signedOut(problem: nil) }
            await use(session)
        }
    }

    func beginSignIn() {
        guard let store else { return restore() }
        status = .signingIn(url: nil)
        perform { [self] in await use(try await signIn.run(store: store)) }
    }

    /// Opens another browser window, for a user who has closed the first one.
    ///
    /// As at the first time, the browser is started with a one-time URL: every user of the machine can read its arguments,
    /// and the address contains the request's `state` or the `id_token_hint` (RFC 6749 §10.12).
    func openAgain() {
        guard let address, let opener = try? LoopbackRedirectListener() else { return }
        self.opener = opener
        Task { _ = try? await Browser.system.open(opener.oneTimeURL(redirectingTo: address)) }
    }

    /// The URL to open in a browser, while the user has something to do there.
    var address: String? {
        switch status {
        case .signingIn(let url), .signingOut(let url): url
        case .starting, .signedOut, .signedIn, .ended: nil
        }
    }

    func cancel() { work?.cancel() }

    /// Calls the API with a valid access token.
    ///
    /// - Returns: The response, as the user may see it.
    func callAPI() async throws -> String {
        guard let session else { return "" }
        let response = try await session.get(configuration.api)
        trouble = nil
        return "\(response.status.code) " + String(decoding: response.body.prefix(200), as: UTF8.self)
    }

    /// Reads the store to find changes by other processes, for example a sign-out.
    func refresh() {
        guard let session, case .signedIn = status else { return }
        Task { try? await session.synchronize() }
    }

    func beginSignOut() {
        guard let session else { return }
        watching?.cancel()
        status = .signingOut(url: nil)
        perform { [self] in
            defer { self.session = nil }
            var signOut = SignOut(appName: "My Account")
            signOut.observe = { [weak self] event in
                guard case .endSession(let url) = event else { return }
                Task { @MainActor in
                    if let self, case .signingOut = self.status { self.status = .signingOut(url: url) }
                }
            }
            let report = try await signOut.run(session)
            status = .signedOut(problem: report.endSessionError)
        }
    }

    /// Prepares for the end of the process: new tokens must be stored.
    func close() async {
        work?.cancel()
        await work?.value
        await session?.settle()
    }

    private func perform(_ body: @escaping () async throws -> Void) {
        work?.cancel()
        let previous = work
        work = Task {
            await previous?.value
            defer { opener = nil }
            do { try await body() } catch is CancellationError {
                status = .signedOut(problem: nil)
            } catch {
                status = .signedOut(problem: error as? AuthError)
            }
        }
    }

    private func use(_ session: AuthState) async {
        self.session = session
        trouble = nil
        // Before the status is read, so that no later change is missed.
        let changes = session.changes
        status = await session.isAuthorized ? .signedIn(await session.claims) : .ended
        watching?.cancel()
        watching = Task { [weak self] in
            for await change in changes { self?.note(change) }
        }
    }

    private func note(_ change: SessionChange) {
        switch change {
        case .renewed: trouble = nil
        case .ended: status = .ended
        case .refreshFailed(let error), .storeFailed(let error): trouble = error
        }
    }
}
