import AppAuthProtocol
import AppAuthSession
import AppAuthFoundation
import Foundation
import FoundationNetworking
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// `URLRequest`s with the token of a session, and a `URLSession` without its faults on Linux.
@Suite(.timeLimit(.minutes(5)))
struct URLRequestTests {
    private static let expired = Fault.status(
        .unauthorized, [.wwwAuthenticate: #"Bearer realm="api", error="invalid_token""#])

    /// A session without a browser, and a request to the provider's demo resource.
    private func withSession(
        _ configuration: LocalProvider.Configuration = .demo, dpop: DPoPAlgorithm? = nil,
        _ test: (LocalProvider, AuthState, URLRequest) async throws -> Void
    ) async throws {
        try await withLocalProvider(configuration) { provider in
            let client = Client(
                id: "demo-service", authentication: .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")),
                provider: try ProviderMetadata(tokenEndpoint: provider.url(.token)), dpop: dpop)
            let state = try await AuthState.present(
                .clientCredentials(), as: client, store: MemoryTokenStore(), environment: .live)
            var request = URLRequest(url: try #require(URL(string: provider.url(.api))))
            request.httpMethod = "POST"
            request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            request.httpBody = Data("a=1".utf8)
            try await test(provider, state, request)
        }
    }

    private func expect(
        _ status: Int, _ session: AuthenticatedURLSession, _ request: URLRequest,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await session.data(for: request).1.statusCode
        #expect(found == status, sourceLocation: sourceLocation)
    }

    @Test func `a request gets the token, and keeps all else`() async throws {
        try await withSession { _, state, request in
            var request = request
            request.setValue("Basic left-over", forHTTPHeaderField: "Authorization")
            let ready = try await state.authenticate(request)
            let token = try await state.freshAccessToken()
            #expect(ready.value(forHTTPHeaderField: "Authorization") == token.authorization)
            #expect(ready.url == request.url && ready.httpMethod == "POST" && ready.httpBody == request.httpBody)
            #expect(ready.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        }
    }

    @Test func `a token that is bound to a key goes with a proof, and a nonce is learnt on the way`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.dpopNonce = .required()
        try await withSession(configuration, dpop: .es256) { provider, state, request in
            let session = AuthenticatedURLSession(state)
            try await expect(200, session, request)
            provider.forgetDPoPNonces()
            try await expect(200, session, request)
            #expect(provider.count(.api) == 3)
            let sent = try #require(provider.log(.api).last)
            #expect(sent.headers[.authorization]?.hasPrefix("DPoP ") == true)
            #expect(sent.headers[values: .dpop].count == 1)
            // By hand, for an HTTP client of the app's own.
            let ready = try await state.authenticate(request)
            #expect(ready.value(forHTTPHeaderField: "DPoP") != nil)
        }
    }

    @Test func `a nonce that is forgotten breaks none of the requests that are under way`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.dpopNonce = .required()
        try await withSession(configuration, dpop: .es256) { provider, state, request in
            let session = AuthenticatedURLSession(state)
            provider.forgetDPoPNonces()
            // As many as go to one host at once; none has its response before all of them are there.
            let hold = provider.hold(.api)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 { group.addTask { try await session.data(for: request).1.statusCode } }
                try await hold.arrived(4)
                hold.release()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [200, 200, 200, 200] && provider.count(.api) == 8)
        }
    }

    @Test(arguments: [true, false])
    func `a 401 without a reason is about the token only if its lifetime is unknown`(isKnown: Bool) async throws {
        try await withSession { provider, state, request in
            if !isKnown { provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token) }
            _ = try await state.freshAccessToken(forceRefresh: true)
            provider.fault(.status(.unauthorized), at: .api)
            let before = provider.count(.token)
            try await expect(isKnown ? 401 : 200, AuthenticatedURLSession(state), request)
            #expect(provider.count(.token) == before + (isKnown ? 0 : 1))
        }
    }

