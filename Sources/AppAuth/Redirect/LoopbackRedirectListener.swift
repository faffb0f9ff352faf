public import AppAuthProtocol
internal import JOSE

/// Waits on loopback for the browser to come back (RFC 8252 §7.3).
///
/// ```swift
/// let listener = try LoopbackRedirectListener()
/// let request = try AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
/// try await Browser.system.open(listener.oneTimeURL(redirectingTo: request.url))
/// let response = try await listener.redirect { query in request.responseIfOurs(query) }
/// await listener.finish(with: .signedIn(appName: "Harbour"))
/// ```
/// The browser is answered when the outcome is known: an accepted redirect is sent on at once to an address without the
/// code, and held there until ``finish(with:)``. Everything else that connects gets a short response or is closed in time,
/// and changes nothing but ``ignoredRequests``: other paths, hosts and methods, what is not HTTP, and slow or silent
/// connections. A request may take 5 s, and its head 16 KiB; 64 connections are open at a time, of which the oldest makes
/// way for the next.
///
/// One thread serves all of it, from the initializer to ``close()``, which the last reference also calls.
public final class LoopbackRedirectListener: Sendable {
    /// Which loopback address to listen on.
    public enum Host: Sendable, Hashable {
        /// 127.0.0.1.
        case ipv4
        /// [::1].
        case ipv6
        /// 127.0.0.1 and [::1] on one port, of which a machine may lack one (RFC 8252 §7.3). There is a redirect URI for
        /// each that is there.
        case both
        /// 127.0.0.1 and [::1] on one port, while the URI says `localhost`: for providers that accept nothing else. RFC
        /// 8252 §8.3 advises against it, since a resolver or a firewall may send that name elsewhere.
        case localhost

        /// For a person; a single host as it stands in a URI.
        var name: String {
            switch self {
            case .ipv4: "127.0.0.1"
            case .ipv6: "[::1]"
            case .both: "127.0.0.1 and [::1]"
            case .localhost: "localhost"
            }
        }
    }

    private let state: ListenerState
    private let thread: LockedValue<SystemThread?>
    private let key: [UInt8]
    private let count = LockedValue(0)

    /// Binds and listens at once; the port is held from here to ``close()``.
    ///
    /// - Parameters:
    ///   - host: The address, or both.
    ///   - ports: Tried in order; 0 takes a free one. Providers accept any port for a loopback redirect (RFC 8252 §7.3)
    ///     or those that were registered.
    ///   - path: The path of the redirect URI, from its slash on, as RFC 3986 writes it. Compared byte for byte.
    ///   - addsRandomComponent: Whether a component of 128 random bits ends the path, so that no other program can tell
    ///     the address before the browser is sent there. Few providers let a redirect URI differ in its path.
    ///   - responseMode: What the authorization request asks for. With one that is posted, a POST to the path is taken too: a
    ///     form (`application/x-www-form-urlencoded`) of a stated length of 16 KiB at most. A GET still is, since
    ///     providers that do not know the mode response by it.
    ///   - sameUser: Whether programs of other users on this machine may connect.
    ///   - pages: What a browser is shown that brings something else than the awaited redirect, and the colours of every
    ///     page.
    /// - Throws: ``AuthError`` `.listener` that names every port that was tried and what was wrong with it;
    ///   `.invalidConfiguration` for a path that a browser would not send as it is; `.unavailable` if the same-user check
    ///   is required and cannot be made.
    public convenience init(
        host: Host = .ipv4, ports: [UInt16] = [0], path: String = "/callback", addsRandomComponent: Bool = false,
        responseMode: AuthorizationRequest.ResponseMode = .query, sameUser: SameUserCheck = .automatic,
        pages: CompletionPages = CompletionPages()
    ) throws {
        try self.init(
            host: host, ports: ports, path: path, addsRandomComponent: addsRandomComponent, responseMode: responseMode,
            sameUser: sameUser, pages: pages, limits: ListenerLimits())
    }

