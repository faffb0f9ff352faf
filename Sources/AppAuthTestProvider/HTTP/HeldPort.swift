internal import Glibc
internal import NIOCore

/// A port that stays taken after its server has stopped, until this is released: a client of the stopped server then finds a
/// refused connection, and never another program's server. A new server can listen on the port.
final class HeldPort: Sendable {
    /// Bound, and never listens. As both sockets have `SO_REUSEADDR`, another one may listen.
    private let holder: CInt
    private let address: SocketAddress
    let number: Int

    /// - Parameter address: Its port may be 0, for any free one.
    /// - Throws: `IOError` if the port is in use.
    init(_ address: SocketAddress) throws {
        let holder = try Self.socket(boundTo: address)
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(holder, $0, &size) }
        }
        // The port is at the same place for IPv4 and IPv6.
        number = withUnsafeBytes(of: storage) { Int(UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))) }
        (self.holder, self.address) = (holder, address)
    }

    deinit { close(holder) }

    /// Returns a socket that listens on the port.
    func listener() throws -> CInt {
        var address = address
        address.port = number
        let descriptor = try Self.socket(boundTo: address)
        guard listen(descriptor, 256) == 0 else { throw Self.failure("listen", closing: descriptor) }
        return descriptor
    }

    private static func socket(boundTo address: SocketAddress) throws -> CInt {
        let family = CInt(address.protocol.rawValue)
        let descriptor = Glibc.socket(family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        var yes: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        guard address.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0 else {
            throw failure("bind", closing: descriptor)
        }
        return descriptor
    }

    private static func failure(_ call: String, closing descriptor: CInt) -> IOError {
        let number = errno
        close(descriptor)
        return IOError(errnoCode: number, reason: call)
    }
}
