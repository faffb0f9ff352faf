internal import AppAuthConcurrency
public import AppAuthProtocol
public import AppAuthSession
internal import FoundationEssentials
internal import Logging

/// A complete sign-out: it revokes the tokens (RFC 7009), removes the session from the store, and sends the browser to
/// end the session at the provider (OpenID Connect RP-Initiated Logout).
///
/// ```swift
/// let report = try await SignOut(appName: "My App").run(state)
/// ```
public struct SignOut: Sendable {
    /// The browser that opens the end-session URL. If nil, no browser is started and the app shows the URL of
    /// ``Event/endSession(url:)``.
    public var browser: Browser? = .system
    /// Whether to wait for the user if no browser was started. If false, the sign-out reports the URL of
    /// ``Event/endSession(url:)`` and ends, and the provider does not send the browser back.
    public var waitsWithoutBrowser = true
    /// Whether to end the session in the browser too.
    public var endsBrowserSession = true
    /// Whether to revoke the tokens.
    public var revokesTokens = true
    /// The address that the provider redirects the browser to after the sign-out.
    public var postLogoutRedirect = PostLogoutRedirect.automatic
    /// The check whether the desktop has a program for a scheme, before ``PostLogoutRedirect/automatic`` chooses an address with
    /// a private-use scheme.
    public var desktop = DesktopHandlers.system
    /// The time limit for the revocations and the browser together. The removal from the store has the limits of the
    /// store. Not every provider sends the browser back.
    public var timeout: Duration = .seconds(300)
    /// Whether programs of other users on this machine may open the one-time URL, which leads to the ID token.
    public var sameUser = LoopbackRedirectListener.SameUserCheck.automatic
    /// The certificate for a ``postLogoutRedirect`` that is an https address on loopback, as after a sign-in with one.
    public var redirectCertificate: LoopbackRedirectListener.Certificate?
    /// The app's name, for the final page.
    public var appName: String
    /// The pages that the browser shows. If nil, the library's own pages with the app's name.
    public var pages: CompletionPages?
    /// Called for each step, on any thread. By default, ``printURL``.
    public var observe: @Sendable (Event) -> Void = SignOut.printURL

    /// An observer that prints the URL of ``Event/endSession(url:)`` to standard error: without it, the user would not know
    /// what the sign-out waits for.
    public static let printURL: @Sendable (Event) -> Void = { event in
        guard case .endSession(let url) = event else { return }
        StandardError.print(
            "No browser was started. To sign out in yours too, open this URL on this computer:",
            url.quotedAgainstJobs)
    }

    /// The address that the provider redirects the browser to after a sign-out. It must be registered for the client
    /// (RP-Initiated Logout §3). Without one, the browser stays at the provider, which cannot confirm the sign-out.
    public enum PostLogoutRedirect: Sendable, Hashable {
        /// If a ``ClientRegistrationRequest`` registered the client: the sign-in's redirect URI if it is registered for
        /// sign-outs (``ClientMetadata/postLogoutRedirectURIs``), or else another registered one that the app can receive,
        /// or none. For other clients: the sign-in's redirect URI, or `http://127.0.0.1/callback` with any port if the
        /// session began without one, for example by ``DeviceSignIn``.
        ///
        /// If the chosen URI has a private-use scheme, the library only waits for it, as with
        /// ``PrivateUseRedirect/Installation/byPackage``. If no program handles the scheme now, as after a sign-in with
        /// ``PrivateUseRedirect/Installation/whileWaiting``, the browser could not come back: it is then sent to the
        /// provider without a redirect, as with ``nowhere``. Such an app uses ``privateUse(_:)``, which makes it the
        /// handler again for the wait.
        case automatic
        /// A loopback URI that is registered for the client, for example `http://127.0.0.1:8400/signed-out`. If it has
        /// no port, any free port is used.
        case uri(String)
        /// A URI with a private-use scheme that is registered for the client, often the sign-in's own
        /// (``SignIn/Redirect/privateUse``).
        case privateUse(PrivateUseRedirect)
        /// No redirect.
        case nowhere
    }

    /// A step of the sign-out.
    public enum Event: Sendable {
        /// The revocation of the tokens is complete. Each entry reports success or failure.
        case revoked([TokenRevocation])
        /// The session was removed from the store.
        case removed
        /// The browser is about to open the provider's page.
        case openingBrowser
        /// Something may prevent the browser from opening, or weakens the sign-out's protection. Show it to the user.
        case browserObstacle(BrowserObstacle)
        /// The sign-out is waiting for the provider to send the browser back. If the provider shows an error, this URI
        /// may not be registered for the client.
        case waiting(postLogoutRedirectURI: String)
        /// The browser came back without the state of this sign-out, so that nothing confirms it. The wait goes on. Some
        /// providers leave the state out.
        case foreignRedirect
        /// No browser was started. The user may open this URL, which does not contain the ID token.
        case endSession(url: String)
    }

