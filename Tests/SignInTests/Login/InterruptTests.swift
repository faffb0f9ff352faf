import Foundation
import JOSE
import LocalProvider
import Testing

/// Signals and limits end a command, whatever it waits for, and leave nothing behind.
@Suite(.timeLimit(.minutes(5)))
struct InterruptTests {
    @Test(
        arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated"), (SIGHUP, 1, "terminated")]
            as [(CInt, CInt, String)])
    func `a signal ends the wait for the browser`(signal: CInt, status: CInt, code: String) async throws {
        try await withDesk { desk in
            let process = try desk.start(desk.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(await redirects.isClosed())
            #expect(try FileManager.default.subpathsOfDirectory(atPath: desk.home) == ["browser-reports"])
        }
    }

    @Test(arguments: [Endpoint.openIDConfiguration, .token, .keys])
    func `a signal ends the wait for the provider`(endpoint: Endpoint) async throws {
        try await withDesk { desk in
            let hold = desk.provider.hold(endpoint, before: .request)
            let process = try desk.start(desk.loginArguments([]))
            try await hold.arrived()
            process.send(SIGINT)
            try await process.outcome().failure(130, "interrupted")
            #expect(desk.stored.isEmpty)
            hold.release()
        }
    }

    @Test func `a limit bounds the requests too`() async throws {
        try await withDesk { desk in
            let hold = desk.provider.hold(.openIDConfiguration, before: .request)
            let outcome = try await desk.run("discover", desk.issuer, "--json", "--timeout", "0.5")
            try outcome.failure(1, "timeout")
            hold.release()
        }
    }

    @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated")] as [(CInt, CInt, String)])
    func `a signal ends a sign-out, and the session is gone`(signal: CInt, status: CInt, code: String) async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            let process = try desk.start(["logout", "--json", "--no-browser"])
            _ = try await Redirects(process)
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(desk.stored.isEmpty)
        }
    }
}
