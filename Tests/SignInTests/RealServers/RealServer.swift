import AppAuth
import AppAuthProtocol
import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// A server that does something that the specifications do not say, and what becomes of a sign-in there.
///
/// Each leniency has a row beside it that is wrong in only the respect that stays refused.
struct RealServer: Sendable, CustomTestStringConvertible {
    /// Where it was seen; "any" for what no server may do.
    let server: String
    /// The year of the report.
    let year: Int
    let deviation: String
    let result: String
    let check: @Sendable () async throws -> Void

    init(
        _ server: String, _ year: Int, _ deviation: String, _ result: String,
        _ check: @escaping @Sendable () async throws -> Void
    ) {
        (self.server, self.year, self.deviation) = (server, year, deviation)
        (self.result, self.check) = (result, check)
    }

    /// The article "Real servers" is made from this (Tests/Documentation/real-servers).
    var testDescription: String { "\(server) | \(year) | \(deviation) | \(result)" }
}

@Suite(.timeLimit(.minutes(5)))
struct RealServersTests {
    @Test(arguments: RealServer.documents)
    func `metadata of a provider`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.resources)
    func `metadata of a resource`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.registrations)
    func `registration`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.requests)
    func `authorization request`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.responses)
    func `authorization response`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.tokens)
    func `tokens`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.refreshes)
    func `refresh and revocation`(row: RealServer) async throws { try await row.check() }
}

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
