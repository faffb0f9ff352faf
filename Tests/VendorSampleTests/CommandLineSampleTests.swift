import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import Glibc
import HTTPTypes
import TestFixtures
import Testing

/// The program `command-line`, as a user and a script run it.
struct CommandLineSampleTests {
    private func variables(_ provider: LocalProvider, _ fixture: CommandFixture) throws -> [String: String] {
        try [
            "MY_APP_ISSUER": provider.issuer, "MY_APP_CLIENT": "demo", "MY_APP_API": provider.url(.api),
            "BROWSER": fixture.browser,
            "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass",
        ]
    }

    private func withSession(
        _ test: (LocalProvider, FileTokenStore, (String...) async throws -> Outcome) async throws -> Void
    ) async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let variables = try variables(provider, fixture)
                let signedIn = try await fixture.run("command-line", ["sign-in"], variables)
                #expect(signedIn.status == 0 && signedIn.output.isEmpty)
                #expect(signedIn.errors == "my-app: Signed in as Alice Liddell.\n")
                let store = FileTokenStore(path: fixture.folder.path + "/org.example.CommandLine/session.json")
                try await test(provider, store) { try await fixture.run("command-line", $0, variables) }
            }
        }
    }

    @Test func `the result is the only output, and a sign-out needs no browser`() async throws {
        try await withSession { provider, _, run in
            let shown = try await run("show").lines()
            #expect(shown.count == 1 && shown[0].contains("\"sub\":\"248289761001\""), "\(shown)")
            let out = try await run("sign-out")
            #expect(out.status == 0 && out.output.isEmpty)
            #expect(out.errors == "my-app: Signed out. The browser may still be signed in.\n")
            #expect(provider.count(.revocation) == 2 && provider.count(.endSession) == 0)
            #expect(try await run("show").failure(77).contains("Run 'my-app sign-in'"))
            #expect(try await run("sign-out").errors == "my-app: No one was signed in.\n")
            #expect(try await run("sing-out").failure(64).contains("Usage"))
        }
    }

    @Test func `offline is 75, and a session that has ended is 77`() async throws {
        try await withSession { provider, store, run in
            provider.fault(.status(.serviceUnavailable), at: .api)
            #expect(try await run("show").failure(1).contains("503"))
            let record = try #require(try await store.load())
            // Without an access token, the program refreshes.
            let due = try AuthStateRecord(client: record.client, accessToken: nil, refreshToken: record.refreshToken)
            try await store.update { $0 = due }
            provider.fault(.status(.serviceUnavailable), at: .token, times: nil)
            #expect(try await run("show").failure(75).contains("Try again later"))
            provider.clearFaults()
            provider.revokeGrant(of: try #require(record.refreshToken).reveal())
            #expect(try await run("show").failure(77).contains("Run 'my-app sign-in'"))
        }
    }

    @Test(arguments: [true, false])
    func `the URL is on standard error by default if that is a terminal`(isTerminal: Bool) async throws {
        try await withLocalProvider { provider in
            try await CommandFixture.with { fixture in
                let screen = try isTerminal ? Screen() : nil
                let path = try fixture.write("errors", "")
                let file = open(path, O_WRONLY | O_CLOEXEC)
                defer { close(file) }
                let id = try Spawn.start(
                    [CommandFixture.product("command-line"), "sign-in"],
                    variables(provider, fixture).merging(["HOME": fixture.folder.path]) { $1 }, output: file,
                    errors: screen?.terminal ?? file)
                #expect(await Spawn.end(of: id) == 0)
                let text = try screen?.text ?? String(contentsOfFile: path, encoding: .utf8)
                #expect(text.contains("\(provider.url(.authorization))?") == isTerminal, "\(text)")
                #expect(text.contains("Signed in as Alice Liddell."))
            }
        }
    }
}

/// A terminal that keeps what is written on it.
private final class Screen {
    let terminal: CInt
    private let reader: CInt

    init() throws {
        reader = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        var isLocked: CInt = 0
        // TIOCSPTLCK and TIOCGPTPEER, see ioctl_tty(2).
        try #require(ioctl(reader, 0x4004_5431, &isLocked) == 0)
        terminal = ioctl(reader, 0x5441, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
    }

    var text: String {
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while case let count = read(reader, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    deinit {
        close(terminal)
        close(reader)
    }
}
