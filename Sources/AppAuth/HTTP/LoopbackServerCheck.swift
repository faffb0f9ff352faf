internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The check of a server on loopback, before a request is sent to it or a page of it is opened.
///
/// If a local provider or API has ended, another user of the machine can listen on its port, and would receive what is
/// meant for it. The kernel reports whose program has the other end of a connection (sock_diag(7)).
package struct LoopbackServerCheck: Sendable {
    private let desktop: DesktopSession

    /// - Parameter desktop: The users of this process, of its login session and of its desktop are trusted.
    package init(in desktop: DesktopSession) { self.desktop = desktop }

    /// Returns whether a server of a user may receive requests.
    package func accepts(_ user: UInt32) -> Bool { desktop.accepts(user) }

    /// What the kernel tells of a server.
    enum Answer: Equatable {
        /// The users that it belongs to, or the greatest number, which no user has, if that cannot be told. None if the kernel
        /// tells nothing, or if the server is in another network namespace.
        case users([UInt32])
        /// The kernel does not know the other end of the connection, or without one, who listens.
        case unknown
    }

    /// Asks the kernel about a server.
    ///
    /// - Parameter own: This end of a connection to it; nil for the server that listens.
    func answer(
        about server: UnsafePointer<CChar>, _ serverPort: Int32, from own: UnsafePointer<CChar>? = nil,
        _ ownPort: Int32 = 0
    ) -> Answer {
        var users: [UInt32] = [.max, .max]
        let count = shims_server_users(server, serverPort, own, ownPort, &users)
        guard count != -2 else { return .unknown }
        return .users(count < 0 ? [.max] : Array(users.prefix(Int(count))))
    }

    /// Connects to a server, and returns the users that it belongs to, as ``Answer/users(_:)``; nil if none accepts the
    /// connection within a second. It may block for a few seconds.
    ///
    /// Another user's server can listen for a moment only, and the kernel answers a handshake without a socket if there are too
    /// many (SYN cookies): then whoever listens when the request arrives gets it, and until then, nothing is known of the other
    /// end. So that is believed to be in another network namespace only if it acknowledges a probe, for which it needs a socket:
    /// one of this namespace would be known.
    package func users(ofServerReachedAt server: String, _ port: Int32) -> [UInt32]? {
        let connection = shims_connect(server, port)
        guard connection >= 0 else {
            return [-EMFILE, -ENFILE, -ENOMEM, -ENOBUFS].contains(connection) ? [.max] : nil
        }
        defer { shims_end(connection) }
        return users(of: server, port, on: connection)
    }

    package func users(of server: String, _ port: Int32, on connection: Int32) -> [UInt32] {
        var own = [CChar](repeating: 0, count: 46)
        let ownPort = shims_local_address(connection, &own)
        if case .users(let users) = answer(about: server, port, from: own, ownPort) { return users }
        guard shims_is_confirmed(connection) == 1 else { return [.max] }
        if case .users(let users) = answer(about: server, port, from: own, ownPort) { return users }
        return []
    }

    /// The users whose programs have a connection at a server's address, as far as the kernel reports them.
    ///
    /// A server that has ended, or stopped listening, may keep a connection of another program, such as a browser's, which
    /// will send its next request there.
    func connected(at server: UnsafePointer<CChar>, _ port: Int32) -> [UInt32] {
        Array(unsafeUninitializedCapacity: 64) { users, count in
            count = max(0, Int(shims_connected_users(server, port, users.baseAddress, 64)))
        }
    }
}

extension Environment {
    /// Throws if the server of a page belongs to another user, if another user's program has a connection at its address, or
    /// if no server listens there, before the page is opened or shown: its URL can have an `id_token_hint`, a `state` or a
    /// `request_uri`, and the user would enter a password there. A browser may try again until another user listens.
    ///
    /// The rule, and the app's choice of ``CurlTransport/LoopbackServers``, are those of requests.
    ///
    /// - Returns: Whether the server is known: as ``checkServer(at:_:_:)``.
    @discardableResult
    package func checkServer(ofPage url: SecureURL, _ stage: AuthError.Stage) throws(AuthError) -> Bool {
        guard url.scheme == "http" else { return true }
        let port = url.port ?? 80
        if try checkServer(at: url.host, port, stage) { return true }
        // The kernel does not report every server, for example none that it reaches by another network namespace.
        let check = LoopbackServerCheck(in: .current)
        let reached = Self.addresses(of: url.host).compactMap { check.users(ofServerReachedAt: $0, Int32(port)) }
        if let user = reached.joined().first(where: { !check.accepts($0) }) {
            throw .foreignServer("\(url.host):\(port)", of: user, stage)
        }
        guard reached.isEmpty else { return false }
        throw AuthError(
            .transport, stage,
            "no server listens at \(url.host):\(port), so the page was not opened, since any user of this machine could "
                + "start one there. Start the server first", outcome: .notSent, isTemporary: true)
    }

    /// Throws if a server on this machine belongs to another user, or if another user's program has a connection at its
    /// address.
    ///
    /// - Returns: Whether the server is known: false if none listens at one of the addresses that a client may choose, so that
    ///   any user can start one, or if the kernel does not report it.
    package func checkServer(at host: String, _ port: UInt16, _ stage: AuthError.Stage) throws(AuthError) -> Bool {
        guard (transport as? CurlTransport)?.trustsAllServers != true else { return true }
        let (addresses, check) = (Self.addresses(of: host), LoopbackServerCheck(in: .current))
        let owners = addresses.flatMap { address -> [UInt32] in
            if case .users(let users) = check.answer(about: address, Int32(port)) { users } else { [] }
        }
        let users = owners + addresses.flatMap { check.connected(at: $0, Int32(port)) }
        if let user = users.first(where: { !check.accepts($0) }) {
            throw .foreignServer("\(host):\(port)", of: user, stage)
        }
        return owners.count == addresses.count
    }

    /// Returns the addresses to which clients may connect for a host of this machine. A name, and any other notation of an
    /// address, may lead to IPv4 or IPv6, if this machine has it.
    private static func addresses(of host: String) -> [String] {
        let address = host.filter { !"[]".contains($0) }
        guard !address.isLoopbackHost || address.lowercased() == "localhost" else { return [address] }
        var port: UInt16 = 0
        let listener = shims_listen_loopback(AF_INET6, 0, 1, &port)
        guard listener >= 0 else { return ["127.0.0.1"] }
        shims_end(listener)
        return ["127.0.0.1", "::1"]
    }
}

extension AuthError {
    static func foreignServer(_ hostAndPort: String, of user: UInt32, _ stage: Stage) -> AuthError {
        guard user != .max else {
            return AuthError(
                .transport, stage,
                "it could not be told whose program the server at \(hostAndPort) is: it may have just ended. Nothing was sent to it",
                outcome: .notSent, isTemporary: true)
        }
        // Not temporary: it persists until the other user's server ends.
        return AuthError(
            .transport, stage,
            """
            the server at \(hostAndPort) belongs to another user of this machine (number \(user); see \
            'getent passwd \(user)'), who may have taken the port of a server that has ended. Nothing was sent to it. \
            Expected a server of this program’s user, of root or of a system service: run yours as one of them, or let \
            it use https
            """, outcome: .notSent)
    }
}
