internal import AppAuthConcurrency
public import AppAuthProtocol
internal import JOSE

/// A listener on loopback that waits for the browser's redirect (RFC 8252 §7.3).
///
/// ```swift
/// let listener = try LoopbackRedirectListener()
/// let request = try await AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
///     .prepared(in: environment)
/// try await Browser.system.open(listener.oneTimeURL(redirectingTo: request.url))
/// let response = try await listener.response(to: request)
/// await listener.finish(with: .signedIn(appName: "My App"))
/// ```
/// An accepted redirect is at once redirected to an address without the code. The browser is held there until
/// ``finish(with:)`` shows the outcome.
///
/// Everything else gets a short response or is closed in time, and changes only ``ignoredRequests``: other paths, hosts
/// and methods, input that is not HTTP, and slow or silent connections. A request may take 5 s and its head 128 KiB. At
/// most 64 connections are open. A further one evicts the connection with the least progress, the oldest first.
///
/// One thread serves all connections, from the initializer to ``close()``. The deinitializer also calls ``close()``.
public final class LoopbackRedirectListener: Sendable {
    /// The loopback address to listen on.
    public enum Host: Sendable, Hashable {
        /// 127.0.0.1.
        case ipv4
        /// [::1].
        case ipv6
        /// 127.0.0.1 and [::1] on one port; a machine may lack one of them (RFC 8252 §7.3). Each available address has
        /// its own redirect URI.
        case both
        /// 127.0.0.1 and [::1] on one port, with `localhost` in the URI, for providers that accept nothing else. RFC
        /// 8252 §8.3 advises against it, since a resolver or a firewall may send that name elsewhere.
        case localhost

        /// The name for messages. For a single host, it is also the name in a URI.
        var name: String {
            switch self {
            case .ipv4: "127.0.0.1"
            case .ipv6: "[::1]"
            case .both: "127.0.0.1 and [::1]"
            case .localhost: "localhost"
            }
        }
    }

    private let server: SocketServer<RedirectRoutes>
    private let tls: ListenerTLS?
    private let key: [UInt8]
    private let count = LockedValue(0)

    /// Binds the port and starts to listen. The port is held until ``close()``.
    ///
    /// - Parameters:
    ///   - host: The address, or both.
    ///   - ports: Ports to try, in order; 0 is any free port. Providers accept any port for a loopback redirect (RFC
    ///     8252 §7.3) or only the registered ones.
    ///   - path: The path of the redirect URI, with its leading slash, as RFC 3986 writes it; compared byte for byte.
    ///   - addsRandomComponent: Whether a random component of 128 bits ends the path, so that other programs cannot
    ///     know the address before the browser is sent there. Few providers allow the path of a redirect URI to vary.
    ///   - responseMode: The response mode of the authorization request. With a posted mode, the listener also accepts
    ///     a POST to the path: a form (`application/x-www-form-urlencoded`) with a stated length of at most 16 KiB. It
    ///     still accepts a GET, since providers that do not know the mode respond with one.
    ///   - sameUser: Whether programs of other users on this machine may connect.
    ///   - certificate: The certificate, if the provider accepts only an https address.
    ///   - pages: The pages for requests other than the awaited redirect, and the colours of every page.
    /// - Throws: ``AuthError`` `.listener`, which names each port that was tried and the reason why it failed;
    ///   `.invalidConfiguration` for a path that a browser would not send unchanged, and for a certificate that a browser
    ///   would refuse; `.unavailable` if the same-user check is required but not possible.
    public convenience init(
        host: Host = .ipv4, ports: [UInt16] = [0], path: String = "/callback", addsRandomComponent: Bool = false,
        responseMode: AuthorizationRequest.ResponseMode = .query, sameUser: SameUserCheck = .automatic,
        certificate: Certificate? = nil, pages: CompletionPages = CompletionPages()
    ) throws {
        try self.init(
            host: host, ports: ports, path: path, addsRandomComponent: addsRandomComponent, responseMode: responseMode,
            sameUser: sameUser, certificate: certificate, pages: pages, limits: ListenerLimits())
    }

