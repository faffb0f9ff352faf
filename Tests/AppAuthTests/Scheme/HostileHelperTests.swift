import Foundation
import TestFixtures
import Testing

@testable import AppAuth

/// Hostile processes that connect to the socket, or put another one in its place.
@Suite(.timeLimit(.minutes(5)))
struct HostileHelperTests {
    private let session: DesktopFixture

    init() throws { session = try DesktopFixture() }

    private func expectsTheRightOneStill(
        _ listener: PrivateUseRedirectListener, _ waiting: Task<String, any Error>,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(try await session.deliver(DesktopFixture.uri + "?state=s"), sourceLocation: location)
        #expect(try await waiting.value == "state=s", sourceLocation: location)
    }

    @Test func `a URL of 16 KiB is taken, and a byte more is not`() async throws {
        let start = DesktopFixture.uri + "?state=s&code="
        let longest = start + String(repeating: "c", count: RedirectDelivery.largest - start.utf8.count)
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        let socket = session.sockets[0]
        let response = try await onThread {
            let client = try SocketClient(socket)
            client.send(Array((longest + "c").utf8))
            client.endSending()
            return client.response()
        }
        #expect(response == "ignored\n")
        #expect(listener.ignoredRedirects == 1)
        #expect(try await session.deliver(longest + "c") == false)
        #expect(try await session.deliver(longest))
        #expect(try await waiting.value.utf8.count == RedirectDelivery.largest - DesktopFixture.uri.utf8.count - 1)
    }

