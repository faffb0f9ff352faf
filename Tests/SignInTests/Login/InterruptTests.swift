import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Signals and limits end a command in every wait, and leave nothing behind.
@Suite(.timeLimit(.minutes(5)))
struct InterruptTests {
    @Test(
        arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated"), (SIGHUP, 1, "terminated")]
            as [(CInt, CInt, String)])
    func `a signal ends the wait for the browser`(signal: CInt, status: CInt, code: String) async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(await redirects.isClosed())
            #expect(try FileManager.default.subpathsOfDirectory(atPath: fixture.home) == ["browser-reports"])
        }
    }

    @Test(arguments: [Endpoint.openIDConfiguration, .token, .keys])
    func `a signal ends the wait for the provider`(endpoint: Endpoint) async throws {
        try await withDesk { fixture in
            let hold = fixture.provider.hold(endpoint, before: .request)
            let process = try fixture.start(fixture.loginArguments([]))
            try await hold.arrived()
            process.send(SIGINT)
            try await process.outcome().failure(130, "interrupted")
            #expect(fixture.stored.isEmpty)
            hold.release()
        }
    }

    @Test func `a limit bounds the requests too`() async throws {
        try await withDesk { fixture in
            let hold = fixture.provider.hold(.openIDConfiguration, before: .request)
            let outcome = try await fixture.run("discover", fixture.issuer, "--json", "--timeout", "0.5")
            try outcome.failure(1, "timeout")
            hold.release()
        }
    }

    @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 1, "terminated")] as [(CInt, CInt, String)])
    func `a signal ends a sign-out, and the session is removed`(signal: CInt, status: CInt, code: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            // This browser never comes back.
            let process = try fixture.start(["logout", "--json"], ["BROWSER": "true"])
            _ = try await process.line { $0.hasPrefix("Ending the session in the browser") }
            process.send(signal)
            try await process.outcome().failure(status, code)
            #expect(fixture.stored.isEmpty)
        }
    }

    /// nohup ignores SIGHUP for its program, and a shell SIGINT for a job in the background.
    @Test(
        arguments: [(["nohup"], SIGHUP), (["sh", "-c", #"trap '' INT; exec "$@""#, "sh"], SIGINT)] as [([String], CInt)]
    )
    func `a signal that was ignored at the start stays ignored`(prefix: [String], signal: CInt) async throws {
        try await withDesk { fixture in
            let program = try BuiltProducts.path("sign-in")
            let process = try fixture.start(prefix + [program], fixture.loginArguments(["--no-browser"]))
            let redirects = try await Redirects(process)
            process.send(signal)
            _ = try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }
}
