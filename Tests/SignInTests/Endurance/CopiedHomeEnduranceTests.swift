import AppAuthTestProvider
import Foundation
import JOSE
import SoftwareTPM
import Testing

/// `--dpop --key-in tpm` (RFC 9449) in a home folder that is copied to a machine with another TPM.
@Suite(.timeLimit(.minutes(10)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct CopiedHomeEnduranceTests {
    @Test func `of 1,000 refreshes in copies of a home folder, none succeeds, and the first machine is not disturbed`()
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].requiresDPoP = true
        try await withDesk(configuration) { fixture in
            let (own, other) = (try SoftwareTPM(), try SoftwareTPM())
            defer { for tpm in [own, other] { tpm.stop() } }
            _ = try await fixture.login("--dpop", "--key-in", "tpm", with: own.environment).result()
            let name = try #require(fixture.stored.first)
            let sent = fixture.provider.count(.token)
            try await withThrowingTaskGroup { group in
                for number in 0..<4 {
                    let copy = "\(fixture.home)/copy\(number)"
                    try FileManager.default.copyItem(atPath: fixture.stateHome, toPath: copy)
                    group.addTask {
                        let there = other.environment.merging(["XDG_STATE_HOME": copy]) { $1 }
                        for _ in 0..<250 {
                            let refused = try await fixture.run("token", "--force-refresh", "--json", with: there)
                            let message = try refused.failure(1, "unavailable")
                            #expect(message.contains("another has made"), "\(message)")
                            // Otherwise, the next ones would wait.
                            try CommandFixture.editSession(at: "\(copy)/sign-in/\(name)") { $0["backoff"] = nil }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(fixture.provider.count(.token) == sent)
            _ = try await fixture.run("token", "--force-refresh", "--json", with: own.environment).result()
        }
    }
}
