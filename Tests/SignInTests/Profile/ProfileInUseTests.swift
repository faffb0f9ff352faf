import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// Lines for a session without a profile while a profile for the same resource is in use. The line of a resource's session names
/// neither its client nor its server, so the profile in use would apply, and lose its session.
@Suite(.timeLimit(.minutes(5)))
struct ProfileInUseTests {
    /// Runs the test with a session of the profile `a`, which is in use, and one without a profile.
    private func withBoth(
        grantedScope scope: String? = nil,
        _ body: (_ fixture: CommandFixture, _ resource: String, _ session: [String]) async throws -> Void
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let resource = fixture.provider.url(.api)
            _ = try await fixture.run("login", "--json", "--resource", resource, "--profile", "a").result()
            if let scope { fixture.provider.fault(.editDocument { $0["scope"] = .string(scope) }, at: .token) }
            let other = try await fixture.run("login", "--json", "--resource", resource).result()
            _ = try await fixture.run("use", "a")
            let file = URL(filePath: fixture.sessions + "/a.json")
            let before = try Data(contentsOf: file)
            let client = try #require(other["client_id"]?.string)
            try await body(fixture, resource, ["--issuer", fixture.issuer, "--client-id", client])
            #expect(try Data(contentsOf: file) == before)
        }
    }

    /// The server chooses the scope that it grants.
    @Test(arguments: [nil, "--store", "--issuer", "--client-id"])
    func `a line to sign in again is for no profile`(scope: String?) async throws {
        try await withBoth(grantedScope: scope) { fixture, _, session in
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let token = ["token", "--json", "--force-refresh"] + session
            let message = try await fixture.start(token).outcome().failure(1, "sign_in_required")
            let line = try #require(message.components(separatedBy: "Sign in with: ").last)
            #expect(line.contains(" --resource ") && line.contains(" --no-profile"), "\(line)")
            guard scope == nil else { return }
            let pasted = try await fixture.start(["sh", "-c", line], []).outcome()
            #expect(pasted.status == 0, "\(pasted)")
            _ = try await fixture.start(token).outcome().result()
        }
    }

    @Test func `the line for a code on another device is for no profile`() async throws {
        try await withBoth { fixture, resource, session in
            let client = session.suffix(2)
            let process = try fixture.start(["login", "--resource", resource, "--no-browser"] + client)
            let line = try await process.line { $0.contains("sign-in device") }
            #expect(line.contains(" --no-profile"), "\(line)")
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }
}
