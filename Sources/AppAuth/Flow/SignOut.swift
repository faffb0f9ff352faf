public import AppAuthProtocol
public import AppAuthSession
internal import FoundationEssentials

/// A whole sign-out in one call: the tokens are revoked (RFC 7009), the session here is removed, and the browser ends
/// the session at the provider (OpenID Connect RP-Initiated Logout).
///
/// ```swift
/// let report = try await SignOut(appName: "My App").run(state)
/// ```
public struct SignOut: Sendable {
    /// What opens the end-session URL; nil opens nothing, and whoever gets ``Event/endSession(url:)`` shows it.
    public var browser: Browser? = .system
    /// Whether the session in the browser ends too.
    public var endsBrowserSession = true
    /// Whether the tokens are revoked.
    public var revokesTokens = true
    /// Where the provider sends the browser afterwards.
    public var postLogoutRedirect = PostLogoutRedirect.automatic
    /// How long all of it may take. Not every provider sends the browser back.
    public var timeout: Duration = .seconds(300)
    /// Whether programs of other users on this machine may open the one-time URL, which leads to the ID token.
    public var sameUser = LoopbackRedirectListener.SameUserCheck.automatic
    /// The app's name, for the page at the end.
    public var appName: String
    /// What the browser shows; nil means the library's own pages, with the app's name.
    public var pages: CompletionPages?
    /// Told about each step, from whatever thread.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// Where the provider sends the browser after a sign-out: only to a URI that is registered for the client (RP-Initiated
    /// Logout §3). Without one the browser stays at the provider, which then cannot confirm the sign-out.
    public enum PostLogoutRedirect: Sendable, Hashable {
        /// Where the client's registration says (``ClientMetadata/postLogoutRedirectURIs``), if it was registered by
        /// ``ClientRegistrationRequest``: nowhere if that has no loopback URI. Otherwise where the sign-in came back to.
        case automatic
        /// A loopback URI that is registered for the client, for example `http://127.0.0.1:8400/signed-out`. Without a
        /// port any free one is used.
        case uri(String)
        /// Nowhere.
        case nowhere
    }

    /// A step of the sign-out.
    public enum Event: Sendable {
        /// The tokens were revoked, or not.
        case revoked([TokenRevocation])
        /// The session is no longer in the store.
        case forgotten
        /// The browser is being sent to the provider.
        case openingBrowser
        /// Something may be in the way of the browser, or protects the sign-out less than it should: tell the person.
        case browserObstacle(BrowserObstacle)
        /// The provider is asked to send the browser back here. If it shows an error, it may not have this URI among those
        /// that are registered for the client.
        case waiting(postLogoutRedirectURI: String)
        /// There is no browser: the person may open this URL, which does not hold the ID token.
        case endSession(url: String)
    }

    /// What happened.
    public struct Report: Sendable {
        /// The tokens that there were, each with the error if it was not revoked.
        public var revocations: [TokenRevocation] = []
        /// Whether the provider sent the browser back from its end-session endpoint.
        public var sessionEnded = false
        /// Why the session at the provider may not have ended; nil if it has, or if that was not asked for.
        public var endSessionError: AuthError?

        /// Nothing has happened yet.
        public init() {}
    }

    /// Describes a sign-out.
    public init(appName: String) { self.appName = appName }

    /// Signs the person out.
    ///
    /// The session here is gone once the tokens are revoked, before the browser opens: whatever happens then, this app
    /// is signed out. What the provider refuses is reported, not thrown.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the session could not be removed, after everything else
    ///   was done; `CancellationError`, after the session was removed.
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
                report.endSessionError = AuthError(.timeout, .logout, "the wait for the browser was ended")
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
        let listener = try listener(at: target, pages)
        defer { listener.close() }
        if let obstacle = listener.sameUserObstacle { observe(.browserObstacle(obstacle)) }
        let request = try EndSessionRequest(
            record: record, postLogoutRedirectURI: target == nil ? nil : listener.redirectURI)
        let hasBrowser = try await open(request, by: listener)
        guard target != nil else {
            if hasBrowser { try await Self.sendOn(from: listener, within: limit) }
            throw AuthError(
                .invalidConfiguration, .logout,
                "no post-logout redirect URI is registered for the client, so the provider cannot confirm it")
        }
        observe(.waiting(postLogoutRedirectURI: listener.redirectURI))
        _ = try await withTimeout(limit, .logout, "the provider did not send the browser back") {
            try await listener.redirect { query in request.isAnswered(byQuery: query) ? true : nil }
        }
        await listener.finish(with: pages.signedOut)
    }

    /// Sends the browser to the provider.
    ///
    /// - Returns: Whether there is one.
    private func open(_ request: EndSessionRequest, by listener: LoopbackRedirectListener) async throws -> Bool {
        if let browser {
            observe(.openingBrowser)
            // The real URL holds the ID token, and what a program is started with can be read by everybody here.
            do {
                let url = listener.oneTimeURL(redirectingTo: request.url.reveal())
                for obstacle in try await browser.open(url) { observe(.browserObstacle(obstacle)) }
                return true
            } catch is AuthError {}
        }
        observe(.endSession(url: request.urlWithoutHint))
        return false
    }

    /// A browser that nobody waits for still has to get the address. One that does not come within half a minute has failed.
    private static func sendOn(from listener: LoopbackRedirectListener, within limit: Duration) async throws {
        try await withTimeout(min(limit, .seconds(30)), .logout, "the browser did not open the provider's page") {
            try await listener.oneTimeURLsUsed()
        }
    }

    /// Where the provider may send the browser; nil for nowhere.
    private func target(of record: AuthStateRecord) throws -> Target? {
        switch postLogoutRedirect {
        case .nowhere: return nil
        case .uri(let uri):
            guard let target = Target(uri) else {
                throw AuthError(
                    .invalidConfiguration, .logout, "expected a post-logout redirect URI on loopback", outcome: .notSent
                )
            }
            return target
        case .automatic:
            let signIn = record.redirectURI.flatMap(Target.init)
            guard let registration = record.client.registration else { return signIn ?? Target() }
            let registered = (registration.metadata.postLogoutRedirectURIs ?? []).compactMap(Target.init)
            // The provider has taken the port of the sign-in; of others a fixed one cannot be wrong.
            if let signIn, registered.contains(where: { $0.matches(signIn) }) { return signIn }
            return registered.first { $0.port != 0 } ?? registered.first
        }
    }

    /// An address on loopback that the provider sends the browser to.
    private struct Target {
        var host = LoopbackRedirectListener.Host.ipv4
        /// 0 for any.
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

        /// Whether the other is the same, or one of its ports if this one may have any.
        func matches(_ other: Target) -> Bool {
            host == other.host && path == other.path && (port == 0 || port == other.port)
        }
    }

    /// Listens where the provider will send the browser, since providers compare the address with the registered one; on a
    /// free port if that one is taken, since most do not compare the port of a loopback address (RFC 8252 §7.3).
    private func listener(at target: Target?, _ pages: CompletionPages) throws -> LoopbackRedirectListener {
        guard let target else { return try LoopbackRedirectListener(sameUser: sameUser, pages: pages) }
        return try LoopbackRedirectListener(
            host: target.host, ports: [target.port, 0], path: target.path, sameUser: sameUser, pages: pages)
    }
}

extension AuthState {
    /// Revokes, and gives up on a server that takes longer than there is time. What was revoked until then stays so.
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