    /// The outcome of a sign-out. The user is signed out of this app in each case. The browser may still be signed in at the
    /// provider:
    ///
    /// - It is not, if ``sessionEnded`` is true.
    /// - It may be, if there is an ``endSessionError``, which says why.
    /// - It is not known, if there is neither: the provider has no end-session endpoint, or ``SignOut/endsBrowserSession`` is
    ///   false.
    public struct Report: Sendable, CustomStringConvertible {
        /// The tokens of the session, each with the error if its revocation failed.
        public var revocations: [TokenRevocation] = []
        /// Whether the provider sent the browser back from its end-session endpoint.
        public var sessionEnded = false
        /// The reason why the session at the provider may not have ended. Nil if it ended, if it was not to be ended, or if
        /// the provider has no end-session endpoint (``sessionEnded`` is then false).
        public var endSessionError: AuthError?

        /// What happened, in sentences for the user.
        public var description: String {
            let browser =
                if sessionEnded {
                    "Signed out, in the browser too."
                } else if let endSessionError {
                    "Signed out. The browser may still be signed in: \(endSessionError.message)."
                } else {
                    "Signed out. The browser may still be signed in."
                }
            // The error of each token is usually the same.
            let error = revocations.lazy.compactMap(\.error).first
            return browser + (error.map { " The provider may still accept the tokens: \($0.message)." } ?? "")
        }

        /// Creates a report of a sign-out that has not started.
        public init() {}
    }

    /// Creates a sign-out.
    public init(appName: String) { self.appName = appName }

    /// Signs the user out of the session in a store; see ``run(_:)``.
    ///
    /// - Returns: What happened; nil if the store has no session.
    /// - Throws: The errors of ``run(_:)``, and those of the store if the session cannot be read.
    public func run(store: some TokenStore, environment: Environment = .live) async throws -> Report? {
        guard let state = try await AuthState(restoring: store, environment: environment) else { return nil }
        return try await run(state)
    }

    /// Signs the user out.
    ///
    /// The session is removed after the tokens are revoked and before the browser opens, so the app is signed out even
    /// if the browser fails. If the provider rejects a request, the error is in the report and is not thrown. If the
    /// redirect back to the app cannot be received, the browser still opens the provider's page, and the report has the
    /// reason. If the store has the session of a later sign-in, nothing is revoked. If it is at the same provider, no
    /// browser opens either: the provider could end the later session too.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the session could not be removed, after all other
    ///   steps; `CancellationError`, after the session was removed.
    public func run(_ state: AuthState) async throws -> Report {
        var report = Report()
        let deadline = ContinuousClock.now + timeout
        if endsBrowserSession, browser != nil { await Self.renewHint(of: state, before: deadline) }
        let record = await state.record
        if revokesTokens {
            // Tokens that were revoked by the deadline stay revoked.
            let limit = ContinuousClock.now.duration(to: deadline)
            report.revocations =
                (try? await withTimeout(limit, .logout, "the tokens were not revoked") { await state.revokeTokens() })
                ?? []
            observe(.revoked(report.revocations))
        }
        let forgetting: Result<Void, any Error>
        do {
            forgetting = .success(try await state.forget())
            observe(.removed)
        } catch { forgetting = .failure(error) }
        if endsBrowserSession, record.client.provider.names(.endSession) {
            do {
                try Task.checkCancellation()
                // Many providers end all sessions of a browser at once.
                if await state.isReplacedAtProvider() {
                    throw AuthError(
                        .sessionReplaced, .logout,
                        "another sign-in has replaced the session, so the browser stays signed in", outcome: .notSent)
                }
                try await endSession(record, in: state.environment, before: deadline)
                report.sessionEnded = true
            } catch let error as AuthError {
                report.endSessionError = error
            } catch {
                report.endSessionError = AuthError(.timeout, .logout, "the wait for the browser was interrupted")
            }
        }
        try forgetting.get()
        try Task.checkCancellation()
        return report
    }

