import AppAuth
import AppAuthProtocol
import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// A server on loopback with pages that a test writes. Everything else is 404.
final class WrittenServer: Sendable {
    private let pages = LockedValue<[String: SimpleResponse]>([:])
    private let server: SimpleServer

    init() throws {
        let pages = pages
        server = try SimpleServer { request in
            let found = pages.withLock { $0["\(request.method) \(request.target)"] ?? $0[request.target] }
            return found ?? SimpleResponse(status: "404 Not Found")
        }
    }

    var origin: String { "http://\(server.host)" }
    var requests: [String] { server.requests.map { "\($0.method) \($0.target)" } }
    /// The values of the field Accept.
    var accepted: [String] { server.requests.compactMap { $0.headers["accept"] } }
    /// The values of the field Authorization.
    var credentials: [String] { server.requests.compactMap { $0.headers["authorization"] } }
    var bodies: [String] { server.requests.map { String(decoding: $0.body, as: UTF8.self) } }

    /// A page by its path, or by its method and path.
    subscript(target: String) -> SimpleResponse? {
        get { pages.withLock { $0[target] } }
        set { pages.withLock { $0[target] = newValue } }
    }

    static let openID = "/.well-known/openid-configuration", oauth = "/.well-known/oauth-authorization-server"
    static let resource = "/.well-known/oauth-protected-resource"

    /// The least metadata of a provider.
    func metadata(_ issuer: String? = nil) -> SimpleResponse {
        .json([
            "issuer": .string(issuer ?? origin), "authorization_endpoint": .string(origin + "/authorize"),
            "token_endpoint": .string(origin + "/token"), "jwks_uri": .string(origin + "/keys"),
        ])
    }

    /// Returns what the metadata of a resource say about it.
    func description(_ resource: String, of servers: [String]) -> SimpleResponse {
        .json(["resource": .string(resource), "authorization_servers": .array(servers.map(JSON.string))])
    }
}

extension SimpleResponse {
    static func json(_ json: JSON, _ status: String = "200 OK") -> SimpleResponse {
        SimpleResponse(
            status: status, headers: [("Content-Type", "application/json")], body: Array(json.serialized().utf8))
    }

    static let html = SimpleResponse(
        headers: [("Content-Type", "text/html")], body: Array("<!doctype html><title>Welcome</title>".utf8))

    static func status(_ line: String, _ headers: [(String, String)] = []) -> SimpleResponse {
        SimpleResponse(status: line, headers: headers)
    }

    static func challenge(_ parameters: String) -> SimpleResponse {
        .status("401 Unauthorized", [("WWW-Authenticate", "Bearer \(parameters)")])
    }
}

extension Discovery {
    static var onLoopback: Discovery {
        Discovery(environment: Environment(transport: CurlTransport(.init(proxy: .none))))
    }
}

/// Runs a test with the resource `/mcp` at a written server, whose tokens come from the local provider. The resource
/// describes itself at the well-known location of its path.
func withResource(
    at path: String = "/mcp", _ change: (inout LocalProvider.Configuration) -> Void = { _ in },
    _ body: (_ fixture: CommandFixture, _ server: WrittenServer, _ url: String) async throws -> Void
) async throws {
    let server = try WrittenServer()
    let url = server.origin + path
    var configuration = LocalProvider.Configuration.device
    configuration.resources = [url, server.origin, server.origin + "/"]
    change(&configuration)
    try await withDesk(configuration) { fixture in
        server[path] = .challenge("")
        server[WrittenServer.resource + path] = server.description(url, of: [fixture.issuer])
        try await body(fixture, server, url)
    }
}
