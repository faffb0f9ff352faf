import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import CShims
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// Whose servers on loopback are sent requests.
@Suite(.timeLimit(.minutes(1)))
struct LoopbackServerTests {
    private static let asRoot = ConditionTrait.enabled(
        if: geteuid() == 0, "only root can start a server as another user")

    // MARK: - Real servers

    @Test(asRoot, arguments: ForeignServer.Address.allCases, [false, true])
    func `another user's server on loopback gets nothing`(address: ForeignServer.Address, accepts: Bool) async throws {
        for user in [1000, 1999, 100_000] {
            let server = try ForeignServer(as: user, at: address, accepts: accepts)
            let error = await authError { try await CurlTransport(.init(proxy: .none)).send(server.request) }
            #expect(error?.code == .transport && error?.outcome == .notSent && error?.isTemporary == false)
            for word in [server.authority, "another user", "number \(user)"] {
                #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
            }
            #expect(error?.message.contains("secret") == false)
            #expect(server.received() == "")
        }
    }

    @Test(asRoot, arguments: ForeignServer.Address.allCases, [0, 33, 999, 61184, 65534])
    func `the servers of this user and of system services get requests`(
        address: ForeignServer.Address, user: Int
    ) async throws {
        let server = try ForeignServer(as: user, at: address)
        #expect(try await CurlTransport(.init(proxy: .none)).send(server.request).status == .ok)
        #expect(server.received().contains("secret"))
    }

    @Test(asRoot) func `another user's server gets requests if the app trusts all users`() async throws {
        let server = try ForeignServer(as: 1999)
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.loopbackServers = .ofAllUsers
        #expect(try await CurlTransport(configuration).send(server.request).status == .ok)
    }

    /// The connection was made to the user's own server, which has since passed it on.
    @Test(asRoot) func `a kept connection is checked again`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply()
            }
        }
        let transport = CurlTransport(.init(proxy: .none))
        _ = try await transport.send(server.get())
        _ = try await transport.send(server.get())
        #expect(server.connectionCount == 1)
        server.giveConnections(to: 1999)
        #expect(await authError { try await transport.send(server.get()) }?.outcome == .notSent)
        #expect(server.requests.count == 2)
    }

    @Test(asRoot) func `a server that proves its name with a certificate is not checked`() async throws {
        let authority = try TestAuthority()
        let certificate = try authority.issue("IP:127.0.0.1")
        try run("chmod", "a+r", "\(certificate).key")
        let server = try TLSServer(certificate, by: ForeignServer.words(as: 1999))
        let transport = CurlTransport(.init(roots: .files([authority.root]), proxy: .none))
        let request = HTTPRequest(
            method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/")
        #expect(try await transport.send(TransportRequest(request)).status == .ok)
    }

    /// What goes through it is for another server.
    @Test(asRoot) func `a proxy is not checked`() async throws {
        let proxy = try ForeignServer(as: 1999)
        let transport = CurlTransport(.init(proxy: .url("http://\(proxy.authority)"))) { _ in nil }
        let request = HTTPRequest(method: .get, scheme: "http", authority: "api.example", path: "/")
        #expect(try await transport.send(TransportRequest(request)).status == .ok)
        #expect(proxy.received().contains("GET http://api.example/"))
    }

    // MARK: - The other end

    private static func owners(on connection: CInt, of server: String, _ port: Int) -> [UInt32] {
        LoopbackServerCheck(in: .current).users(of: server, Int32(port), on: connection)
    }

    /// If there are too many handshakes, the kernel answers one from memory of its own (SYN cookies), and whoever listens when
    /// the request arrives gets it.
    @Test(asRoot) func `a connection without a socket at its other end is not trusted`() throws {
        var port: UInt16 = 0
        let listener = shims_listen_loopback(AF_INET, 0, 1, &port)
        let connection = shims_connect("127.0.0.1", Int32(port))
        defer { close(connection) }
        let accepted = shims_accept(listener)
        try #require(connection >= 0 && accepted >= 0)
        #expect(Self.owners(on: connection, of: "127.0.0.1", Int(port)) == [geteuid(), geteuid()])
        // TCP_REPAIR: it goes without a word to the other end.
        var isOn: CInt = 1
        try #require(
            setsockopt(accepted, CInt(IPPROTO_TCP), 19, &isOn, socklen_t(MemoryLayout.size(ofValue: isOn))) == 0)
        close(accepted)
        // The socket that listens says nothing about it.
        #expect(Self.owners(on: connection, of: "127.0.0.1", Int(port)) == [.max])
        close(listener)
        #expect(Self.owners(on: connection, of: "127.0.0.1", Int(port)) == [.max])
    }

    /// It is asked on another connection, and then its own is made. A kept one had an answer of its server.
    @Test(asRoot) func `a server in another network namespace gets requests`() async throws {
        let program = try ListenerProcess(
            by: ["unshare", "--net", "sh", "-ec", Self.serverElsewhere, "sh"],
            arguments: ["get", "http://127.0.0.5/", "9000", "twice"])
        for _ in 1...2 { #expect(try await onThread { try program.line() } == "200 3") }
        #expect(try await onThread { program.status() } == 0)
    }

    /// Makes another namespace, starts a server there to which a cable leads instead of the loopback interface, and then runs
    /// its arguments here. The length of a response is the number of connections so far. The server ends with the program.
    private static let serverElsewhere = """
        ip link set lo up && ip link add here type veth peer name there
        ip address add 192.0.2.1/24 dev here && ip link set here up
        unshare --net sleep 60 >/dev/null & OTHER=$!
        while [ "$(readlink /proc/$OTHER/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do :; done
        ip link set there netns $OTHER
        echo 1 > /proc/sys/net/ipv4/conf/here/route_localnet
        ip route delete local 127.0.0.0/8 dev lo table local && ip route add 127.0.0.5 dev here src 192.0.2.1
        export OTHER
        nsenter --net=/proc/$OTHER/ns/net sh -ec '
            ip link set lo up && ip address add 192.0.2.2/24 dev there && ip link set there up
            echo 1 > /proc/sys/net/ipv4/conf/there/route_localnet
            exec python3 -c "
        import os, select, socket, threading
        listener = socket.create_server((\\"127.0.0.5\\", 80))
        print(flush=True)
        def answer(connection, count):
            lines = connection.makefile(\\"rb\\")
            for line in lines:
                if line == b\\"\\r\\n\\":
                    head = f\\"HTTP/1.1 200 OK\\r\\nContent-Length: {count}\\r\\n\\r\\n\\"
                    connection.sendall(head.encode() + b\\"x\\" * count)
        def serve():
            count = 0
            while True:
                count += 1
                threading.Thread(target=answer, args=(listener.accept()[0], count), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        output = select.poll()
        output.register(1, 0)
        output.poll()
        os.kill(int(os.environ[\\"OTHER\\"]), 9)
        "' | { read -r listens; exec "$@"; }
        """

    // MARK: - The decision

    @Test(
        arguments: [
            (0, true), (999, true), (1000, false), (1001, true), (1002, true), (1003, true), (1004, false),
            (60000, false),
            (61183, false), (61184, true), (65534, true), (65535, false), (100_000, false), (.max, false),
        ] as [(UInt32, Bool)])
    func `trusted are the user, its login session and desktop, root, and system services`(user: UInt32, accepts: Bool) {
        let desktop = DesktopSession(environment: ["SUDO_UID": "1003"], user: 1001, loginUser: 1002)
        #expect(LoopbackServerCheck(in: desktop).accepts(user) == accepts)
    }

    /// There, 65534 is the number of each user that has none (user_namespaces(7)).
    @Test func `in a user namespace, a user without a number is not trusted`() {
        var desktop = DesktopSession(environment: [:], user: 1001)
        #expect(LoopbackServerCheck(in: desktop).accepts(65534))
        desktop.hasEveryUser = false
        let check = LoopbackServerCheck(in: desktop)
        #expect(!check.accepts(65534) && check.accepts(65533) && check.accepts(1001) && check.accepts(0))
    }
}

