import AppAuth
import ScriptedBrowser

extension Redirects {
    /// Signs in as alice in a browser of another machine, and returns the address at which it ends and which it cannot
    /// open.
    func signInElsewhere() async throws -> String {
        let entries = ["username": "alice", "password": "looking-glass"]
        let browser = ScriptedBrowser(transport: CurlTransport(.init(proxy: .none)), entries: entries)
        return try await browser.address(from: url, upTo: redirectURI)
    }
}
