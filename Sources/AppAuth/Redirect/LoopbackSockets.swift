internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The listening sockets of one port. The port stays bound from the initializer to `close()`.
package struct LoopbackSockets: Sendable {
    package let port: UInt16
    /// The bound addresses as redirect URIs name them, the preferred one first.
    private(set) var hosts: [String]
    package let descriptors: [Int32]

    /// Binds the first port that is available.
    ///
    /// - Parameters:
    ///   - ports: Ports to try, in order; 0 is any free port.
    ///   - purpose: What the port is for, in messages.
    package init(
        host: LoopbackRedirectListener.Host, ports: [UInt16], backlog: Int32, for purpose: String = "the redirect"
    ) throws {
        var failures: [String] = []
        for port in ports {
            switch Self.bind(host, port, backlog) {
            case .success(let sockets):
                self = sockets
                if host == .localhost { hosts = [host.name] }
                return
            case .failure(let failure):
                failures.append("\(port == 0 ? "any port" : "port \(port)"): \(failure.text)")
            }
        }
        let reasons = failures.isEmpty ? "no port was given" : failures.joined(separator: "; ")
        throw AuthError(
            .listener, .redirect, "no free port on \(host.name) for \(purpose): \(reasons)",
            outcome: .notSent, isTemporary: true)
    }

    private init(port: UInt16, hosts: [String], descriptors: [Int32]) {
        (self.port, self.hosts, self.descriptors) = (port, hosts, descriptors)
    }

    private struct Failure: Error {
        let number: Int32
        let host: String
        var text: String { "\(SystemError.text(number)) on \(host)" }
        /// Whether the machine does not have this address family.
        var isMissingFamily: Bool { number == EAFNOSUPPORT || number == EADDRNOTAVAIL }
    }

    private static func bind(
        _ host: LoopbackRedirectListener.Host, _ port: UInt16, _ backlog: Int32
    ) -> Result<LoopbackSockets, Failure> {
        switch host {
        case .ipv4: return single(AF_INET, port, backlog)
        case .ipv6: return single(AF_INET6, port, backlog)
        case .both, .localhost:
            // A port that is free for one family may be taken for the other. If so, try another port.
            var result = both(port, backlog)
            for _ in 0..<32 where port == 0 {
                guard case .failure(let failure) = result, failure.number == EADDRINUSE else { break }
                result = both(port, backlog)
            }
            return result
        }
    }

    private static func single(_ family: Int32, _ port: UInt16, _ backlog: Int32) -> Result<LoopbackSockets, Failure> {
        var bound: UInt16 = 0
        let host = family == AF_INET ? "127.0.0.1" : "[::1]"
        let descriptor = shims_listen_loopback(family, port, backlog, &bound)
        guard descriptor >= 0 else { return .failure(Failure(number: -descriptor, host: host)) }
        return .success(LoopbackSockets(port: bound, hosts: [host], descriptors: [descriptor]))
    }

    /// Binds both families on one port, or only one if the machine lacks the other.
    private static func both(_ port: UInt16, _ backlog: Int32) -> Result<LoopbackSockets, Failure> {
        let first = single(AF_INET, port, backlog)
        guard case .success(let v4) = first else {
            if case .failure(let failure) = first, failure.isMissingFamily { return single(AF_INET6, port, backlog) }
            return first
        }
        switch single(AF_INET6, v4.port, backlog) {
        case .success(let v6):
            return .success(
                LoopbackSockets(
                    port: v4.port, hosts: v4.hosts + v6.hosts, descriptors: v4.descriptors + v6.descriptors))
        case .failure(let failure) where failure.isMissingFamily: return first
        case .failure(let failure):
            v4.close()
            return .failure(failure)
        }
    }

    package func close() {
        for descriptor in descriptors { shims_end(descriptor) }
    }
}
