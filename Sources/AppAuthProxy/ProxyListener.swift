internal import AppAuth
internal import CShims
internal import FoundationEssentials
internal import Glibc

/// The sockets of a proxy. Only programs of this user can connect, and root's.
///
/// ```swift
/// let listener = try ProxyListener.activated() ?? ProxyListener.loopback()
/// ```
public struct ProxyListener: Sendable {
    /// The address for clients: `http://127.0.0.1:41235`, or the path of a Unix socket.
    public let address: String

    let sockets: [Int32]
    /// The hosts that clients name in their requests, in lower case.
    let authorities: Set<String>
    let admits: @Sendable (Int32) -> Bool
    private let cleanUp: @Sendable () -> Void

    /// Listens on loopback: on 127.0.0.1, and on [::1] if the machine has it.
    ///
    /// Any program of the machine can connect to a port, so the kernel is asked for the user of each connection (sock_diag(7)).
    ///
    /// - Parameter port: The port; 0 for any free one.
    /// - Throws: ``AuthError`` with the code `listener` if the port is taken, and `unavailable` if the kernel does not report
    ///   the user. Use a Unix socket then.
    public static func loopback(port: UInt16 = 0) throws -> ProxyListener {
        let sockets = try LoopbackSockets(host: .both, ports: [port], backlog: 1024, for: "the proxy")
        do {
            return try ProxyListener(ports: [sockets.port], sockets.descriptors) { sockets.close() }
        } catch {
            sockets.close()
            throw error
        }
    }

    /// Listens on a Unix socket of mode 0600, which the end of the proxy removes.
    ///
    /// - Parameter path: Its path, in a folder that only this user can change, such as `$XDG_RUNTIME_DIR`. A socket that a
    ///   process has left there is replaced.
    /// - Throws: ``AuthError`` with the code `listener`.
    public static func socket(at path: String) throws -> ProxyListener {
        func refusal(_ why: String) -> AuthError {
            AuthError(.listener, .configuration, "no socket at \(path): \(why)", outcome: .notSent)
        }
        let parent = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        // Another user may be able to change a link in the given path later.
        let place: String
        do { place = try realPath(parent) } catch { throw refusal("\(parent): \(error.text)") }
        var folder = place
        while true {
            var status = stat()
            guard stat(folder, &status) == 0 else { throw refusal("\(folder): \(SystemError.text(errno))") }
            // In another folder, another user could put a socket of their own in its place, and get the requests. Above it, they
            // could replace the folder, unless only the owner of an entry may rename it.
            let isAbove = folder != place
            let isShared = status.st_mode & 0o022 != 0 && !(isAbove && status.st_mode & S_ISVTX != 0)
            guard [0, geteuid()].contains(status.st_uid), !isShared else {
                throw refusal("other users can change the folder \(folder). Use one such as $XDG_RUNTIME_DIR")
            }
            guard folder != "/", let end = folder.lastIndex(of: "/") else { break }
            folder = end == folder.startIndex ? "/" : String(folder[..<end])
        }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let path = place == "/" ? "/" + name : "\(place)/\(name)"
        let probe = shims_connect_to(path, 100)
        if probe >= 0 { Glibc.close(probe) }
        var entry = stat()
        if probe == -ECONNREFUSED, lstat(path, &entry) == 0, entry.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
        let descriptor = shims_listen_at(path, 1024)
        guard descriptor >= 0 else {
            throw refusal(
                probe >= 0 ? "another program listens there" : SystemError.text(-descriptor))
        }
        return ProxyListener(address: path, [descriptor]) {
            unlink(path)
            shims_end(descriptor)
        }
    }

    /// The sockets that systemd has opened for this process (sd_listen_fds(3)); nil if there are none.
    ///
    /// - Throws: ``AuthError`` with the code `listener` for a socket that is neither a Unix socket nor on loopback.
    public static func activated() throws -> ProxyListener? {
        func number(_ name: String) -> Int32? { shims_secure_getenv(name).flatMap { Int32(String(cString: $0)) } }
        guard number("LISTEN_PID") == getpid(), let count = number("LISTEN_FDS"), 1...64 ~= count else { return nil }
        let sockets = Array(3..<(3 + count))
        // Without shutdown(2): systemd goes on to listen, for the next process.
        let close = { @Sendable in for socket in sockets { _ = Glibc.close(socket) } }
        var (families, ports): (Set<Int32>, [UInt16]) = ([], [])
        for socket in sockets {
            var port: UInt16 = 0
            families.insert(shims_listening_family(socket, &port))
            ports.append(port)
        }
        if families == [AF_UNIX] {
            return ProxyListener(address: "the socket of systemd", sockets, cleanUp: close)
        }
        guard families.isSubset(of: [AF_INET, AF_INET6]) else {
            throw AuthError(
                .listener, .configuration,
                "expected sockets on 127.0.0.1 or [::1], or only Unix sockets, in LISTEN_FDS: check ListenStream=",
                outcome: .notSent)
        }
        return try ProxyListener(ports: ports, sockets, cleanUp: close)
    }

    /// - Parameters:
    ///   - ports: The ports of sockets on loopback.
    ///   - cleanUp: Closes the sockets.
    private init(ports: [UInt16], _ sockets: [Int32], cleanUp: @escaping @Sendable () -> Void) throws {
        let check = try PeerCheck(.required, sockets, in: .current)
        (address, self.sockets) = ("http://127.0.0.1:\(ports[0])", sockets)
        let hosts = ports.flatMap { port in ["127.0.0.1", "[::1]", "localhost"].map { "\($0):\(port)" } }
        // Clients leave out the default port.
        authorities = Set(hosts + (ports.contains(80) ? ["127.0.0.1", "[::1]", "localhost"] : []))
        admits = { check.admit($0) == .accepted }
        self.cleanUp = {
            check.close()
            cleanUp()
        }
    }

    /// - Parameter cleanUp: Closes the sockets.
    private init(address: String, _ sockets: [Int32], cleanUp: @escaping @Sendable () -> Void) {
        (self.address, self.sockets, self.cleanUp) = (address, sockets, cleanUp)
        // No web page reaches a Unix socket.
        authorities = ["localhost"]
        admits = { Admission.ofSameUser($0) == .accepted }
    }

    /// Closes the sockets. ``AuthProxy/run()`` does so at its end.
    func close() { cleanUp() }
}
