public import AppAuthProtocol
public import AppAuthSession
internal import FoundationEssentials

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
    /// Whether to end the session in the browser too.
    public var endsBrowserSession = true
    /// Whether to revoke the tokens.
    public var revokesTokens = true
    /// The address that the provider redirects the browser to after the sign-out.
    public var postLogoutRedirect = PostLogoutRedirect.automatic
    /// The time limit for the whole sign-out. Not every provider sends the browser back.
    public var timeout: Duration = .seconds(300)
    /// Whether programs of other users on this machine may open the one-time URL, which leads to the ID token.
    public var sameUser = LoopbackRedirectListener.SameUserCheck.automatic
    /// The app's name, for the final page.
    public var appName: String
    /// The pages that the browser shows. If nil, the library's own pages with the app's name.
    public var pages: CompletionPages?
    /// Called for each step, on any thread.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// The address that the provider redirects the browser to after a sign-out. It must be registered for the client
    /// (RP-Initiated Logout §3). Without one, the browser stays at the provider, which cannot confirm the sign-out.
    public enum PostLogoutRedirect: Sendable, Hashable {
        /// The client's registered URI (``ClientMetadata/postLogoutRedirectURIs``) if a ``ClientRegistrationRequest``
        /// registered the client, or none if the app can receive none of them. Otherwise, the sign-in's redirect URI.
        ///
        /// If that has a private-use scheme, the library only waits for it, as with
        /// ``PrivateUseRedirect/Installation/byPackage``. An app that is the handler only while it waits uses
        /// ``privateUse(_:)``.
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
        case forgotten
        /// The browser is about to open the provider's page.
        case openingBrowser
        /// Something may prevent the browser from opening, or weakens the sign-out's protection. Show it to the user.
        case browserObstacle(BrowserObstacle)
        /// The sign-out is waiting for the provider to send the browser back. If the provider shows an error, this URI
        /// may not be registered for the client.
        case waiting(postLogoutRedirectURI: String)
        /// No browser was started. The user may open this URL, which does not contain the ID token.
        case endSession(url: String)
    }

    /// The outcome of a sign-out.
    public struct Report: Sendable {
        /// The tokens of the session, each with the error if its revocation failed.
        public var revocations: [TokenRevocation] = []
        /// Whether the provider sent the browser back from its end-session endpoint.
        public var sessionEnded = false
        /// The reason why the session at the provider may not have ended. Nil if it ended or was not to be ended.
        public var endSessionError: AuthError?

        /// Creates a report of a sign-out that has not started.
        public init() {}
    }

    /// Creates a sign-out.
    public init(appName: String) { self.appName = appName }

    /// Signs the user out of the session in a store; see ``run(_:)``.
    ///
    /// - Returns: What happened; nil if the store has no session.
    public func run(store: some TokenStore, environment: Environment = .live) async throws -> Report? {
        guard let state = try await AuthState(restoring: store, environment: environment) else { return nil }
        return try await run(state)
    }

    /// Signs the user out.
    ///
    /// The session is removed after the tokens are revoked and before the browser opens, so the app is signed out even
    /// if the browser fails. If the provider rejects a request, the error is in the report and is not thrown.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the session could not be removed, after all other
    ///   steps; `CancellationError`, after the session was removed.
    public func run(_ state: AuthState) async throws -> Report {
        var report = Report()
        let deadline = ContinuousClock.now + timeout
        let record = await state.record
        if revokesTokens {
            report.revocations = await state.revokeTokens(before: deadline)
            observe(.revoked(report.revocations))
        }
        let forgetting: Result<Void, any Error>
        do {
            forgetting = .success(try await state.forget())
            observe(.forgotten)
        } catch { forgetting = .failure(error) }
        if endsBrowserSession, record.client.provider[.endSession] != nil {
            do {
                try Task.checkCancellation()
                try await endSession(record, before: deadline)
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

    private func endSession(_ record: AuthStateRecord, before deadline: ContinuousClock.Instant) async throws {
        let limit = ContinuousClock.now.duration(to: deadline)
        guard limit > .zero else {
            throw AuthError(.timeout, .logout, "no time was left for the browser", outcome: .notSent)
        }
        let pages = pages ?? CompletionPages(appName: appName)
        let target = try target(of: record)
        let listener = try await listener(at: target, pages)
        defer { listener.close() }
        if let obstacle = listener.sameUserObstacle { observe(.browserObstacle(obstacle)) }
        let request = try EndSessionRequest(
            record: record, postLogoutRedirectURI: target == nil ? nil : listener.redirectURI)
        let hasBrowser = try await open(request, by: listener)
        guard target != nil else {
            if hasBrowser { try await Self.sendOn(from: listener, within: limit) }
            throw AuthError(
                .invalidConfiguration, .logout,
                "no post-logout redirect URI is registered for the client, so the provider cannot confirm the sign-out")
        }
        observe(.waiting(postLogoutRedirectURI: listener.redirectURI))
        _ = try await withTimeout(limit, .logout, "the provider did not send the browser back") {
            try await listener.redirect { query in request.isAnswered(byQuery: query) ? true : nil }
        }
        await listener.finish(with: pages.signedOut)
    }

    /// Sends the browser to the provider.
    ///
    /// - Returns: Whether a browser was started.
    private func open(_ request: EndSessionRequest, by listener: RedirectListener) async throws -> Bool {
        if let browser {
            observe(.openingBrowser)
            // The real URL contains the ID token, and every user of this machine can read the arguments of a process.
            do {
                let url = listener.oneTimeURL(redirectingTo: request.url.reveal())
                for obstacle in try await browser.open(url) { observe(.browserObstacle(obstacle)) }
                return true
            } catch is AuthError {}
        }
        observe(.endSession(url: request.urlWithoutHint))
        return false
    }

    /// Waits until the browser has opened the one-time URL. A browser that has not done so after 30 seconds has failed.
    private static func sendOn(from listener: RedirectListener, within limit: Duration) async throws {
        try await withTimeout(min(limit, .seconds(30)), .logout, "the browser did not open the provider's page") {
            try await listener.oneTimeURLsUsed()
        }
    }

    /// Returns the address that the provider may redirect to, or nil for none.
    private func target(of record: AuthStateRecord) throws -> Target? {
        switch postLogoutRedirect {
        case .nowhere: return nil
        case .privateUse(let redirect): return .privateUse(redirect)
        case .uri(let uri):
            guard let address = LoopbackAddress(uri) else {
                throw AuthError(
                    .invalidConfiguration, .logout, "expected a post-logout redirect URI on loopback", outcome: .notSent
                )
            }
            return .loopback(address)
        case .automatic:
            let signIn = record.redirectURI.flatMap(target(at:))
            guard let registration = record.client.registration else { return signIn ?? .loopback(LoopbackAddress()) }
            let registered = (registration.metadata.postLogoutRedirectURIs ?? []).compactMap(target(at:))
            // The provider accepts the port of the sign-in. Otherwise, prefer a URI with a fixed port, and loopback, which
            // needs no handler on the desktop.
            if let signIn, registered.contains(where: { $0.matches(signIn) }) { return signIn }
            return registered.first { $0.hasFixedPort } ?? registered.first { $0.isLoopback } ?? registered.first
        }
    }

    /// Returns how the app receives a redirect to a URI, or nil if it cannot.
    private func target(at uri: String) -> Target? {
        if let address = LoopbackAddress(uri) { return .loopback(address) }
        let redirect = try? PrivateUseRedirect(uri, appName: appName, arguments: [], installation: .byPackage)
        return redirect.map(Target.privateUse)
    }

    private enum Target {
        case loopback(LoopbackAddress)
        case privateUse(PrivateUseRedirect)

        var isLoopback: Bool { if case .loopback = self { true } else { false } }

        var hasFixedPort: Bool {
            if case .loopback(let address) = self { address.port != 0 } else { false }
        }

        /// Returns whether a provider that registered this address accepts the other.
        func matches(_ other: Target) -> Bool {
            switch (self, other) {
            case (.loopback(let address), .loopback(let other)): address.matches(other)
            case (.privateUse(let redirect), .privateUse(let other)): redirect.redirectURI == other.redirectURI
            default: false
            }
        }
    }

    /// A loopback address that the provider redirects the browser to.
    private struct LoopbackAddress {
        var host = LoopbackRedirectListener.Host.ipv4
        /// 0 is any port.
        var port: UInt16 = 0
        var path = "/callback"

        init() {}

        init?(_ uri: String) {
            guard let url = try? SecureURL(uri), url.scheme == "http", url.query == nil else { return nil }
            switch url.host {
            case "127.0.0.1": host = .ipv4
            case "[::1]": host = .ipv6
            case "localhost": host = .localhost
            default: return nil
            }
            (port, path) = (url.port ?? 0, url.path)
        }

        /// Returns whether the two addresses are equal. If this address has port 0, any port of the other matches.
        func matches(_ other: LoopbackAddress) -> Bool {
            host == other.host && path == other.path && (port == 0 || port == other.port)
        }
    }

    /// Opens a listener at the redirect address, since providers compare it with the registered one. If its port is
    /// taken, a free port is used: most providers do not compare the port of a loopback address (RFC 8252 §7.3).
    private func listener(at target: Target?, _ pages: CompletionPages) async throws -> RedirectListener {
        var redirect = SignIn.Redirect()
        redirect.sameUser = sameUser
        switch target {
        case .loopback(let address):
            (redirect.host, redirect.ports, redirect.path) = (address.host, [address.port, 0], address.path)
        case .privateUse(let privateUse): redirect.privateUse = privateUse
        case nil: break
        }
        return try await RedirectListener(redirect, responseMode: .query, pages: pages)
    }
}

extension AuthState {
    /// Revokes the tokens until the deadline. Tokens that were revoked by then stay revoked.
    fileprivate func revokeTokens(before deadline: ContinuousClock.Instant) async -> [TokenRevocation] {
        let revoking = Task { await self.revokeTokens() }
        let clock = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            revoking.cancel()
        }
        defer { clock.cancel() }
        return await withTaskCancellationHandler {
            await revoking.value
        } onCancel: {
            revoking.cancel()
        }
    }
}
