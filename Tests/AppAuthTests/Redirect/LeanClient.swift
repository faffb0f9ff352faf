import Glibc

/// A client of few bytes, for crowds: it keeps only one small buffer and the first line of each response.
struct LeanClient {
    private let port: UInt16
    private var buffer = [UInt8](repeating: 0, count: 4096)

    init(_ port: UInt16) { self.port = port }

    /// A connection of its own that asks for something, reads the response to its end, and closes.
    ///
    /// - Returns: The status of the response; 0 if the other side closed without one.
    mutating func exchange(_ bytes: [UInt8]) throws -> Int {
        let client = try WireClient(port)
        client.send(bytes)
        return try status(client)
    }

    /// Reads a response to its end.
    mutating func status(_ client: WireClient) throws -> Int {
        var (status, isFirst) = (0, true)
        while true {
            let count = recv(client.descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw WireError(number: errno) }
            guard count > 0 else { break }
            if isFirst, count > 12 { status = buffer[9..<12].reduce(0) { $0 * 10 + Int($1) - 48 } }
            isFirst = false
        }
        // A reset, so that a hundred thousand connections leave the kernel nothing to remember.
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        return status
    }
}

/// Lets this process have some thousand connections.
func raiseDescriptorLimit() throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 8192)
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw WireError(number: errno) }
}