/// A server of another user, in a process of its own. It prints what it receives.
final class ForeignServer: @unchecked Sendable {
    /// Where it listens. `both` is a socket for IPv6 that also takes connections over IPv4. The last two are bound to the
    /// loopback interface, which any user may do.
    enum Address: String, CaseIterable { case v4, v6, both, v4OnDevice, v6OnDevice }

    private let process = Process()
    private let output = Pipe.exclusive()
    let authority: String

    init(as user: Int, at address: Address = .v4, port: Int = 0, accepts: Bool = true) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        let arguments = [Self.script, address.rawValue, accepts ? "1" : "0", "\(port)"]
        process.arguments = Self.words(as: user) + ["perl", "-e"] + arguments
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        authority = (address.rawValue.hasPrefix("v6") ? "[::1]:" : "127.0.0.1:") + String(decoding: line, as: UTF8.self)
    }

    deinit { kill(process.processIdentifier, SIGKILL) }

    static func words(as user: Int) -> [String] {
        ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    }

    var request: TransportRequest {
        var request = HTTPRequest(method: .post, scheme: "http", authority: authority, path: "/token")
        request.headerFields[.authorization] = "Bearer secret"
        return TransportRequest(request, body: Array("refresh_token=secret".utf8))
    }

    /// Ends the server by the signal that it cannot have inherited as blocked, and returns what it has received.
    func received() -> String {
        kill(process.processIdentifier, SIGKILL)
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    private static let script = """
        use Socket; $| = 1; my ($at, $accepts, $at_port) = @ARGV; my $v4 = $at =~ /^v4/;
        socket(my $l, $v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0) or die;
        if ($at =~ /Device/) { setsockopt($l, SOL_SOCKET, 25, "lo") or die } # SO_BINDTODEVICE
        bind($l, $v4 ? pack_sockaddr_in($at_port, INADDR_LOOPBACK)
            : pack_sockaddr_in6($at_port, "\\0" x 15 . ($at =~ /^v6/ ? "\\1" : "\\0"))) or die;
        listen($l, 16) or die;
        my ($port) = $v4 ? unpack_sockaddr_in(getsockname $l) : unpack_sockaddr_in6(getsockname $l);
        print "$port\\n";
        sleep 60 unless $accepts;
        while (accept(my $c, $l)) {
            my $all = '';
            while (sysread($c, my $part, 4096)) { $all .= $part; last if $all =~ /\\r\\n\\r\\n/ }
            print $all;
            syswrite($c, "HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok");
            close $c;
        }
        """
}
