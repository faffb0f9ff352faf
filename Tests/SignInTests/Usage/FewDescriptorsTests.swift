import Foundation
import AppAuthTestProvider
import Testing

/// A process that may open too few files says so before it begins, and is not ended by a signal on its way.
@Suite(.timeLimit(.minutes(5)))
struct FewDescriptorsTests {
    @Test func `with too few descriptors each command fails with a clear error, and the session stays`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            let commands = [
                ["token", "--force-refresh"], ["userinfo"], ["status"], ["logout", "--local"],
                ["discover", fixture.issuer],
            ]
            for limit in [4, 5, 6, 8, 12, 20, 34] {
                for command in commands {
                    let script = #"ulimit -n \#(limit); exec "$0" "$@""#
                    let prefix = ["sh", "-c", script, try BuiltProducts.path("sign-in")]
                    let outcome = try await fixture.start(prefix, command + ["--json"]).outcome()
                    let message = try outcome.failure(1, "unavailable")
                    #expect(message.hasPrefix("too few files can be opened"), "\(limit) \(command): \(outcome)")
                }
            }
            #expect(try fixture.session() == before && fixture.provider.count(.token) == 1)
        }
    }

    /// The command does what it can, and nothing is lost.
    @Test(arguments: [35, 36, 40, 50]) func `a refresh with few descriptors succeeds`(limit: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let script = #"ulimit -n \#(limit); exec "$0" "$@""#
            let prefix = ["sh", "-c", script, try BuiltProducts.path("sign-in")]
            _ = try await fixture.start(prefix, ["token", "--json", "--force-refresh"]).outcome().result()
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }
}