    /// - Parameter path: nil takes no redirect, and serves only one-time URLs.
    package init(
        host: Host = .ipv4, ports: [UInt16] = [0], path: String? = "/callback", addsRandomComponent: Bool = false,
        responseMode: AuthorizationRequest.ResponseMode = .query, sameUser: SameUserCheck = .automatic,
        pages: CompletionPages = CompletionPages(), limits: ListenerLimits = ListenerLimits(),
        desktop: DesktopSession = .current
    ) throws {
        if let path, !RedirectPath.isValid(path) {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected a redirect path of RFC 3986 that begins with /, without query, fragment and dots, found \(path)",
                outcome: .notSent)
        }
        do { key = try randomBytes(32) } catch {
            throw AuthError(.unavailable, .redirect, "\(error)", outcome: .notSent)
        }
        let sockets = try LoopbackSockets(host: host, ports: ports, backlog: limits.backlog)
        let peers: PeerCheck
        do { peers = try PeerCheck(sameUser, sockets.descriptors, in: desktop) } catch {
            sockets.close()
            throw error
        }
        sameUserObstacle = peers.obstacle
        do {
            let (pathSecret, pageSecret) = (Self.secret(key, -1), Self.secret(key, 0))
            let path = path.map { $0 + (addsRandomComponent ? ($0.hasSuffix("/") ? "" : "/") + pathSecret : "") }
            let routes = RedirectRoutes(
                hosts: sockets.hosts, port: sockets.port, path: path, secret: pageSecret,
                formLimit: responseMode.isPosted ? limits.formBytes : nil, pages: pages)
            let state = try ListenerState(routes)
            self.state = state
            do {
                thread = LockedValue(
                    try SystemThread(named: "redirect-\(sockets.port)", for: .redirect) {
                        var loop = ListenerLoop(sockets, state, limits, peers)
                        loop.run()
                    })
            } catch {
                state.end()
                throw error
            }
        } catch {
            sockets.close()
            peers.close()
            throw error
        }
    }

    deinit { close() }

    /// Why other users' programs are not turned away, though the check is ``SameUserCheck/automatic``; nil where they are,
    /// or where the app has made the choice.
    public let sameUserObstacle: BrowserObstacle?

    /// The redirect URI for the authorization request, for example `http://127.0.0.1:41235/callback`.
    public var redirectURI: String { redirectURIs.first ?? "" }

    /// The redirect URI for each host that is listened on, of which any may be used; 127.0.0.1 before [::1].
    public var redirectURIs: [String] { state.redirectURIs }

    /// How many requests came that were answered and changed nothing: other paths, hosts and methods, what is not HTTP,
    /// and redirects with another state or after the awaited one; and connections of other users that were closed unread.
    /// Many of them mean that somebody is trying things out.
    public var ignoredRequests: Int { state.ignoredRequests }

    /// Returns a URL of our own that redirects the first GET, and no other, to another address.
    ///
    /// Open it in place of that address: its `state` or `id_token_hint` is then in no argument list, which every user of
    /// the machine can read, and no text of the provider's reaches an opener or a shell behind it.
    public func oneTimeURL(redirectingTo target: String) -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return state.oneTimeURL(to: target, secret: Self.secret(key, number))
    }

    /// Waits until a browser has come for each of these URLs and was sent on.
    package func oneTimeURLsUsed() async throws {
        while state.hasUnusedOneTimeURL { try await Task.sleep(for: .milliseconds(50)) }
    }

    /// Waits for a redirect that `match` recognises. Can succeed once; a redirect that came before the call is judged
    /// as soon as it is made.
    ///
    /// - Parameter match: Gets the query, undecoded and without its `?`, of each GET to the exact path of the redirect
    ///   URI, empty if there is none; and the form of each POST, undecoded, where there is a form post. Returns nil for
    ///   one that is not ours, above all one with another state: the browser is told so, and the wait goes on. Runs on
    ///   the listener's thread: it must not block.
    /// - Returns: What `match` returned first that was not nil. The browser waits for ``finish(with:)`` from then on.
    /// - Throws: `CancellationError`, after everything is closed; ``AuthError`` `.listener` if the listener is or gets
    ///   closed, somebody else waits, or its one redirect has come.
    public func redirect<Value: Sendable>(
        match: @escaping @Sendable (_ parameters: String) -> Value?
    ) async throws -> Value {
        do {
            return try await withTaskCancellationHandler {
                try await withLockedContinuation { continuation in
                    state.wait(ListenerState.Waiter(continuation, match: match))
                }
            } onCancel: {
                state.close()
            }
        } catch {
            // Here, not in the handler: that one runs under a lock of the task, and must not wait for the thread.
            if Task.isCancelled {
                close()
                throw CancellationError()
            }
            throw error
        }
    }

    /// Shows the browser the true outcome, waits until it has read the page, a second at most, and closes everything.
    ///
    /// Closes at once if no redirect was accepted. If the task is cancelled, a browser that waits still gets its page,
    /// but nobody is waited for. Further calls wait for the same end.
    public func finish(with page: CompletionPage) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { state.finish(with: page, $0) }
        } onCancel: {
            state.hurry()
        }
        close()
    }

    /// Closes the port and every connection, and ends the thread. Whoever waits in ``redirect(match:)`` gets an error.
    public func close() {
        state.close()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }

    /// A text of 128 bits that nobody can guess, a different one for each number.
    private static func secret(_ key: [UInt8], _ number: Int) -> String {
        Base64URL.encode(Array(Digest.sha256.hmac(key: key, Array("\(number)".utf8)).prefix(16)))
    }
}
