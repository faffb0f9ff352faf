internal import Glibc

extension String {
    /// Whether this host of a URL, with or without the brackets of an IPv6 address, is loopback: `localhost`, in
    /// 127.0.0.0/8, or `::1` (RFC 8252 §7.3, RFC 6761 §6.3).
    package var isLoopbackHost: Bool {
        let host = lowercased()
        if host == "localhost" || host == "::1" || host == "[::1]" { return true }
        // It parses four decimal numbers without leading zeros, and nothing else. It stops at a NUL, which no URL has.
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
    }
}
