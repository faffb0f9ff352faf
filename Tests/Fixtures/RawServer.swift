internal import AppAuthConcurrency
package import Foundation
internal import JOSE

/// A TCP server on loopback that follows a script byte by byte: it can send malformed responses, drip, cut off,
/// reset and hold. Each connection has a thread of its own. Ends when it is released.
package final class RawServer: Sendable {
    package typealias Script = @Sendable (RawConnection) throws -> Void

    package let host: String
    package let port: UInt16

    private struct State {
        var requests: [RawRequest] = []
        var connections: [RawConnection] = []
        var isStopped = false
    }

    private let listener: CInt
    private let state = LockedValue(State())

    /// Listens on a free port of 127.0.0.1 or ::1 and runs the script once for each connection.
    package init(host: String = "127.0.0.1", _ script: @escaping Script) throws {
        self.host = host
        (listener, port) = try RawServer.listen(host)
        Thread.detachNewThread { [listener, state] in
            while true {
                let descriptor = retrying { accept(listener, nil, nil) }
                guard descriptor >= 0 else {
                    Glibc.close(listener)
                    return
                }
                let number = state.withLock { $0.connections.count }
                let connection = RawConnection(descriptor, number: number) { request in
                    state.withLock { $0.requests.append(request) }
                }
                state.withLock { $0.connections.append(connection) }
                Thread.detachNewThread {
                    try? script(connection)
                    connection.close()
                }
            }
        }
    }

    deinit { stop() }

    /// Takes no more connections and breaks those that are there.
    package func stop() {
        let connections = state.withLock { state -> [RawConnection]? in
            defer { state.isStopped = true }
            return state.isStopped ? nil : state.connections
        }
        // Once: its thread has closed the listener since, and another file may have its number.
        guard let connections else { return }
        shutdown(listener, CInt(SHUT_RDWR))
        for connection in connections { connection.shutDown() }
    }

    /// Makes another user the owner of the connections' sockets.
    package func giveConnections(to user: uid_t) {
        for connection in state.withLock({ $0.connections }) { connection.give(to: user) }
    }

    package var requests: [RawRequest] { state.withLock { $0.requests } }
    package var connectionCount: Int { state.withLock { $0.connections.count } }
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// A port of 127.0.0.1 without a server, which nobody else gets while this process runs.
    package static func closedPort() throws -> UInt16 { try bind("127.0.0.1").1 }

    private static func listen(_ host: String) throws -> (CInt, UInt16) {
        let (descriptor, port) = try bind(host)
        guard Glibc.listen(descriptor, 512) == 0 else {
            defer { Glibc.close(descriptor) }
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        return (descriptor, port)
    }

    private static func bind(_ host: String) throws -> (CInt, UInt16) {
        let isV6 = host.contains(":")
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var address = sockaddr_storage()
        var length = socklen_t(isV6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutableBytes(of: &address) { bytes in
            if isV6 {
                bytes.baseAddress!.assumingMemoryBound(to: sockaddr_in6.self).pointee = sockaddr_in6(
                    sin6_family: sa_family_t(AF_INET6), sin6_port: 0, sin6_flowinfo: 0, sin6_addr: in6addr_loopback,
                    sin6_scope_id: 0)
            } else {
                bytes.baseAddress!.assumingMemoryBound(to: sockaddr_in.self).pointee = sockaddr_in(
                    sin_family: sa_family_t(AF_INET), sin_port: 0, sin_addr: in_addr(s_addr: inet_addr(host)),
                    sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
            }
            let generic = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            guard Glibc.bind(descriptor, generic, length) == 0, getsockname(descriptor, generic, &length) == 0 else {
                return nil
            }
            // The port is at the same place in both.
            return UInt16(bigEndian: bytes.load(fromByteOffset: 2, as: UInt16.self))
        }
        guard let port else {
            defer { Glibc.close(descriptor) }
            throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
        return (descriptor, port)
    }
}

/// Makes a system call again where a signal has interrupted it.
package func retrying<Number: SignedInteger>(_ call: () -> Number) -> Number {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// A request as it came in.
package struct RawRequest: Sendable {
    /// All up to the empty line.
    package var head: String
    package var body: [UInt8]
    /// Which of the server's connections it came by, from 0.
    package var connection: Int

    package var line: String { String(head.prefix { !$0.isNewline }) }

    /// The values of a field, in order.
    package func values(_ name: String) -> [String] {
        head.split(whereSeparator: \.isNewline).dropFirst().compactMap { line in
            guard line.lowercased().hasPrefix(name.lowercased() + ":") else { return nil }
            return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
    }
}
