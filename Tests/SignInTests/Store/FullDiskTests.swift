import Foundation
import LocalProvider
import JOSE
import Testing

/// No room to write: a limit on the size of files stands for a full disk.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
    @Test func `a sign-in that cannot be stored fails with one line, and the old session stays`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            let before = try desk.session()
            let outcome = try await desk.start(limited(desk), desk.loginArguments([])).outcome()
            #expect(try outcome.failure(1, "store").contains(desk.sessions))
            #expect(try desk.session() == before)
            _ = try await desk.run("token", "--json").result()
        }
    }

    @Test func `a refresh that could not be stored is not made, and the session stays`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            let before = try desk.session()
            let outcome = try await desk.start(limited(desk), ["token", "--json", "--force-refresh"]).outcome()
            try outcome.failure(1, "store")
            #expect(outcome.errorLines.count == 1)
            #expect(try desk.session() == before)
            #expect(desk.provider.count(.token) == 1)
            _ = try await desk.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `where nothing was stored nothing is left`() async throws {
        try await withDesk { desk in
            try await desk.start(limited(desk), desk.loginArguments([])).outcome().failure(1, "store")
            #expect(desk.stored.isEmpty)
            #expect(try await desk.browser.page().contains("cannot be written"))
        }
    }

    @Test func `output that cannot be written is a failure`() async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            for command in ["token", "status --json", "request GET \(desk.provider.url(.api))"] {
                let script = "exec sign-in \(command) > /dev/full"
                let outcome = try await desk.start(["sh", "-c", script], []).outcome()
                #expect(outcome.status == 1 && outcome.errors.contains("No space left on device"), "\(outcome)")
            }
        }
    }

    private func limited(_ desk: Desk) throws -> [String] {
        ["sh", "-c", #"ulimit -f 0; exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
    }
}