    /// - Parameter path: The redirect path, or nil to accept no redirect and serve only one-time URLs.
    package init(
        host: Host = .ipv4, ports: [UInt16] = [0], path: String? = "/callback", addsRandomComponent: Bool = false,
        responseMode: AuthorizationRequest.ResponseMode = .query, sameUser: SameUserCheck = .automatic,
        certificate: Certificate? = nil, pages: CompletionPages = CompletionPages(),
        limits: ListenerLimits = ListenerLimits(),
        desktop: DesktopSession = .current
    ) throws {
        if let path, !RedirectPath.isValid(path) {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected a redirect path of RFC 3986 that begins with /, without query, fragment and dots, found \(path)"
            )
        }
        do { key = try randomBytes(32) } catch {
            throw AuthError(.unavailable, .redirect, "\(error)", outcome: .notSent)
        }
        let sockets = try LoopbackSockets(host: host, ports: ports, backlog: limits.backlog)
        let peers: PeerCheck
        do {
            tls = try certificate.map { try ListenerTLS($0, for: sockets.hosts) }
            peers = try PeerCheck(sameUser, sockets.descriptors, in: desktop)
        } catch {
            sockets.close()
            throw error
        }
        sameUserObstacle = peers.obstacle
        let (pathSecret, pageSecret) = (Self.secret(key, -1), Self.secret(key, 0))
        let path = path.map { $0 + (addsRandomComponent ? ($0.hasSuffix("/") ? "" : "/") + pathSecret : "") }
        let routes = RedirectRoutes(
            hosts: sockets.hosts, port: sockets.port, isSecure: tls != nil, path: path, secret: pageSecret,
            headLimit: limits.headBytes, formLimit: responseMode.isPosted ? limits.formBytes : nil, pages: pages)
        redirectURIs = routes.redirectURIs
        server = try SocketServer(
            routes, on: sockets.descriptors, named: "redirect-\(sockets.port)", limits: limits, tls: tls,
            admit: peers.admit, cleanUp: peers.close)
    }

    deinit { close() }

    /// The reason why programs of other users may connect although the check is ``SameUserCheck/automatic``. It is nil
    /// if they are rejected, if the app has made the choice, or if no other person runs a program here. (Under WSL, the
    /// users of Windows count too.)
    public let sameUserObstacle: BrowserObstacle?

    /// The redirect URI for the authorization request, for example `http://127.0.0.1:41235/callback`.
    public var redirectURI: String { redirectURIs.first ?? "" }

    /// The redirect URI of each address that the listener uses, 127.0.0.1 before [::1]. Any of them works.
    public let redirectURIs: [String]

    /// The number of requests and connections that had no effect. They are requests with other paths, hosts and
    /// methods, input that is not HTTP, redirects with another state or after the awaited one, and connections of other
    /// users that were closed unread. A large number suggests that another program is probing the port.
    public var ignoredRequests: Int { server.ignored }

    /// Returns a one-time URL of this process that redirects to another address until a redirect is accepted. Openers may ask
    /// for it before the browser does. If a program of another user has opened it, it is used up.
    ///
    /// Open it in place of that address. Its `state` or `id_token_hint` then stays out of argument lists, which every
    /// user of the machine can read. The provider's text also does not reach an opener or a shell.
    public func oneTimeURL(redirectingTo target: String) -> String { oneTimeURL { target } }

    /// As ``oneTimeURL(redirectingTo:)``, with an address that is found when the URL is opened.
    ///
    /// If `target` throws, the browser shows why, and ``redirect(match:)`` throws that error.
    package func oneTimeURL(target: @escaping OneTimeTarget) -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return server.withRules { routes, _ in routes.oneTimeURL(secret: Self.secret(key, number), to: target) }
    }

    /// Waits until a browser has opened each one-time URL. If a program that may be an opener has, waits 3 s for the browser.
    package func oneTimeURLsUsed() async throws {
        while server.withRules({ routes, _ in routes.hasUnusedOneTimeURL }) {
            try await Task.sleep(for: .milliseconds(50))
        }
        let end = ContinuousClock.now + .seconds(3)
        while !server.withRules({ routes, _ in routes.areOneTimeURLsShown }), .now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Calls a function once for each obstacle that a connection shows: it is of another user, or wants another address.
    /// Also that other users can read the key of the certificate.
    package func onObstacle(_ learn: @escaping @Sendable (BrowserObstacle) -> Void) {
        if let obstacle = tls?.obstacle { learn(obstacle) }
        server.onObstacle(learn)
    }

    /// Waits for a redirect that `match` recognises.
    ///
    /// Only one call can succeed. A redirect that arrived before the call is matched as soon as the call is made.
    ///
    /// - Parameter match: Receives the query, undecoded and without its `?`, of each GET to the exact path of the
    ///   redirect URI; it is empty if there is no query. With a posted response mode, it also receives the form of each
    ///   POST, undecoded. It returns nil for parameters that do not belong to the request, above all those with another
    ///   state: the browser is shown so, and the wait goes on. It runs on the listener's thread and must not block.
    /// - Returns: The first result of `match` that is not nil. From then on, the browser waits for ``finish(with:)``.
    /// - Throws: `CancellationError`, after everything is closed; ``AuthError`` `.listener` if the listener is closed,
    ///   another call waits, or its one redirect has arrived.
    public func redirect<Value: Sendable>(
        match: @escaping @Sendable (_ parameters: String) -> Value?
    ) async throws -> Value { try await server.redirect(match: match) }

    /// Shows the outcome to the browser, waits up to a second until it has read the page, and closes everything.
    ///
    /// If no redirect was accepted, it closes at once. If the task is cancelled, a browser that is already waiting
    /// still gets its page, but the call does not wait for others. Further calls wait for the same end.
    public func finish(with page: CompletionPage) async { await server.finish(with: page) }

    /// Closes the port and every connection, and ends the thread. A waiting call of ``redirect(match:)`` throws.
    public func close() { server.close() }

    /// Returns a random text of 128 bits, a different one for each number.
    private static func secret(_ key: [UInt8], _ number: Int) -> String {
        Base64URL.encode(Array(Digest.sha256.hmac(key: key, Array("\(number)".utf8)).prefix(16)))
    }
}
