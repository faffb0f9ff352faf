import AppAuthConcurrency
import AppAuthFoundation
import Foundation
import FoundationNetworking
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The `Authenticator`: a token endpoint, a password, and requests that get their header.
struct AuthenticatorTests {
    private struct Fixture {
        let provider: LocalProvider
        let seconds = LockedValue(0)

        var tokenRequest: URLRequest { URLRequest(url: URL(string: provider.url(.token))!) }
        var apiRequest: URLRequest { URLRequest(url: URL(string: provider.url(.api))!) }
        /// The fields of the last token request.
        var form: [String: String?] {
            let form = provider.log(.token).last?.form
            return Dictionary(uniqueKeysWithValues: (form?.names ?? []).map { ($0, form?[$0]) })
        }

        /// An authenticator with a clock that the test advances.
        func adjust(_ authenticator: Authenticator) -> Authenticator {
            var authenticator = authenticator
            authenticator.environment.now = { [seconds] in
                Timestamp(wall: Date() + Double(seconds.withLock { $0 }), sinceBoot: .seconds(seconds.withLock { $0 }))
            }
            return authenticator
        }

        func authenticator(clientID: String? = "app", _ secret: Secret? = nil) throws -> Authenticator {
            try adjust(
                Authenticator(
                    tokenURLRequest: tokenRequest, clientID: clientID, clientSecret: secret, store: MemoryTokenStore()))
        }
    }

    private func withFixture(_ test: (Fixture) async throws -> Void) async throws {
        let grants: Set = ["password", "refresh_token"]
        var configuration = LocalProvider.Configuration(
            clients: [
                RegisteredClient(id: "app", grantTypes: grants),
                RegisteredClient(id: "app+", secret: "s: /", grantTypes: grants, authentication: [.basic]),
            ], users: [.alice])
        configuration.givesRefreshTokensUnasked = true
        let provider = try await LocalProvider.start(configuration)
        do { try await test(Fixture(provider: provider)) } catch {
            await provider.stop()
            throw error
        }
        await provider.stop()
    }

    private func signIn(_ authenticator: Authenticator) async throws {
        try await authenticator.requestAccessToken(username: "alice", password: Secret("looking-glass"))
    }

    private func field(_ request: URLRequest) -> String? { request.value(forHTTPHeaderField: "Authorization") }

    @Test func `only a URLRequest is required, and the default store is the keyring`() throws {
        let url = try #require(URL(string: "https://op.example/token"))
        let authenticator = try Authenticator(tokenURLRequest: URLRequest(url: url))
        #expect(authenticator.store is KeyringTokenStore)
        #expect(authenticator.store.location.hasPrefix("keyring:"))
        #expect(authenticator.store.location.hasSuffix("/https://op.example/token"))
        let named = try Authenticator(tokenURLRequest: URLRequest(url: url), clientID: "app")
        #expect(named.store.location != authenticator.store.location)
    }