    @Test func `the nonce of a second response is kept for the next request (RFC 9449 §8.2)`() async throws {
        try await withSession(dpop: .es256) { provider, state, request in
            let session = AuthenticatedURLSession(state)
            let (name, field) = (try #require(HTTPField.Name("DPoP-Nonce")), try #require(HTTPField.Name("DPoP")))
            provider.fault(
                .status(.unauthorized, [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, name: "n-1"]), at: .api)
            provider.fault(.status(.ok, [name: "n-2"]), at: .api)
            try await expect(200, session, request)
            try await expect(200, session, request)
            let nonces = try provider.log(.api).map { sent in
                let proof = try JWS(compact: #require(sent.headers[field]))
                return try JSON(parsing: proof.payload)["nonce"]?.string
            }
            #expect(nonces == [nil, "n-1", "n-2"])
        }
    }

    @Test(arguments: ["http://api.example/", "ftp://127.0.0.1/", "https://", "https://user@api.example/"])
    func `a URL that must not get a token is refused`(url: String) async throws {
        try await withSession { provider, state, _ in
            let request = URLRequest(url: try #require(URL(string: url)))
            let error = await #expect(throws: AuthError.self) { try await state.authenticate(request) }
            #expect(error?.code == .invalidConfiguration && error?.stage == .resource)
            let session = AuthenticatedURLSession(state)
            _ = await #expect(throws: AuthError.self) { try await session.data(for: request) }
            #expect(provider.count(.api) == 0)
        }
    }

    @Test func `a response is returned with any status`() async throws {
        try await withSession { provider, state, request in
            let session = AuthenticatedURLSession(state)
            let (data, response) = try await session.data(for: request)
            #expect(response.statusCode == 200)
            #expect(try JSON(parsing: [UInt8](data))["body"]?.string == "a=1")
            provider.fault(.status(.notFound), at: .api)
            try await expect(404, session, request)
            #expect(provider.count(.token) == 1)
        }
    }

    @Test func `after a 401 that says invalid_token it is sent once more, with a new token and its body`() async throws
    {
        try await withSession { provider, state, request in
            provider.fault(Self.expired, at: .api)
            let (_, response) = try await AuthenticatedURLSession(state).data(for: request)
            #expect(response.statusCode == 200)
            let sent = provider.log(.api)
            #expect(sent.count == 2 && sent.first?.body == sent.last?.body)
            #expect(sent.first?.headers[.authorization] != sent.last?.headers[.authorization])
        }
    }

    @Test func `a second 401 is the response, and so is one that says something else`() async throws {
        try await withSession { provider, state, request in
            let session = AuthenticatedURLSession(state)
            provider.fault(Self.expired, at: .api, times: 2)
            try await expect(401, session, request)
            #expect(provider.count(.api) == 2)
            provider.fault(.status(.unauthorized), at: .api)
            try await expect(401, session, request)
            #expect(provider.count(.api) == 3)
        }
    }

    @Test func `a dead token is known by the server's own response`() async throws {
        try await withSession { provider, state, request in
            var environment = Environment.live
            environment.dialect.refusesToken = { $0.status == .badRequest }
            let session = AuthenticatedURLSession(
                try await AuthState(record: await state.record, store: MemoryTokenStore(), environment: environment))
            provider.fault(.status(.badRequest), at: .api)
            try await expect(200, session, request)
            #expect(provider.count(.api) == 2 && provider.count(.token) == 2)
        }
    }

    @Test func `neither cookies nor responses are kept`() async throws {
        try await withSession { provider, state, request in
            var request = request
            (request.httpMethod, request.httpBody) = ("GET", nil)
            let session = AuthenticatedURLSession(state)
            let first = Fault.status(.ok, [.setCookie: "a=b; Path=/", .cacheControl: "max-age=3600"])
            provider.fault(first, at: .api)
            try await expect(200, session, request)
            try await expect(200, session, request)
            #expect(provider.count(.api) == 2)
            #expect(provider.log(.api).last?.headers[.cookie] == nil)
        }
    }

    @Test func `no redirect is followed, so that no other host gets the token`() async throws {
        try await withSession { provider, state, request in
            let other = try await LocalProvider.start(.demo)
            provider.fault(.redirect(to: other.url(.api)), at: .api)
            let (_, response) = try await AuthenticatedURLSession(state).data(for: request)
            #expect(response.statusCode == 307)
            #expect(other.log.isEmpty)
            await other.stop()
        }
    }

    @Test func `a response that is too large is refused, one that is not comes whole`() async throws {
        try await withSession { provider, state, request in
            var limits = HTTPLimits.default
            limits.bodyBytes = 20_000
            let session = AuthenticatedURLSession(state, limits: limits)
            provider.fault(.oversize(bytes: 40_000), at: .api)
            let error = await #expect(throws: AuthError.self) { try await session.data(for: request) }
            #expect(error?.code == .invalidResponse && error?.message.contains("20000 bytes") == true)
            try await expect(200, session, request)
        }
    }

    @Test func `a response that takes too long is given up`() async throws {
        try await withSession { provider, state, request in
            var limits = HTTPLimits.default
            limits.total = .milliseconds(300)
            provider.fault(.drip(every: .milliseconds(100)), at: .api)
            let session = AuthenticatedURLSession(state, limits: limits)
            let error = await #expect(throws: AuthError.self) { try await session.data(for: request) }
            #expect(error?.code == .timeout && error?.outcome == .perhapsProcessed && error?.isTemporary == true)
        }
    }

    @Test func `a caller that is cancelled gets away at once`() async throws {
        try await withSession { provider, state, request in
            let hold = provider.hold(.api)
            let session = AuthenticatedURLSession(state)
            let task = Task { try await session.data(for: request) }
            try await provider.requests(1, at: .api)
            task.cancel()
            _ = await #expect(throws: CancellationError.self) { try await task.value }
            hold.release()
        }
    }

    @Test func `a server that is gone is an error of transport`() async throws {
        try await withSession { provider, state, request in
            await provider.stop()
            let error = await #expect(throws: AuthError.self) {
                try await AuthenticatedURLSession(state).data(for: request)
            }
            #expect(error?.code == .transport && error?.outcome == .notSent)
        }
    }
}
