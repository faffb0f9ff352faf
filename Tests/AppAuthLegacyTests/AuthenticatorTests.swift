import AppAuthConcurrency
import AppAuthFoundation
import AppAuthLegacy
import Foundation
import FoundationNetworking
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The way of working of Heimdallr and FFSAuthenticator: a token endpoint, a password, and requests that get their header.
struct AuthenticatorTests {
    private struct Server {
        let provider: LocalProvider
        let clock: SharedClock
        let tokenEndpoint: ProviderMetadata
        let request: URLRequest

        var environment: Environment { Environment(transport: CurlTransport(), now: { [clock] in clock.timestamp }) }

        func client(_ id: String = "app", _ authentication: ClientAuthentication = .none) -> Client {
            Client(id: id, authentication: authentication, provider: tokenEndpoint)
        }

        func signIn(
            _ password: String = "looking-glass", as client: Client? = nil,
            in store: any TokenStore = MemoryTokenStore()
        ) async throws -> AuthState {
            try await AuthState.present(
                .resourceOwnerPassword(
                    username: "alice", password: Secret(password), scope: [.offlineAccess]),
                as: client ?? self.client(), store: store, environment: environment)
        }
    }

    private func withServer(_ test: (Server) async throws -> Void) async throws {
        let clock = SharedClock()
        let grants: Set = ["password", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"]
        var configuration = LocalProvider.Configuration(
            clients: [
                RegisteredClient(id: "app", grantTypes: grants),
                RegisteredClient(id: "app+", secret: "s3cret: /+=", grantTypes: grants, authentication: [.basic]),
            ], users: [.alice])
        configuration.clock = { clock.date }
        try await withLocalProvider(configuration) { provider in
            try await test(
                Server(
                    provider: provider, clock: clock,
                    tokenEndpoint: ProviderMetadata(tokenEndpoint: provider.url(.token)),
                    request: URLRequest(url: #require(URL(string: provider.url(.api))))))
        }
    }

    private func status(_ request: URLRequest) async throws -> Int {
        let (_, response) = try await URLSession(configuration: .ephemeral).data(for: request)
        return try #require(response as? HTTPURLResponse).statusCode
    }

    private func field(_ request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Authorization") }

    // MARK: The token request

    @Test func `only a token endpoint is needed, and the request is a POST with a form`() async throws {
        try await withServer { server in
            let state = try await server.signIn()
            #expect(try await status(state.authenticate(server.request)) == 200)
            #expect(server.provider.log.map(\.endpoint) == [.token, .api])
            let request = try #require(server.provider.log(.token).first)
            #expect(request.method == .post)
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
        }
    }

    @Test func `an app's own fields go along, and the form's type is forced`() async throws {
        try await withServer { server in
            var environment = server.environment
            environment.dialect.tokenRequest = { _, fields, _ in
                fields[HTTPField.Name("X-App")!] = "harbour"
                fields[.contentType] = "application/json"
            }
            _ = try await AuthState.present(
                .resourceOwnerPassword(username: "alice", password: Secret("looking-glass")),
                as: server.client(), store: MemoryTokenStore(), environment: environment)
            let request = try #require(server.provider.log(.token).first)
            #expect(request.headers[HTTPField.Name("X-App")!] == "harbour")
            #expect(request.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
        }
    }

    @Test func `with id and secret the client authenticates by HTTP Basic, with only an id by client_id`() async throws
    {
        try await withServer { server in
            _ = try await server.signIn()
            _ = try await server.signIn(as: server.client("app+", .clientSecretBasic(Secret("s3cret: /+="))))
            let (first, second) = (server.provider.log(.token)[0], server.provider.log(.token)[1])
            #expect(first.form["client_id"] == "app" && first.headers[.authorization] == nil)
            #expect(second.form["client_id"] == nil && second.form["client_secret"] == nil)
            let pair = Data("app%2B:s3cret%3A+%2F%2B%3D".utf8).base64EncodedString()
            #expect(second.headers[.authorization] == "Basic \(pair)")
        }
    }

    @Test func `any extension grant is sent with its parameters`() async throws {
        try await withServer { server in
            server.provider.fault(.respond(.json(["access_token": "abc", "token_type": "bearer"])), at: .token)
            let grant = try TokenGrant(
                .tokenExchange, parameters: ["subject_token": Secret("theirs"), "subject_token_type": Secret("urn:x")])
            let state = try await AuthState.present(
                grant, as: server.client(), store: MemoryTokenStore(), environment: server.environment)
            let form = server.provider.log(.token)[0].form
            #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
            #expect(form["subject_token"] == "theirs" && form["subject_token_type"] == "urn:x")
            let request = try await state.authenticate(server.request)
            #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer abc")
        }
    }

    // MARK: Requests

    @Test func `a valid token is used, an expired one refreshed first, once for all callers`() async throws {
        try await withServer { server in
            let state = try await server.signIn()
            // Two requests with different fields are equal, here at least.
            let first = try await field(state.authenticate(server.request))
            #expect(try await field(state.authenticate(server.request)) == first)
            server.clock.advance(3600)
            let request = server.request
            let fields = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<10 {
                    group.addTask { try await field(state.authenticate(request)) }
                }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(fields.count == 1 && fields != [first])
            #expect(server.provider.count(.token) == 2)
        }
    }

    @Test func `invalidate forces a refresh, clear forgets`() async throws {
        try await withServer { server in
            let store = MemoryTokenStore()
            let state = try await server.signIn(in: store)
            let first = try await field(state.authenticate(server.request))
            state.reject(try await state.freshAccessToken())
            #expect(try await field(state.authenticate(server.request)) != first)
            #expect(server.provider.count(.token) == 2)
            try await state.forget()
            #expect(try await store.load() == nil)
            #expect(await authError { try await state.authenticate(server.request) }?.code == .signInRequired)
        }
    }

    // MARK: Errors, each with a code of its own

    @Test func `not authorized: nothing is stored`() async throws {
        try await withServer { server in
            let session = StoredSession(in: MemoryTokenStore(), environment: server.environment)
            let error = await authError { try await session.authenticate(server.request) }
            #expect(error?.code == .signInRequired && error?.outcome == .notSent)
        }
    }

    @Test func `no refresh token: the access token has ended, and there is nothing to renew it with`() async throws {
        try await withServer { server in
            server.provider.fault(.editDocument { $0["refresh_token"] = nil }, at: .token)
            let state = try await server.signIn()
            server.clock.advance(3600)
            let error = await authError { try await state.authenticate(server.request) }
            #expect(error?.code == .noRefreshToken && server.provider.count(.token) == 1)
        }
    }

    @Test func `the server's own error, with its code and description`() async throws {
        try await withServer { server in
            let error = await authError { try await server.signIn("wrong password") }
            #expect(error?.code == .invalidGrant && error?.server?.error == "invalid_grant")
            #expect(error?.server?.errorDescription != nil && error?.message.contains("wrong password") == false)
        }
    }

    @Test(arguments: [Fault.htmlPage, .respond(.json(["token": "abc"])), .status(.badRequest)])
    func `a response that cannot be read`(fault: Fault) async throws {
        try await withServer { server in
            server.provider.fault(fault, at: .token)
            let error = await authError { try await server.signIn() }
            #expect(error?.code == .invalidResponse && error?.server == nil)
        }
    }

    @Test(arguments: [
        Fault.htmlPage, .status(.serviceUnavailable), .status(.unauthorized, json: ["error": "invalid_client"]),
        .respond(.json(["token": "abc"])), .reset(),
    ])
    func `a failed refresh keeps the refresh token`(fault: Fault) async throws {
        try await withServer { server in
            let store = MemoryTokenStore()
            let state = try await server.signIn(in: store)
            let before = await state.record.refreshToken
            server.clock.advance(3600)
            server.provider.fault(fault, at: .token)
            _ = await authError { try await state.authenticate(server.request) }
            #expect(try await store.load()?.refreshToken == before && before != nil)
            #expect(try await store.load()?.end == nil)
        }
    }

    // MARK: Nothing secret in memory

    @Test func `between two calls nothing is kept in memory`() async throws {
        try await withServer { server in
            let store = KeychainOfAnApp()
            do { _ = try await server.signIn(in: store) }
            let session = StoredSession(in: store, environment: server.environment)
            #expect(try await status(session.authenticate(server.request)) == 200)
            let reads = await store.reads
            _ = try await session.authenticate(server.request)
            #expect(await store.reads > reads)
            server.clock.advance(3600)
            #expect(try await status(session.authenticate(server.request)) == 200)
            #expect(server.provider.count(.token) == 2)
            // A session that another caller has removed is not remembered.
            await store.clear()
            #expect(await authError { try await session.authenticate(server.request) }?.code == .signInRequired)
        }
    }

    // MARK: The four points to override

    @Test func `store, transport, token parser and request authenticator are the app's own`() async throws {
        try await withServer { server in
            let store = KeychainOfAnApp()
            let transport = SessionOfAnApp()
            var environment = Environment(transport: transport, now: { [clock = server.clock] in clock.timestamp })
            environment.dialect.tokenResponse = { response in
                guard let token = response.json?["jwt"], let end = response.json?["seconds"] else { return response }
                var response = response
                let json: JSON = ["access_token": token, "token_type": "bearer", "expires_in": end]
                response.body = Array(json.serialized().utf8)
                return response
            }
            environment.dialect.authorize = { token, fields in
                fields[HTTPField.Name("X-App-Token")!] = token.value.reveal()
            }
            server.provider.fault(.respond(.json(["jwt": "a.b.c", "seconds": 60])), at: .token)
            let state = try await AuthState.present(
                .resourceOwnerPassword(username: "alice", password: Secret("looking-glass")),
                as: server.client(), store: store, environment: environment)

            #expect(await store.kept?.accessTokenExpiresAt == server.clock.date + 60)
            #expect(transport.paths.withLock { $0 }.map { $0.hasSuffix("/token") } == [true])
            let request = try await state.authenticate(server.request)
            #expect(request.value(forHTTPHeaderField: "X-App-Token") == "a.b.c")
            #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
        }
    }
}

/// A store of the app's own.
private actor KeychainOfAnApp: TokenStore {
    private(set) var reads = 0
    private let inner = MemoryTokenStore()
    nonisolated var location: String { "the app’s keychain" }

    var kept: AuthStateRecord? { get async { await inner.load(TokenStoreCall()) } }

    func clear() async { try? await inner.update { $0 = nil } }

    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        reads += 1
        return await inner.load(call)
    }

    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result { try await inner.update(call, change) }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await inner.refreshLock(call) }
}

/// An HTTP client of the app's own.
private final class SessionOfAnApp: HTTPTransport {
    let paths = LockedValue<[String]>([])
    private let inner = CurlTransport()

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        paths.withLock { $0.append(request.head.path ?? "") }
        return try await inner.send(request)
    }
}
