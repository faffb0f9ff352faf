public import AppAuth
internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// An endpoint on this machine that adds a session's valid token to each request, and passes it to one server. A program
/// that cannot sign in, or must not hold a token, sends its requests there.
///
/// ```swift
/// let api = try SecureURL("https://api.example.org/v1/")
/// let proxy = try AuthProxy(for: api, session: state, on: .loopback())
/// print(proxy.address)  // http://127.0.0.1:41235/v1/
/// try await proxy.run()
/// ```
/// Bodies are passed on while they arrive, in both directions and of any size. If the server rejects the token as invalid, it
/// is refreshed, and the request is sent once more if at most 1 MiB of its body was sent. Redirects are passed on.
///
/// WebSockets pass, too. An open one stays open when the session ends.
///
/// Only programs of this user can connect, and no web page of another origin. Requests must name the proxy as their host, and
/// a path within the server's. Credentials and cookies pass in neither direction. Neither logs nor responses of the proxy have
/// the token; but a server that repeats it in its response gives it to the client.
public final class AuthProxy: Sendable {
    /// Returns what the user can do to sign in again, such as a command line, for the response while the session has ended or
    /// the server requires another sign-in; nil for nothing.
    ///
    /// - Parameter challenge: What the server requires; nil if the session has ended.
    public typealias Remedy = @Sendable (_ challenge: StepUpChallenge?) async -> String?

    private let listener: ProxyListener
    let rules: RequestRules
    let session: @Sendable () async throws -> AuthState
    let remedy: Remedy
    private let connections = LockedValue(0)

    /// Creates a proxy. Clients can connect, and wait for ``run()``.
    ///
    /// - Parameters:
    ///   - server: The server, and the path below which requests are passed on, for example `https://api.example.org/v1/`.
    ///   - session: The session. Its environment has a ``CurlTransport``.
    ///   - listener: The sockets. They are closed if this throws.
    ///   - origins: The origins of web pages that may send requests and read the responses, such as `http://127.0.0.1:5173`.
    ///   - remedy: What the user can do if another sign-in is needed.
    /// - Throws: ``AuthError`` with the code `invalid_configuration` for a server with a query, or an origin that no browser
    ///   sends.
    public convenience init(
        for server: SecureURL, session: AuthState, on listener: ProxyListener, allowing origins: Set<String> = [],
        remedy: @escaping Remedy = { _ in nil }
    ) throws {
        try self.init(for: server, on: listener, allowing: origins, remedy: remedy) { session }
    }

    /// Creates a proxy for a session that may be replaced: `session` is called for each request.
    public init(
        for server: SecureURL, on listener: ProxyListener, allowing origins: Set<String> = [],
        remedy: @escaping Remedy = { _ in nil }, session: @escaping @Sendable () async throws -> AuthState
    ) throws {
        func refusal(_ message: String) -> AuthError {
            listener.close()
            return AuthError(.invalidConfiguration, .configuration, message)
        }
        guard server.query == nil else { throw refusal("expected a server without a query, found \(server)") }
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].hasSuffix(":"), parts[1].isEmpty, !parts[2].isEmpty,
                origin == origin.lowercased()
            else {
                throw refusal("expected an origin, such as http://127.0.0.1:5173, found \(origin)")
            }
        }
        (self.listener, self.session, self.remedy) = (listener, session, remedy)
        rules = RequestRules(server: server, authorities: listener.authorities, allowedOrigins: origins)
    }

    /// The address for clients: the URL of the server's path through the proxy, or the path of the Unix socket.
    public var address: String {
        listener.address.hasPrefix("http:") ? listener.address + rules.server.path : listener.address
    }

    /// Serves clients until the task is cancelled, then closes all connections and the sockets. Call it once.
    ///
    /// - Throws: `CancellationError`; ``AuthError`` with the code `unavailable` if it cannot wait for connections.
    public func run() async throws {
        defer { listener.close() }
        let events = try SocketEvents()
        defer { events.close() }
        try await withTaskExecutorPreference(events) {
            try await withThrowingDiscardingTaskGroup { group in
                for socket in listener.sockets { group.addTask { try await self.serve(socket, events) } }
            }
        }
    }

    /// Serves the clients of a socket.
    private func serve(_ socket: Int32, _ events: SocketEvents) async throws {
        defer { events.forget(socket) }
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                guard let client = try await accept(on: socket, events) else { continue }
                group.addTask { [self] in
                    await serve(client)
                    connections.withLock { $0 -= 1 }
                }
            }
        }
    }

    /// Accepts the next connection. Returns nil if there was none, or it is refused.
    private func accept(on socket: Int32, _ events: SocketEvents) async throws -> ClientSocket? {
        let descriptor = shims_accept(socket)
        guard descriptor >= 0 else {
            switch -descriptor {
            case EAGAIN: try await events.wait(for: .readable, on: socket)
            case ECONNABORTED, EINTR: break
            // Out of descriptors or memory, until a connection ends.
            default: try await Task.sleep(for: .milliseconds(20))
            }
            return nil
        }
        let isAdmitted =
            listener.admits(descriptor)
            && connections.withLock { count in
                guard count < Self.mostConnections else { return false }
                count += 1
                return true
            }
        guard isAdmitted else {
            shims_end(descriptor)
            return nil
        }
        return ClientSocket(descriptor, events)
    }

    private static let mostConnections = 8192
}
