import AppAuth
import Dispatch
import Foundation
import Glibc
import TestFixtures
import Testing

/// The user at the other end of the connection.
@Suite(.timeLimit(.minutes(5)))
struct SameUserTests {
    /// The response to a request of this user's by itself.
    typealias Check = LoopbackRedirectListener.SameUserCheck

    private static func listener(
        _ check: Check, host: LoopbackRedirectListener.Host = .ipv4, loginUser: UInt32? = geteuid()
    ) throws -> LoopbackRedirectListener {
        try LoopbackRedirectListener(
            host: host, responseMode: .formPost, sameUser: check,
            desktop: DesktopSession(environment: [:], user: geteuid(), loginUser: loginUser))
    }

    @Test(arguments: [Check.automatic, .required, .off], [false, true])
    func `the same user's browser is taken`(_ check: Check, _ v6: Bool) async throws {
        let listener = try Self.listener(check, host: v6 ? .ipv6 : .ipv4)
        #expect(listener.sameUserObstacle == nil)
        let link = try #require(listener.path(of: listener.oneTimeURL(redirectingTo: "https://a.example/")))
        #expect(try await listener.get(link, v6: v6).status == 303)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get("/callback?state=s", v6: v6).status == 303)
        #expect(try await query == "state=s")
        #expect(listener.ignoredRequests == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"), arguments: [false, true])
    func `another user's program gets no response and uses nothing up`(_ v6: Bool) async throws {
        for check in [Check.automatic, .required] {
            let listener = try Self.listener(check, host: v6 ? .ipv6 : .ipv4)
            let waiting = Task { try await listener.redirect(state: "s") }
            let link = try #require(listener.path(of: listener.oneTimeURL(redirectingTo: "https://a.example/")))
            for target in ["/callback?state=s", link, "/nothing"] {
                #expect(try await firstLine(of: listener, target, v6: v6) == "", "\(check) \(target)")
            }
            #expect(listener.ignoredRequests == 3)
            #expect(try await listener.get(link, v6: v6).status == 303)
            #expect(try await listener.get("/callback?state=s", v6: v6).status == 303)
            #expect(try await waiting.value == "state=s")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"), arguments: [false, true])
    func `another user's program is served where the check is off`(_ v6: Bool) async throws {
        // By choice, and where the browser's user is unknown.
        for (check, loginUser) in [(Check.off, geteuid()), (.automatic, nil)] as [(Check, UInt32?)] {
            let listener = try Self.listener(check, host: v6 ? .ipv6 : .ipv4, loginUser: loginUser)
            #expect(listener.sameUserObstacle?.kind == (check == .off ? nil : .othersMayConnect))
            let waiting = Task { try await listener.redirect(state: "s") }
            #expect(try await firstLine(of: listener, "/callback?state=s", v6: v6) == "HTTP/1.1 303 See Other")
            #expect(try await waiting.value == "state=s")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"))
    func `the user whose login the program runs in may connect`() async throws {
        let listener = try Self.listener(.required, loginUser: Self.other)
        async let query = listener.redirect(state: "s")
        #expect(try await firstLine(of: listener, "/callback?state=s") == "HTTP/1.1 303 See Other")
        #expect(try await query == "state=s")
    }

    /// The kernel knows no user of a connection that was reset, though its request can still be read.
    @Test func `a redirect on a connection that was reset is ignored`() async throws {
        let listener = try Self.listener(.required)
        let (entered, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let waiting = Task {
            try await listener.redirect { query in
                if query == "wait" {
                    entered.signal()
                    goOn.wait()
                }
                return query.hasPrefix("state=") ? query : nil
            }
        }
        let (port, authority) = (listener.port, listener.authority)
        async let first = listener.get("/callback?wait")
        try await onThread {
            // While the listener is busy.
            entered.wait()
            defer { goOn.signal() }
            let client = try WireClient(port)
            client.send(request("/callback?state=reset", host: authority))
            client.reset()
        }
        #expect(try await first.status == 400)
        #expect(try await listener.get("/callback?state=s").status == 303)
        #expect(try await waiting.value == "state=s")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"))
    func `where the check is off, another user's connections make way first`() async throws {
        let listener = try Self.listener(.off)
        async let query = listener.redirect(state: "s")
        let (port, authority) = (listener.port, listener.authority)
        let status = try await onThread {
            let client = try WireClient(port)
            client.send("GET /callback?state=s HTTP/1.1\r\n")
            // More than may be open at a time, so that one is closed.
            try Self.asOther(
                #"""
                exec 3<>"/dev/tcp/127.0.0.1/$0"
                for i in $(seq 100); do exec {file}<>"/dev/tcp/127.0.0.1/$0" || exit 1; done
                # Until the first of them has gone.
                read -r line <&3 || exit 0
                """#, "\(port)")
            client.send("Host: \(authority)\r\n\r\n")
            return try client.response().status
        }
        #expect(status == 303)
        #expect(try await query == "state=s")
    }

    /// The kernel looks for a connection only at the interface that it is told, and without one it answers with a server that
    /// listens at the connection's other end: here, with this user's.
    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"), arguments: [false, true])
    func `another user's program is known behind the port of a server of this user`(_ isBound: Bool) async throws {
        let listener = try Self.listener(.required)
        let waiting = Task { try await listener.redirect(state: "s") }
        let client = Process()
        client.executableURL = URL(filePath: "/usr/bin/setpriv")
        client.arguments =
            ["--reuid=\(Self.other)", "--regid=\(Self.other)", "--clear-groups", "perl", "-e", Self.boundProgram]
            + ["\(listener.port)", listener.authority, isBound ? "lo" : ""]
        let (input, output) = (Pipe.exclusive(), Pipe.exclusive())
        (client.standardInput, client.standardOutput) = (input, output)
        try client.run()
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let server = try LoopbackSockets(host: .ipv4, ports: [try #require(UInt16(port))], backlog: 1)
        defer { server.close() }
        try input.fileHandleForWriting.close()
        #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
        #expect(listener.ignoredRequests == 1)
        #expect(try await listener.get("/callback?state=s").status == 303)
        #expect(try await waiting.value == "state=s")
    }

    // MARK: the other user

    /// A redirect from a port that was bound before this user's server listens there.
    private static let boundProgram = """
        use Socket; $| = 1; my ($port, $authority, $device) = @ARGV;
        socket(my $s, AF_INET, SOCK_STREAM, 0) or die;
        setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1) or die;
        if ($device) { setsockopt($s, SOL_SOCKET, 25, $device) or die } # SO_BINDTODEVICE
        bind($s, pack_sockaddr_in(0, INADDR_LOOPBACK)) or die;
        print((unpack_sockaddr_in(getsockname $s))[0]);
        <STDIN>;
        connect($s, pack_sockaddr_in($port, INADDR_LOOPBACK)) or die;
        syswrite($s, "GET /callback?state=s HTTP/1.1\r\nHost: $authority\r\n\r\n");
        while (sysread($s, my $part, 4096)) { print $part }
        """

    private static let other: UInt32 = 65534

    /// A redirect by a program of another user.
    private static let program = """
        trap '' PIPE
        exec 3<>"/dev/tcp/$0/$1"
        printf 'GET %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' "$3" "$2" >&3
        IFS= read -r line <&3
        printf '%s' "$line"
        """

    private func firstLine(
        of listener: LoopbackRedirectListener, _ target: String, v6: Bool = false
    ) async throws -> String {
        let (port, authority) = (listener.port, listener.authority)
        return try await onThread {
            try Self.asOther(Self.program, v6 ? "::1" : "127.0.0.1", "\(port)", authority, target)
        }
    }

    @discardableResult
    private static func asOther(_ script: String, _ arguments: String...) throws -> String {
        let words = ["--reuid=\(other)", "--regid=\(other)", "--clear-groups", "bash", "-c", script] + arguments
        let response = try run("setpriv", words)
        return String(decoding: response, as: UTF8.self).filter { $0 != "\r" }
    }
}
