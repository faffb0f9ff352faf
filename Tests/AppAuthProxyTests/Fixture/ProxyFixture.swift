import AppAuth
import AppAuthProxy
import AppAuthTestProvider
import Foundation
import TestFixtures
import Testing

/// A proxy at a Unix socket, in front of an API, with the session of a user.
struct ProxyFixture: Sendable {
    let world: World
    let state: AuthState
    let api: RawServer
    let path: String

    /// Runs a test, and ends the proxy.
    ///
    /// - Parameters:
    ///   - hasOtherClient: Whether the session has an HTTP client of its own.
    ///   - server: The server of the proxy. `PORT` is the API's port.
    ///   - configuration: That of the session's HTTP client.
    ///   - script: What the API does with each connection.
    static func run(
        allowing origins: Set<String> = [], hasOtherClient: Bool = false,
        at server: String = "http://127.0.0.1:PORT/v1/", _ configuration: CurlTransport.Configuration? = nil,
        script: @escaping RawServer.Script = Self.ok,
        _ test: @escaping @Sendable (ProxyFixture) async throws -> Void
    ) async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            _ = try await world.signIn(store: store)
            var environment = world.environment
            if let configuration { environment.transport = CurlTransport(configuration) }
            if hasOtherClient { environment.transport = OtherClient(transport: world.transport) }
            let state = try #require(try await AuthState(restoring: store, environment: environment))
            let api = try RawServer(script)
            defer { api.stop() }
            let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.path + "/s"
            let proxy = try AuthProxy(
                for: SecureURL(server.replacing("PORT", with: "\(api.port)")), session: state, on: .socket(at: path),
                allowing: origins
            ) { challenge in
                challenge == nil ? "sign-in login" : "sign-in login --scope more"
            }
            let running = Task { try await proxy.run() }
            let result: Result<Void, any Error>
            let fixture = ProxyFixture(world: world, state: state, api: api, path: path)
            do { result = .success(try await test(fixture)) } catch { result = .failure(error) }
            running.cancel()
            _ = await running.result
            try result.get()
        }
    }

    /// An API that responds to each request with 200.
    static let ok: RawServer.Script = { connection in
        while true {
            try connection.readRequest()
            try connection.reply(body: "done")
        }
    }

    /// Sends one request, and returns the whole response.
    func exchange(_ lines: [String], body: String = "") async throws -> String {
        let client = try RawClient(path)
        // On a thread: a long body waits for the proxy.
        try await onThread { try client.send((lines + ["", body]).joined(separator: "\r\n")) }
        return try await client.readAll()
    }

    /// Returns the lines of a request that is passed on, and closes the connection.
    static func request(
        _ line: String = "GET /v1/items HTTP/1.1", host: String? = "localhost", _ fields: String...
    ) -> [String] {
        [line] + (host.map { ["Host: \($0)"] } ?? []) + ["Connection: close"] + fields
    }
}

private struct OtherClient: HTTPTransport {
    let transport: CurlTransport

    func send(_ request: TransportRequest) async throws -> TransportResponse { try await transport.send(request) }
}

extension String {
    /// The status of a response.
    var status: Int? { split(separator: " ").dropFirst().first.flatMap { Int($0) } }
}
