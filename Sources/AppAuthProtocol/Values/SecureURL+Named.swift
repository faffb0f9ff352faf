internal import Glibc

extension SecureURL {
    /// Returns why a server may not name this URL as an endpoint; nil if it may.
    ///
    /// Only a server on this machine may name a URL on this machine. A remote server could otherwise direct requests,
    /// with tokens in them, to local services, which a browser would protect.
    package func objection(namedBy server: SecureURL) -> String? {
        guard isThisMachine, !server.isThisMachine else { return nil }
        return "\(place) is on this computer, so only a server on this computer may name it, "
            + "not \(server.scheme)://\(server.authority)"
    }

    /// Whether a resolver maps the host to this machine.
    ///
    /// Recognizes every notation that ``isLoopback`` rejects for http: short and numeric IPv4 addresses, IPv4 addresses
    /// inside IPv6 ones, the unspecified address, which connects to loopback on Linux, and names (RFC 6761 §6.3).
    package var isThisMachine: Bool {
        let name = String(host.hasSuffix(".") ? host.dropLast() : host[...])
        if Self.localNames.contains(name) || name.hasSuffix(".localhost") { return true }
        if name.hasPrefix("[") {
            var address = in6_addr()
            guard inet_pton(AF_INET6, String(name.dropFirst().dropLast()), &address) == 1 else { return false }
            let bytes = withUnsafeBytes(of: address, Array.init)
            // RFC 4291 §2.5.5: an IPv4 address follows 80 zero bits and 16 equal bits. ::1 and :: have the same form.
            let holdsIPv4 = bytes[..<10].allSatisfy { $0 == 0 } && (bytes[10] == 0 || bytes[10] == 0xFF)
            return holdsIPv4 && bytes[10] == bytes[11] && Self.isLocal(firstOctet: bytes[12])
        }
        var address = in_addr()
        return inet_aton(name, &address) != 0 && Self.isLocal(firstOctet: withUnsafeBytes(of: address) { $0[0] })
    }

    /// RFC 1122 §3.2.1.3: 127.0.0.0/8 is loopback, 0.0.0.0/8 is this host.
    private static func isLocal(firstOctet: UInt8) -> Bool { firstOctet == 127 || firstOctet == 0 }

    /// `localhost`, and the other names that distributions write into /etc/hosts.
    private static let localNames: Set<String> = [
        "localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback",
    ]
}