    @Test func `login clears first, with or without a stored token`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            #expect(try await authenticator.clearAccessToken() == false)
            try await signIn(authenticator)
            #expect(
                try await field(authenticator.authenticateRequest(fixture.apiRequest))?.hasPrefix("Bearer ") == true)
            #expect(try await authenticator.data(for: fixture.apiRequest).1.statusCode == 200)
            #expect(try await authenticator.clearAccessToken())
            try await signIn(authenticator)
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `method, body and Content-Type of the token request are forced, and its other fields go along`()
        async throws
    {
        try await withFixture { fixture in
            var request = fixture.tokenRequest
            (request.httpMethod, request.httpBody) = ("PUT", Data("scope=everything".utf8))
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue("harbour", forHTTPHeaderField: "X-App")
            let authenticator = try Authenticator(
                tokenURLRequest: request, clientID: "app+", clientSecret: Secret("s: /"), store: MemoryTokenStore())
            try await signIn(authenticator)
            #expect(
                fixture.form == ["grant_type": "password", "username": "alice", "password": "looking-glass"])
            try await authenticator.invalidateAccessToken()
            #expect(fixture.form.keys.sorted() == ["grant_type", "refresh_token"])
            for sent in fixture.provider.log(.token) {
                #expect(sent.method == .post)
                #expect(sent.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
                #expect(sent.headers[HTTPField.Name("X-App")!] == "harbour")
            }
        }
    }

    @Test func `authenticateRequest adds the token to the header, and keeps all else`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            try await signIn(authenticator)
            var request = URLRequest(url: URL(string: fixture.provider.url(.api) + "?a=1")!)
            (request.httpMethod, request.httpBody) = ("PATCH", Data("b=2".utf8))
            request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            request.setValue("Basic left-over", forHTTPHeaderField: "Authorization")
            let ready = try await authenticator.authenticateRequest(request)
            #expect(ready.url == request.url && ready.httpMethod == "PATCH" && ready.httpBody == request.httpBody)
            var fields = ready.allHTTPHeaderFields ?? [:]
            let added = fields.removeValue(forKey: "Authorization")
            #expect(added?.hasPrefix("Bearer ") == true && fields == ["Content-Type": "text/plain"])
            // The API accepts it.
            _ = try await URLSession(configuration: .ephemeral).data(for: ready)
            #expect(fixture.provider.log(.api).map(\.status) == [200])
        }
    }

    @Test func `no instance keeps a token: each call has what the store has by then`() async throws {
        try await withFixture { fixture in
            let (authenticator, other) = (try fixture.authenticator(), try fixture.authenticator())
            try await signIn(authenticator)
            let first = try await field(authenticator.authenticateRequest(fixture.apiRequest))
            // What another process stores, the instance has at its next call, although its own token is still valid.
            try await signIn(other)
            let record = try await other.store.load()
            try await authenticator.store.update { $0 = record }
            let second = try await field(authenticator.authenticateRequest(fixture.apiRequest))
            #expect(second != first && second == record?.accessToken?.authorization)
            // Neither the tokens nor the password: it cannot go on without the store.
            try await authenticator.store.update { $0 = nil }
            let error = await #expect(throws: AuthError.self) {
                try await authenticator.authenticateRequest(fixture.apiRequest)
            }
            #expect(error?.code == .notAuthorized && fixture.provider.count(.token) == 2)
        }
    }

    @Test func `the server's error is distinguished from a response that cannot be read`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            let refused = await #expect(throws: AuthError.self) {
                try await authenticator.requestAccessToken(username: "alice", password: Secret("wrong password"))
            }
            #expect(refused?.code == .invalidGrant && refused?.server?.error == "invalid_grant")
            #expect(refused?.server?.errorDescription != nil && refused?.message.contains("wrong password") == false)
            for fault in [Fault.htmlPage, .respond(.json(["token": "abc"])), .status(.badRequest)] {
                fixture.provider.fault(fault, at: .token)
                let unread = await #expect(throws: AuthError.self) { try await signIn(authenticator) }
                #expect(unread?.code == .invalidResponse && unread?.server == nil)
            }
        }
    }

    @Test func `an id with a secret is HTTP Basic, an id alone is a parameter, and neither is neither`() async throws {
        try await withFixture { fixture in
            try await signIn(fixture.authenticator(clientID: "app+", Secret("s: /")))
            #expect(fixture.form["client_id"] == nil)
            let pair = Data("app%2B:s%3A+%2F".utf8).base64EncodedString()
            #expect(fixture.provider.log(.token).last?.headers[.authorization] == "Basic \(pair)")
            try await signIn(fixture.authenticator())
            #expect(fixture.form["client_id"] == "app")
            #expect(fixture.provider.log(.token).last?.headers[.authorization] == nil)
            fixture.provider.fault(.respond(.json(["access_token": "abc", "token_type": "bearer"])), at: .token)
            try await signIn(fixture.authenticator(clientID: nil))
            #expect(fixture.form.keys.sorted() == ["grant_type", "password", "username"])
            #expect(throws: AuthError.self) { try fixture.authenticator(clientID: nil, Secret("s")) }
        }
    }

    @Test func `an expired token is refreshed first, once for all callers`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            try await signIn(authenticator)
            let first = try await field(authenticator.authenticateRequest(fixture.apiRequest))
            #expect(try await field(authenticator.authenticateRequest(fixture.apiRequest)) == first)
            fixture.seconds.withLock { $0 += 3600 }
            let request = fixture.apiRequest
            let fields = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<5 { group.addTask { try await field(authenticator.authenticateRequest(request)) } }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(fields.count == 1 && fields != [first] && fixture.provider.count(.token) == 2)
            #expect(fixture.form["grant_type"] == "refresh_token")
        }
    }

    @Test func `invalidateAccessToken forces a refresh, and clearAccessToken forgets`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            try await signIn(authenticator)
            let first = try await field(authenticator.authenticateRequest(fixture.apiRequest))
            try await authenticator.invalidateAccessToken()
            #expect(try await field(authenticator.authenticateRequest(fixture.apiRequest)) != first)
            #expect(fixture.form["grant_type"] == "refresh_token" && fixture.provider.count(.token) == 2)
            try await authenticator.clearAccessToken()
            #expect(try await authenticator.store.load() == nil && fixture.provider.count(.revocation) == 0)
        }
    }

    @Test func `the two errors have names`() async throws {
        try await withFixture { fixture in
            let authenticator = try fixture.authenticator()
            func code() async -> AuthError.Code? {
                let error = await #expect(throws: AuthError.self) {
                    try await authenticator.authenticateRequest(fixture.apiRequest)
                }
                return error?.code
            }
            #expect(await code() == .notAuthorized)
            fixture.provider.fault(.editDocument { $0["refresh_token"] = nil }, at: .token)
            try await signIn(authenticator)
            fixture.seconds.withLock { $0 += 3601 }
            #expect(await code() == .noRefreshToken)
        }
    }

    @Test func `store, URLSession, parser and request authenticator are the app's own`() async throws {
        try await withFixture { fixture in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["X-Session": "own"]
            let store = MemoryTokenStore()
            let authenticator = try Authenticator(
                tokenURLRequest: fixture.tokenRequest, clientID: "app", store: store,
                urlSession: URLSession(configuration: configuration),
                accessTokenParser: { response in
                    guard let token = (try? JSON(parsing: response.body))?["jwt"] else { return response }
                    var response = response
                    response.body = Array(
                        JSON.object(["access_token": token, "token_type": "bearer"]).serialized().utf8)
                    return response
                },
                requestAuthenticator: { token, fields in
                    fields[HTTPField.Name("X-App-Token")!] = token.value.reveal()
                })
            fixture.provider.fault(.respond(.json(["jwt": "a.b.c"])), at: .token)
            try await signIn(authenticator)
            #expect(try await store.load() != nil)
            #expect(fixture.provider.log(.token).last?.headers[HTTPField.Name("X-Session")!] == "own")
            let request = try await authenticator.authenticateRequest(fixture.apiRequest)
            #expect(request.value(forHTTPHeaderField: "X-App-Token") == "a.b.c" && field(request) == nil)
        }
    }

    @Test func `requestAccessToken sends any extension grant with its parameters`() async throws {
        try await withFixture { fixture in
            fixture.provider.fault(.respond(.json(["access_token": "abc", "token_type": "bearer"])), at: .token)
            let authenticator = try fixture.authenticator()
            try await authenticator.requestAccessToken(
                grantType: GrantType(rawValue: "https://example.org/grant"), parameters: ["assertion": Secret("theirs")]
            )
            #expect(
                fixture.form
                    == ["grant_type": "https://example.org/grant", "assertion": "theirs", "client_id": "app"])
        }
    }
}
