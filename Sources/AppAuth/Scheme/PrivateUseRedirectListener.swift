internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// A listener that waits for a redirect to a private-use scheme. Prefer loopback, as ``PrivateUseRedirect`` explains.
///
/// ```swift
/// let listener = try await PrivateUseRedirectListener(redirect)
/// let request = try AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
/// let opener = try LoopbackRedirectListener()
/// try await Browser.system.open(opener.oneTimeURL(redirectingTo: request.url))
/// let response = try await listener.response(to: request)
/// listener.close()
/// ```
/// A Unix socket with mode 0600 in `$XDG_RUNTIME_DIR/appauth` waits for the helper that the desktop starts. Each
/// connection carries one URL of at most 16 KiB within 5 s, and must come from a process of this user. At most 64
/// connections are open; if there are more, the oldest that has not brought a redirect is closed.
///
/// Several processes may wait for one scheme: each is offered the redirect, and the one whose request has the state
/// takes it. One thread serves all connections, from the initializer to ``close()``, which the deinitializer also
/// calls.
public final class PrivateUseRedirectListener: Sendable {
    /// The redirect URI for the authorization request.
    public let redirectURI: String
    private let server: SocketServer<DeliveryRules>

    /// Starts to listen, installs the desktop entry as the redirect specifies, and makes it the default.
    ///
    /// The remains of a process that has died are removed or reused.
    ///
    /// - Throws: ``AuthError`` `.unavailable` if `$XDG_RUNTIME_DIR` is missing, a file cannot be written, or another
    ///   process holds the lock of the redirects for 30 seconds;
    ///   `.listener` if the socket cannot be made, or an entry of that name does not belong to the library;
    ///   `CancellationError`. Nothing is left behind then.
    public convenience init(_ redirect: PrivateUseRedirect) async throws {
        try await self.init(redirect, try DesktopFolders.current())
    }

    package init(
        _ redirect: PrivateUseRedirect, _ folders: DesktopFolders, limits: ListenerLimits = ListenerLimits()
    ) async throws {
        redirectURI = redirect.redirectURI
        let registration = SchemeRegistration(redirect.uri.scheme, folders)
        let commitment = Commitment()
        let socket = try await onThread(named: "appauth-scheme", for: .redirect, commitment) {
            try Self.listen(redirect, registration, backlog: limits.backlog, commitment)
        }
        server = try SocketServer(
            DeliveryRules(uri: redirect.uri), on: [socket.descriptor], named: "redirect-scheme", limits: limits,
            admit: Admission.ofSameUser, cleanUp: { Self.clearAway(socket.path, registration) })
        if redirect.installation == .permanent { await registration.updateCache() }
        guard !Task.isCancelled else {
            close()
            throw CancellationError()
        }
    }

    /// Creates the socket before the entry, so that an entry always has a waiting process.
    private static func listen(
        _ redirect: PrivateUseRedirect, _ registration: SchemeRegistration, backlog: Int32, _ commitment: Commitment
    ) throws -> (path: String, descriptor: Int32) {
        try registration.folder.locked(commitment) {
            _ = try registration.folder.sweep()
            let socket = try registration.folder.bind(backlog: backlog)
            guard redirect.installation != .byPackage else { return socket }
            do {
                try registration.write(redirect, isTemporary: redirect.installation == .whileWaiting)
            } catch {
                shims_end(socket.descriptor)
                unlink(socket.path)
                if try !registration.folder.sweep() { try? registration.remove(ifTemporary: true) }
                throw error
            }
            return socket
        }
    }

    deinit { close() }

    /// The number of redirects that had no effect: with another state or path, after the awaited one, too long, or from
    /// a process of another user.
    public var ignoredRedirects: Int { server.ignored }

    /// Waits for a redirect that `match` recognises.
    ///
    /// Only one call can succeed. A redirect that arrived before the call is matched as soon as the call is made.
    ///
    /// - Parameter match: Receives the query, undecoded and without its `?`, of each URL that equals the redirect URI
    ///   up to its query; empty if there is none. It returns nil for parameters that do not belong to the request,
    ///   above all those with another state: the wait goes on. Runs on the listener's thread and must not block.
    /// - Returns: The first result of `match` that is not nil.
    /// - Throws: `CancellationError`, after everything is closed; ``AuthError`` `.listener` if the listener is closed,
    ///   another call waits, or its one redirect has arrived.
    public func redirect<Value: Sendable>(
        match: @escaping @Sendable (_ parameters: String) -> Value?
    ) async throws -> Value { try await server.redirect(match: match) }

    /// Passes every URL that equals the redirect URI up to its query to a function, as ``redirect(match:)`` does, until
    /// the task is cancelled or the listener is closed. The helper of each is told that it was taken.
    ///
    /// - Throws: As ``redirect(match:)``; it never returns.
    package func redirects(take: @escaping @Sendable (_ parameters: String) -> Void) async throws {
        try await server.redirects(take: take)
    }

    /// Fails the call of ``redirect(match:)``.
    func fail(_ error: AuthError) { server.fail(error) }

    /// Closes the socket and every connection, and ends the thread. If the desktop entry is temporary and no other
    /// process waits for the scheme, it is removed, now or by the next listener. A waiting call of ``redirect(match:)``
    /// throws.
    public func close() { server.close() }

    /// Removes the socket, and the desktop entry if it is temporary and no other process waits for the scheme.
    ///
    /// Ignores errors, since they cannot be reported here. The next listener, or a helper that finds no listener,
    /// removes what is left.
    private static func clearAway(_ socket: String, _ registration: SchemeRegistration) {
        unlink(socket)
        var folder = registration.folder
        // The caller of `close()` waits for this, and the holder of the lock may be stopped.
        folder.lockTimeout = .seconds(1)
        try? folder.locked {
            if try !folder.sweep() { try registration.remove(ifTemporary: true) }
        }
    }
}
