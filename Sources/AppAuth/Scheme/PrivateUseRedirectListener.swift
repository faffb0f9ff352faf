internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// Waits for a redirect to a scheme of the app's own: a ``PrivateUseRedirect``, whose documentation says why loopback is
/// preferred.
///
/// ```swift
/// let listener = try await PrivateUseRedirectListener(redirect)
/// let request = try AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
/// try await Browser.system.open(request.url)
/// let response = try await listener.redirect { query in request.responseIfOurs(query) }
/// listener.close()
/// ```
/// A Unix socket of mode 0600 in `$XDG_RUNTIME_DIR/appauth` waits for the helper that the desktop starts. It takes one
/// URL of 16 KiB at most a connection, within 5 s, of processes of this user alone; 64 connections are open at a time, of
/// which the oldest makes way for the next. Several processes may wait for one scheme: each is offered the redirect, and
/// the state decides. One thread serves all of it, from the initializer to ``close()``, which the last reference also
/// calls.
public final class PrivateUseRedirectListener: Sendable {
    /// The redirect URI for the authorization request.
    public let redirectURI: String
    private let registration: SchemeRegistration
    private let state: DeliveryState
    private let socket: String
    private let thread: LockedValue<SystemThread?>

    /// Listens, then installs the desktop entry as the redirect says, and makes it the default by xdg-mime, which is
    /// waited for: some 100 ms.
    ///
    /// What a process that has died left behind is cleared away or taken over.
    ///
    /// - Throws: ``AuthError`` `.unavailable` without `$XDG_RUNTIME_DIR` or xdg-mime, or where a file cannot be written;
    ///   `.listener` where the socket cannot be made, or an entry of that name is not the library's;
    ///   `CancellationError`. Nothing is left then.
    public convenience init(_ redirect: PrivateUseRedirect) async throws {
        try await self.init(redirect, try DesktopFolders.current())
    }

    package init(
        _ redirect: PrivateUseRedirect, _ folders: DesktopFolders, patience: Duration = .seconds(5)
    ) async throws {
        let registration = SchemeRegistration(redirect.uri.scheme, folders)
        let state = try DeliveryState(redirect.uri)
        (redirectURI, self.registration, self.state) = (redirect.redirectURI, registration, state)
        do {
            let socket = try await onThread(named: "appauth-scheme", for: .redirect) {
                try Self.listen(redirect, registration)
            }
            self.socket = socket.path
            do {
                thread = LockedValue(
                    try SystemThread(named: "redirect-scheme", for: .redirect) {
                        var loop = DeliveryLoop(socket.descriptor, state, patience: patience)
                        loop.run()
                    })
            } catch {
                shims_end(socket.descriptor)
                Self.clearAway(socket.path, registration)
                throw error
            }
        } catch {
            state.end()
            throw error
        }
        guard redirect.installation != .byPackage else { return }
        do {
            try await registration.makeDefault()
            if redirect.installation == .permanent { await registration.updateCache() }
            try Task.checkCancellation()
        } catch {
            close()
            throw error
        }
    }

    /// The socket first: where the entry is, somebody waits.
    private static func listen(
        _ redirect: PrivateUseRedirect, _ registration: SchemeRegistration
    ) throws -> (path: String, descriptor: Int32) {
        try registration.folder.locked(.entry) {
            _ = try registration.folder.sweep()
            let socket = try registration.folder.bind(backlog: 1024)
            guard redirect.installation != .byPackage else { return socket }
            do {
                try registration.write(redirect, isTemporary: redirect.installation == .whileWaiting)
            } catch {
                shims_end(socket.descriptor)
                unlink(socket.path)
                throw error
            }
            return socket
        }
    }

    deinit { close() }

    /// How many redirects came that changed nothing: with another state or path, after the awaited one, too long, or of
    /// another user's process.
    public var ignoredRedirects: Int { state.ignoredRedirects }

    /// Waits for a redirect that `match` recognises. Can succeed once; a redirect that came before the call is judged as
    /// soon as it is made.
    ///
    /// - Parameter match: Gets the query, undecoded and without its `?`, of each URL that is the redirect URI up to its
    ///   query, empty if there is none. Returns nil for one that is not ours, above all one with another state: the wait
    ///   goes on. Runs on the listener's thread: it must not block.
    /// - Returns: What `match` returned first that was not nil.
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

    /// Closes the socket and every connection, ends the thread, and removes the desktop entry if it is to go and nobody
    /// else waits for the scheme. Whoever waits in ``redirect(match:)`` gets an error.
    public func close() {
        state.close()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let thread else { return }
        thread.join()
        Self.clearAway(socket, registration)
    }

    /// Nobody can be told of a failure here. What stays is cleared away by the next to wait, or by the helper that a
    /// browser starts in vain.
    private static func clearAway(_ socket: String, _ registration: SchemeRegistration) {
        unlink(socket)
        try? registration.folder.locked(.entry) {
            if try !registration.folder.sweep() { try registration.remove(ifTemporary: true) }
        }
    }
}
