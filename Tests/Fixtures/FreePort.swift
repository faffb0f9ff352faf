import AppAuthConcurrency
import Glibc

/// Returns a port of 127.0.0.1 for a program that cannot choose one itself. It is below those that the kernel chooses, which begin
/// at 32768, and each is returned once: no other test's socket gets it before the program does.
package func freePort() -> Int {
    while true {
        let port = nextPort.withLock { next in
            next = next == 32_767 ? 16_384 : next + 1
            return next
        }
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let isFree = withUnsafeBytes(of: address) {
            bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count)) == 0
        }
        if isFree { return port }
    }
}

private let nextPort = LockedValue(Int.random(in: 16_384..<32_768))
