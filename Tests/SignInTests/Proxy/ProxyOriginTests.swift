import AppAuthTestProvider
import Foundation
import Testing

/// `sign-in proxy --allow-origin`: on loopback, each user of the machine can serve an origin.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can start a server as another user"))
struct ProxyOriginTests {
    /// The user of a page's server, and whether that page may send requests.
    @Test(arguments: [(0, true), (999, true), (1999, false)], ["localhost", "127.0.0.1"])
    func `a page gets nothing while its server is another user's`(server: (user: Int, isTrusted: Bool), host: String)
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn()
            let words = [
                "setpriv", "--reuid=\(server.user)", "--regid=\(server.user)", "--clear-groups", "python3", "-u",
            ]
            let page = try fixture.start(
                ["sh", "-c", "exec \"$@\" >&2", "sh"] + words,
                ["-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", "/"])
            defer { page.send(SIGKILL) }
            let ready = try await page.line { $0.hasPrefix("Serving HTTP") }
            let origin = "http://\(host):\(try #require(ready.firstMatch(of: /port (\d+)/)?.1))"
            let proxy = try fixture.start(["proxy", "\(fixture.issuer)/api/", "--allow-origin", origin])
            let address = try await proxy.outputLine { !$0.isEmpty }
            for (field, status) in [("Origin: \(origin)", server.isTrusted ? 200 : 403), ("Accept: */*", 200)] {
                let outcome = try await ChildProcess(
                    ["curl", "-s", "-w", "%{http_code}", "-H", field, "-H", "Sec-Fetch-Site: none", address + "echo"],
                    environment: fixture.environment
                ).outcome()
                #expect(outcome.output.hasSuffix("\(status)"), "\(outcome)")
                #expect(outcome.output.contains("client_id") == (status == 200), "\(outcome)")
            }
            proxy.send(SIGTERM)
            _ = try await proxy.outcome()
            page.send(SIGKILL)
            _ = try? await page.outcome()
        }
    }
}
