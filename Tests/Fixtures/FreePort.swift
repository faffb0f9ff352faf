import AppAuthConcurrency
import Glibc

/// Returns a port of 127.0.0.1 for a program that cannot choose one itself. It is below those that the kernel chooses, which begin
/// at 32768, and below those that sign-ins register, from 16384. This process claims it until it ends: no test of another process
/// gets it before the program does.
package func freePort() -> Int {
    while true {
        let port = nextPort.withLock { next in
            next = next == 16_383 ? 10_000 : next + 1
            return next
        }
        if claim(port), isFree(port) { return port }
    }
}

/// Claims a port among the processes of tests by the name of a socket, which the kernel removes with the process.
/// `free_port` of the programs in Python uses the same names.
private func claim(_ port: Int) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    precondition(descriptor >= 0, "no socket for the claim of a port: errno \(errno)")
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // A name that begins with a zero byte is no file.
    let name = [0] + Array("appauth-test-port-\(port)".utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let isBound = withUnsafeBytes(of: address) {
        let size = MemoryLayout<sa_family_t>.size + name.count
        return bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(size)) == 0
    }
    if !isBound { close(descriptor) }
    return isBound
}

private func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return withUnsafeBytes(of: address) {
        bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count)) == 0
    }
}

private let nextPort = LockedValue(Int.random(in: 10_000..<16_384))