    @Test func `a megabyte, binary and an empty message change nothing`() async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        let socket = session.sockets[0]
        let right = Array("\(DesktopFixture.uri)?state=s".utf8)
        let messages: [[UInt8]] = [
            [UInt8](repeating: 0x61, count: 1 << 20), [0xFF, 0x00, 0xFE], [0x16, 0x03, 0x01], right + [0xFF],
            [0x00] + right,
        ]
        for message in messages {
            let response = try await onThread {
                let client = try SocketClient(socket)
                client.send(message)
                client.endSending()
                return client.response()
            }
            #expect(response == "ignored\n")
        }
        #expect(listener.ignoredRedirects == messages.count)
        _ = try await onThread { try SocketClient(socket) }
        try await expectsTheRightOneStill(listener, waiting)
        #expect(listener.ignoredRedirects == messages.count)
    }

    /// As when the opener finds a hostile server while the redirect comes.
    @Test func `a caller that fails while its redirect is matched gets the error, and nothing more`() async throws {
        let listener = try await session.listener()
        let error = AuthError(.listener, .redirect, "meanwhile")
        let waiting = Task {
            try await listener.redirect { _ in
                listener.fail(error)
                return true
            }
        }
        #expect(try await !session.deliver(DesktopFixture.uri + "?state=s"))
        await #expect(throws: error) { try await waiting.value }
    }

    @Test func `a silent connection delays no other, and is closed in time`() async throws {
        let listener = try await session.listener(patience: .seconds(1))
        let waiting = Task { try await listener.redirect(state: "s") }
        let socket = session.sockets[0]
        let silent = try await onThread {
            let clients = [try SocketClient(socket), try SocketClient(socket)]
            clients[1].send(Array("\(DesktopFixture.uri)?state=".utf8))
            return clients
        }
        try await expectsTheRightOneStill(listener, waiting)
        for client in silent { #expect(try await onThread { client.response() } == "") }
    }

    @Test func `a thousand connections leave room for the right one`() async throws {
        let listener = try await session.listener(patience: .seconds(600))
        let waiting = Task { try await listener.redirect(state: "s") }
        let socket = session.sockets[0]
        let crowd = try await onThread {
            try (0..<1000).map { _ in
                let client = try SocketClient(socket)
                client.send(Array("de.7pass".utf8))
                return client
            }
        }
        try await expectsTheRightOneStill(listener, waiting)
        // The oldest has made way.
        #expect(try await onThread { crowd[0].response() } == "")
        listener.close()
    }

    // Only root can act as another user for a while.
    private static let isRoot = geteuid() == 0

    /// As the user `nobody`, sends a redirect to a socket and prints the response.
    private static let foreignHelper = """
        use Socket; $SIG{PIPE} = 'IGNORE'; ($), $>) = (65534, 65534); socket(S, AF_UNIX, SOCK_STREAM, 0);
        connect(S, pack_sockaddr_un($ARGV[0])) or die "connect: $!";
        syswrite(S, $ARGV[1]); shutdown(S, 1); sysread(S, $answer, 100); print "<$answer>";
        """

    @Test(.enabled(if: isRoot, "only root can be another user for a moment"))
    func `a process of another user is turned away, even where it could connect`() async throws {
        let listener = try await session.listener()
        let waiting = Task { try await listener.redirect(state: "s") }
        let (socket, url) = (session.sockets[0], DesktopFixture.uri + "?state=s")
        await #expect(throws: CommandFailure.self) {
            try await onThread { try run("perl", "-e", Self.foreignHelper, socket, url) }
        }
        for path in [session.root, session.folders.runtime, session.folders.runtime + "/appauth"] { chmod(path, 0o755) }
        chmod(socket, 0o666)
        let response = try await onThread { try run("perl", "-e", Self.foreignHelper, socket, url) }
        #expect(String(decoding: response, as: UTF8.self) == "<>")
        #expect(listener.ignoredRedirects == 1)
        try await expectsTheRightOneStill(listener, waiting)
    }

    /// Listens as another user, or as this one, and prints what arrives. The socket appears when it is ready.
    private static let otherListener = """
        use Socket; $SIG{PIPE} = 'IGNORE'; $| = 1; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("$ARGV[0].new")) or die "bind: $!";
        $> = $ARGV[1]; listen(S, 5); $> = 0; rename("$ARGV[0].new", $ARGV[0]); print "ready\n"; accept(C, S);
        while (sysread(C, $bytes, 65536)) { $all .= $bytes } syswrite(C, "taken\n"); print "<$all>";
        """

    @Test(.enabled(if: isRoot, "only root can be another user for a moment"), arguments: [0, 65534])
    func `the redirect is given to no other user's process`(user: Int) async throws {
        // Makes the folder, and shows by its socket which names the helper searches for.
        let listener = try await session.listener()
        let socket = session.sockets[0] + "x"
        listener.close()
        let (process, output) = (Process(), Pipe.exclusive())
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = ["-e", Self.otherListener, socket, "\(user)"]
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let file = output.fileHandleForReading
        #expect(try await onThread { try file.read(upToCount: 6) } == Data("ready\n".utf8))
        let url = DesktopFixture.uri + "?state=s"
        #expect(try await session.deliver(url) == (user == 0))
        #expect(try await onThread { try file.readToEnd() } == Data("<\(user == 0 ? url : "")>".utf8))
    }

    // MARK: $XDG_RUNTIME_DIR

    @Test(arguments: [nil, "", "run/user/1000"])
    func `without a folder for sockets the error says what is expected`(runtime: String?) throws {
        var environment = ["HOME": session.root, "XDG_RUNTIME_DIR": session.folders.runtime]
        #expect(try DesktopFolders(environment).data == session.root + "/.local/share")
        environment["XDG_RUNTIME_DIR"] = runtime
        let error = try #require(throws: AuthError.self) { try DesktopFolders(environment) }
        #expect(error.code == .unavailable && error.message.contains("$XDG_RUNTIME_DIR"))
    }

    /// By the group, by others, by both; and not at all.
    @Test(arguments: [(0o720, false), (0o702, false), (0o777, false), (0o755, true)] as [(mode_t, Bool)])
    func `a folder that others can write to is refused, whichever it is`(mode: mode_t, isRight: Bool) async throws {
        try await session.listener().close()
        for folder in [session.folders.runtime, session.folders.runtime + "/appauth"] {
            chmod(folder, mode)
            guard !isRight else {
                try await session.listener().close()
                continue
            }
            let error = try await #require(throws: AuthError.self) { try await session.listener() }
            #expect(error.code == .unavailable && error.message.contains(folder))
            await #expect(throws: AuthError.self) {
                try await onThread { try RedirectDelivery.send(DesktopFixture.uri, session.folders) }
            }
            chmod(folder, 0o700)
        }
        try await session.listener().close()
    }

    @Test(.enabled(if: isRoot, "only root can make another user’s folder")) func `another user's folder is refused`()
        async throws
    {
        chown(session.folders.runtime, 65534, 65534)
        let error = try await #require(throws: AuthError.self) { try await session.listener() }
        #expect(error.code == .unavailable && error.message.contains(session.folders.runtime))
        chown(session.folders.runtime, geteuid(), getegid())
        try await session.listener().close()
    }

    @Test func `a link in place of the folder is refused`() async throws {
        let elsewhere = session.root + "/elsewhere"
        mkdir(elsewhere, 0o700)
        symlink(elsewhere, session.folders.runtime + "/appauth")
        await #expect(throws: AuthError.self) { try await session.listener() }
        unlink(session.folders.runtime + "/appauth")
        try await session.listener().close()
    }

    @Test func `a path that no socket can have is an error that says so`() async throws {
        let deep = session.folders.runtime + "/" + String(repeating: "d", count: 60)
        mkdir(deep, 0o700)
        let folders = try DesktopFolders(["HOME": session.root, "XDG_RUNTIME_DIR": deep])
        let error = try await #require(throws: AuthError.self) {
            try await PrivateUseRedirectListener(DesktopFixture.redirect(.whileWaiting), folders)
        }
        #expect(error.code == .listener && error.message.contains("107 are possible"))
    }
}
