import AppAuth

/// The app's session, without any GTK: what the user can do, and the status that the window shows.
@MainActor final class Account {
    enum Status {
        case starting
        case signedOut(problem: AuthError?)
        case signingIn(BrowserStep)
        case signedIn(Claims?)
        /// The session is over: only a new sign-in helps.
        case ended
        /// The session is removed from this machine. The browser ends the session at the provider.
        case signingOut(BrowserStep)
    }

    /// What the user has to do in a browser.
    struct BrowserStep {
        /// The URL to open in a browser. It is nil until the request is ready, and while a browser has the URL of a sign-out,
        /// which contains the ID token.
        var url: String?
        /// Whether a browser was started. If not, the user opens the URL.
        var hasBrowser = true
        /// Why no browser was started, or what may go wrong with it.
        var problem: String?
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
    /// Where the session is stored: the keyring, or a file and why. It is nil until the keyring has responded.
    private(set) var storage: TokenStoreChoice? { didSet { changed() } }
    /// Called after each change.
    var changed: () -> Void = {}

    var issuer: Issuer { signIn.issuer }

    private let configuration: Configuration
    private var signIn: SignIn
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
            Task { @MainActor in self?.note(event) }
        }
    }

    /// Restores the session of an earlier run. Opens no browser and sends nothing, so it works offline. It prompts nobody
    /// either: a locked keyring stays locked until the user presses a button.
    func restore() {
        perform { [self] in
            if try await !restoreSession(TokenStoreCall(isUnattended: true)) { status = .signedOut(problem: nil) }
        }
    }

    /// Signs the user in, unless the keyring has a session after the user has unlocked it.
    func beginSignIn() {
        status = .starting
        perform { [self] in
            if session == nil, storage == nil || isKeyringLocked, try await restoreSession() { return }
            guard let storage else { return }
            status = .signingIn(BrowserStep())
            await use(try await signIn.run(store: storage.store))
        }
    }

    /// Whether the keyring is locked, or does not exist yet, and the user was not prompted.
    var isKeyringLocked: Bool { storage?.refusal?.storeProblem == .locked }

    /// Chooses the store, and restores the session that is in it.
    ///
    /// - Returns: Whether there is one.
    private func restoreSession(_ call: TokenStoreCall = TokenStoreCall()) async throws -> Bool {
        let choice = try await signIn.keyringOrFile(appID: configuration.appID, call: call)
        storage = choice
        guard let session = try await AuthState(restoring: choice.store, call: call, environment: .live),
            await session.record.client.provider.issuer == signIn.issuer,
            await session.record.client.id == signIn.clientID
        else { return false }
        await use(session)
        return true
    }

    private func note(_ event: SignIn.Event) {
        guard case .signingIn(var step) = status else { return }
        switch event {
        case .authorization(let url): step.url = url
        case .browserObstacle(let obstacle): step.problem = obstacle.message
        case .withoutBrowser(let error, _): (step.hasBrowser, step.problem) = (false, error?.message)
        default: return
        }
        status = .signingIn(step)
    }

    /// Opens another browser window, for a user who has closed the first one.
    ///
    /// As at the first time, the browser is started with a one-time URL: every user of the machine can read its arguments,
    /// and the address contains the request's `state` (RFC 6749 §10.12).
    func openAgain() {
        guard let address = browserStep?.url, let opener = try? LoopbackRedirectListener() else { return }
        self.opener = opener
        Task {
            let url = opener.oneTimeURL(redirectingTo: address)
            do { try await Browser.system.open(url) } catch let error as AuthError {
                note(.withoutBrowser(error, canUseDevice: false))
            }
        }
    }

    /// What the user has to do in a browser now, or nil.
    var browserStep: BrowserStep? {
        switch status {
        case .signingIn(let step), .signingOut(let step): step
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
        status = .signingOut(BrowserStep())
        perform { [self] in
            defer { self.session = nil }
            var signOut = SignOut(appName: "My Account")
            signOut.observe = { [weak self] event in
                Task { @MainActor in self?.note(event) }
            }
            let report = try await signOut.run(session)
            status = .signedOut(problem: report.endSessionError)
        }
    }

    private func note(_ event: SignOut.Event) {
        guard case .signingOut(var step) = status else { return }
        switch event {
        case .browserObstacle(let obstacle): step.problem = obstacle.message
        case .endSession(let url): (step.url, step.hasBrowser) = (url, false)
        default: return
        }
        status = .signingOut(step)
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