    /// Refreshes an ID token that has expired: as the hint of RP-Initiated Logout §2, providers should accept it, and several do
    /// not. If it cannot be refreshed, the sign-out goes on with it.
    private static func renewHint(of state: AuthState, before deadline: ContinuousClock.Instant) async {
        guard await state.record.idToken != nil, await state.record.client.provider.names(.endSession) else { return }
        let limit = min(.seconds(10), ContinuousClock.now.duration(to: deadline))
        _ = try? await withTimeout(limit, .logout, "the ID token was not refreshed") {
            try await state.freshIDToken(minimumValidity: .zero)
        }
    }

    private func endSession(
        _ record: AuthStateRecord, in environment: Environment, before deadline: ContinuousClock.Instant
    ) async throws {
        let page = try record.client.provider.require(.endSession)
        try environment.checkServer(ofPage: page, .logout)
        if browser == nil, !waitsWithoutBrowser {
            let error = AuthError(.browser, .logout, "no browser was started", outcome: .notSent)
            throw try leave(record, because: error)
        }
        // As at the sign-in: an issuer that a resource has named leads the browser to no other site unasked.
        do { _ = try record.client.provider.confirmed(nil, for: [page]) } catch let error as AuthError {
            throw try leave(record, because: error)
        }
        let limit = ContinuousClock.now.duration(to: deadline)
        guard limit > .zero else {
            throw AuthError(.timeout, .logout, "no time was left for the browser", outcome: .notSent)
        }
        let pages = pages ?? CompletionPages(appName: appName)
        let (listener, obstacle) = try await wayBack(for: record, pages)
        defer { listener.close() }
        let request = try EndSessionRequest(
            record: record, postLogoutRedirectURI: obstacle == nil ? listener.redirectURI : nil)
        let watch = BrowserWatch { [observe] result in
            switch result {
            case .success(let obstacle): observe(.browserObstacle(obstacle))
            case .failure: observe(.endSession(url: request.urlWithoutHint.shownRequestURL))
            }
        }
        defer { watch.end() }
        listener.onObstacle { [observe] in observe(.browserObstacle($0)) }
        let hasBrowser = try await open(request, of: record, by: listener, watch) { () throws(AuthError) in
            // A browser can take seconds to start. As long as a server listens only at one address of `localhost`, every user can
            // become the other.
            let isKnown = try environment.checkServer(ofPage: page, .logout)
            return isKnown ? request.url.reveal() : request.urlWithoutHint
        }
        if let obstacle {
            if hasBrowser { try await Self.sendOn(from: listener, within: limit) }
            throw obstacle
        }
        observe(.waiting(postLogoutRedirectURI: listener.redirectURI))
        let cameBack = LockedValue(false)
        do {
            _ = try await withTimeout(limit, .logout, "the provider did not send the browser back") {
                try await listener.redirect { [observe] query in
                    if request.isResponse(query: query) { return true }
                    cameBack.withLock { $0 = true }
                    observe(.foreignRedirect)
                    return nil
                }
            }
        } catch var error as AuthError where error.code == .timeout && cameBack.withLock({ $0 }) {
            error.message = "the browser came back without the state of this sign-out"
            throw error
        }
        environment.logger.info("logout: the browser came back with the state of this sign-out")
        await listener.finish(with: pages.signedOut)
    }

    /// Sends the browser to the provider.
    ///
    /// - Returns: Whether a browser was started.
    private func open(
        _ request: EndSessionRequest, of record: AuthStateRecord, by listener: RedirectListener, _ watch: BrowserWatch,
        target: @escaping OneTimeTarget
    ) async throws -> Bool {
        if let browser {
            observe(.openingBrowser)
            // The real URL contains the ID token, and every user of this machine can read the arguments of a process.
            do {
                try await listener.open(
                    in: browser, watch, observe: { observe(.browserObstacle($0)) }, target: target)
                return true
            } catch let error as AuthError {
                if !waitsWithoutBrowser { throw try leave(record, because: error) }
            }
        }
        observe(.endSession(url: request.urlWithoutHint.shownRequestURL))
        return false
    }

    /// Leaves the end of the session to the user, whom nothing waits for: reports the URL without a redirect.
    func leave(_ record: AuthStateRecord, because error: AuthError) throws -> AuthError {
        let request = try EndSessionRequest(record: record, postLogoutRedirectURI: nil)
        observe(.endSession(url: request.urlWithoutHint.shownRequestURL))
        return error
    }

    /// Waits until the browser has opened the one-time URL. A browser that has not done so after 30 seconds has failed.
    private static func sendOn(from listener: RedirectListener, within limit: Duration) async throws {
        try await withTimeout(min(limit, .seconds(30)), .logout, "the browser did not open the provider’s page") {
            try await listener.oneTimeURLsUsed()
        }
    }
}
