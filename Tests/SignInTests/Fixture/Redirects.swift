import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import AppAuthTestProvider
import ScriptedBrowser

/// A waiting sign-in, as any client that connects to it sees it.
struct Redirects: Sendable {
    /// The authorization URL that was shown.
    let url: String
    let redirectURI: String
    let state: String

    private static let transport = CurlTransport(.init(proxy: .none))

    /// Waits until a process shows its URL.
    init(_ process: ChildProcess) async throws {
        url = try await process.line { $0.hasPrefix("  http") }.trimmingCharacters(in: .whitespaces)
        let items = URLComponents(string: url)?.queryItems ?? []
        redirectURI = items.first { $0.name == "redirect_uri" }?.value ?? ""
        state = items.first { $0.name == "state" }?.value ?? ""
    }

    var port: String { redirectURI.components(separatedBy: ":").last?.components(separatedBy: "/").first ?? "" }

    /// Opens the redirect URI with this query, follows the response, and returns the text of the last page.
    @discardableResult
    func comeBack(_ query: String) async throws -> String {
        try await ScriptedBrowser(transport: Self.transport, entries: [:]).visit("\(redirectURI)?\(query)")
    }

    /// Opens the redirect URI, or another path of its port, with this query. Returns the status of the first response.
    func status(_ query: String, path: String? = nil) async throws -> Int {
        let uri = path.map { "http://127.0.0.1:\(port)\($0)" } ?? redirectURI
        let request = HTTPRequest(method: .get, url: try SecureURL("\(uri)?\(query)"))
        return try await Self.transport.send(TransportRequest(request)).status.code
    }

    /// Signs in as alice on the provider's pages.
    @discardableResult
    func signIn() async throws -> String {
        let entries = ["username": "alice", "password": "looking-glass"]
        return try await ScriptedBrowser(transport: Self.transport, entries: entries).visit(url)
    }

    /// Returns whether the redirect URI refuses connections.
    func isClosed() async -> Bool { await Self.isClosed(redirectURI) }

    /// Returns whether a URL's port refuses connections.
    static func isClosed(_ url: String) async -> Bool {
        do {
            _ = try await transport.send(TransportRequest(HTTPRequest(method: .get, url: SecureURL(url))))
            return false
        } catch {
            return (error as? AuthError)?.message.contains(" refused") == true
        }
    }
}
