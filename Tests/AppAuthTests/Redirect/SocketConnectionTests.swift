import Foundation
import Glibc
import Testing

@testable import AppAuth

/// The sockets of the listener: what is lost if a connection gives way to another one, and what wakes the thread.
struct SocketConnectionTests {
    private struct Pair {
        let mine: Int32
        let theirs: Int32

        init() throws {
            var sockets: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
            try #require(socketpair(AF_UNIX, kind, 0, &sockets) == 0)
            (mine, theirs) = (sockets[0], sockets[1])
        }

        func close() { for socket in [mine, theirs] { Glibc.close(socket) } }
    }

    /// The worth of a connection at each step, from the end to a request that waits.
    private func worths(isForeign: Bool) throws -> [Int] {
        let now = ContinuousClock.now
        let steps: [(inout SocketConnection<Void>) -> Void] = [
            { $0.end() }, { $0.respond([1], now: now) }, { _ in },
            // More than fits into the buffers of the kernel.
            { $0.respond(Array(repeating: 1, count: 16 << 20), now: now) }, { $0.wait() },
        ]
        return try steps.map { step in
            let pair = try Pair()
            defer { pair.close() }
            var connection = SocketConnection(
                descriptor: pair.mine, request: (), isForeign: isForeign, limits: ListenerLimits(), now: now)
            step(&connection)
            return connection.worth
        }
    }

    @Test func `a connection is worth more the more is lost with it, and less than any if another user opened it`()
        throws
    {
        let (own, foreign) = (try worths(isForeign: false), try worths(isForeign: true))
        for worths in [own, foreign] { #expect(worths == Set(worths).sorted(), "\(worths)") }
        #expect(try #require(foreign.max()) < #require(own.min()))
    }

    @Test func `what TLS has to send is sent as the peer accepts it`() throws {
        let authority = try TestAuthority()
        let files = try authority.issue("IP:127.0.0.1")
        // A chain of 30 kB.
        let chain = [files + ".pem"] + Array(repeating: authority.root, count: 80)
        let text = try chain.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
        try text.write(toFile: files + ".pem", atomically: true, encoding: .utf8)
        let tls = try ListenerTLS(.init(file: files + ".pem", keyFile: files + ".key"), for: [])
        let pair = try Pair()
        defer { pair.close() }
        var size = CInt(4096)
        setsockopt(pair.mine, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
        var connection = SocketConnection(
            descriptor: pair.mine, request: (), isForeign: false, limits: ListenerLimits(), tls: TLSSession(tls),
            now: .now)
        try #require(send(pair.theirs, clientHello, clientHello.count, 0) == clientHello.count)
        var (scratch, buffer, total) = ([UInt8](repeating: 0, count: 16 << 10), [UInt8](repeating: 0, count: 65536), 0)
        #expect(try connection.receive(&scratch) == nil)
        #expect(connection.events == Int16(POLLIN | POLLOUT))
        while true {
            let count = recv(pair.theirs, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            total += count
            _ = try connection.receive(&scratch)
        }
        #expect(total > 25_000 && connection.events == Int16(POLLIN))
    }

    /// In a process without standard input.
    @Test func `the thread is woken by descriptor 0`() async {
        await #expect(processExitsWith: .success) {
            let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
            for _ in 0..<100 {
                dup2(null, 0)
                let sockets = try LoopbackSockets(host: .ipv4, ports: [0], backlog: 1)
                let routes = RedirectRoutes(
                    hosts: sockets.hosts, port: sockets.port, path: "/callback", secret: "s", headLimit: 1024)
                close(0)
                let server = try SocketServer(
                    routes, on: sockets.descriptors, named: "test", limits: ListenerLimits(), admit: { _ in .accepted },
                    cleanUp: {})
                defer { server.close() }
                // Another thread of the process may have taken the number first.
                if server.wakeUp == 0 { return }
            }
            try #require(Bool(false), "expected the descriptor 0, found others")
        }
    }
}
