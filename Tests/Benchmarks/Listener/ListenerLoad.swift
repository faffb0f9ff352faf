internal import BenchReport
internal import Glibc

/// The requests of the clients.
private let redirect = "/callback?code=0123456789abcdef0123456789abcdef&state=wrong"

/// The process that sends redirects to a server.
struct Load {
    private let process: pid_t
    private let output: Int32

    init(port: Int, for duration: Duration) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure("a pipe cannot be made") }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        defer { posix_spawn_file_actions_destroy(&actions) }

        let words = ["listener-bench", "load", "\(port)", "\(duration / .seconds(1))"]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        guard posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, environ) == 0 else {
            throw Failure("the process of the clients cannot be started")
        }
        (self.process, output) = (process, ends[0])
    }

    /// How many responses came, and in how many seconds.
    func result() throws -> (n: Int, wall: Double) {
        var (text, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 4096))
        while true {
            let count = read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            text += buffer[..<count]
        }
        close(output)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        func member(_ name: String) -> Double? {
            let all = String(decoding: text, as: UTF8.self)
            return all.firstRange(of: "\"\(name)\":").flatMap { range in
                Double(all[range.upperBound...].prefix { "0123456789.".contains($0) })
            }
        }
        guard status == 0, let n = member("n"), let wall = member("wall_s") else {
            throw Failure("the clients got no responses")
        }
        return (Int(n), wall)
    }
}

/// `load PORT SECONDS`: two clients, each with one connection after the other.
func listenerLoad(port: Int, for duration: Duration) async throws -> Report {
    let start = Spent.now
    let end = ContinuousClock.now + duration
    let n = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<2 {
            group.addTask {
                var client = LoadClient(port: UInt16(port))
                var count = 0
                while ContinuousClock.now < end {
                    try client.ask()
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
    return Report(n: n, Spent.now - start)
}

/// A client that asks, reads the response to its end, and closes.
private struct LoadClient {
    private let port: UInt16
    private let request: [UInt8]
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    init(port: UInt16) {
        self.port = port
        request = Array(
            """
            GET \(redirect) HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r
            Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r
            Accept-Language: de,en-US;q=0.7,en;q=0.3\r
            Connection: keep-alive\r
            \r

            """.utf8)
    }

    mutating func ask() throws {
        let descriptor = try Loopback.connect(port)
        defer { close(descriptor) }
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failure("a request could not be sent")
        }
        var length = 0
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw Failure("a response did not come whole") }
            guard count > 0 else { break }
            length += count
        }
        guard length > 1000 else { throw Failure("expected a page, found \(length) bytes") }
        // A reset, so that the kernel has nothing to remember of it.
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }
}

/// Sockets on 127.0.0.1.
enum Loopback {
    static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = try socket()
        guard withAddress(port, { Glibc.connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            throw Failure("a connection was refused")
        }
        return descriptor
    }

    /// A socket that listens on a free port.
    static func listen() throws -> (descriptor: Int32, port: Int) {
        let descriptor = try socket()
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard withAddress(0, { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 1024) == 0 else {
            throw Failure("a port could not be bound")
        }
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func socket() throws -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure("a socket could not be made") }
        return descriptor
    }

    private static func withAddress(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
