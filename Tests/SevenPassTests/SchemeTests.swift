import AppAuth
import Foundation
import AppAuthTestProvider
import ScriptedBrowser
import SevenPass
import Testing

/// The redirects that phones have, on a Linux desktop: a scheme of the app's own.
@Suite(.timeLimit(.minutes(1)), .serialized) struct SchemeTests {
    @Test(arguments: ["oauthtest://oauth-callback", "de.7pass.example:/cb/authz"])
    func `a redirect registered for a phone comes back by its scheme`(uri: String) async throws {
        try await withRuntimeFolder {
            try await withSevenPass { fixture in
                // The desktop's part: it starts the app again with the URL.
                let claims = try await withScriptedBrowser(
                    entries: SevenPassFixture.alice, transport: fixture.environment.transport,
                    leave: { url, _ in try? PrivateUseRedirect.deliver(url) }
                ) { browser in
                    var signIn = try SignIn(fixture.configuration, appName: "Tests", environment: fixture.environment)
                    signIn.browser = browser
                    signIn.redirect.privateUse = try PrivateUseRedirect(
                        uri, appName: "Tests", arguments: [], installation: .byPackage)
                    return try await signIn.run(store: MemoryTokenStore()).record.idToken?.claims
                }
                #expect(claims?.subject == "7p-248289761001")
                #expect(fixture.double.log(.authorization).first?.query["redirect_uri"] == uri)
                #expect(fixture.double.log(.token).first?.form["redirect_uri"] == uri)
            }
        }
    }

    /// Where the waiting process has its socket.
    private func withRuntimeFolder(_ body: () async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "seven-pass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let former = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
        setenv("XDG_RUNTIME_DIR", folder.path, 1)
        defer {
            if let former { setenv("XDG_RUNTIME_DIR", former, 1) } else { unsetenv("XDG_RUNTIME_DIR") }
            try? FileManager.default.removeItem(at: folder)
        }
        try await body()
    }
}
