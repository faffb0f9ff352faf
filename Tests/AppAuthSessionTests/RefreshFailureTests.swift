import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The errors that end a session, and those that do not.
struct RefreshFailureTests {
    // GitHub and others send errors with the status 200.
    @Test(arguments: [HTTPResponse.Status.badRequest, .ok])
    func `an invalid refresh token ends the session, with the reason (RFC 6749 §5.2)`(
        status: HTTPResponse.Status
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let token = try #require(await state.record.refreshToken)
            world.provider.revokeGrant(of: token.reveal())
            world.provider.fault(.editReply { $0.status = status }, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .signInRequired)
            #expect(error.server?.error == "invalid_grant")
            #expect(error.httpStatus == status.code)
            let record = await state.record
            #expect(record.end?.date == world.clock.now)
            #expect(record.end?.reason.contains("invalid_grant") == true)
            #expect(record.accessToken == nil)
            #expect(!record.hasRefreshToken)
            #expect(record.idToken != nil)
            #expect(await store.record == record)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test(arguments: [
        (Fault.status(.internalServerError), AuthError.Code.invalidResponse),
        (.status(.internalServerError, json: ["error": "server_error"]), "server_error"),
        (.status(.serviceUnavailable, json: ["error": "invalid_grant"]), .invalidGrant),
        (.status(.tooManyRequests, json: ["error": "invalid_grant"]), .invalidGrant),
        (.tooManyRequests(retryAfter: 1), .invalidResponse), (.unavailable(retryAfter: 1), .invalidResponse),
        (.htmlPage, .invalidResponse), (.status(.badRequest), .invalidResponse),
        (.status(.unauthorized, json: ["error": "invalid_client"]), .invalidClient),
        (.status(.badRequest, json: ["error": "invalid_request"]), "invalid_request"),
        (.status(.badRequest, json: ["error": "temporarily_unavailable"]), "temporarily_unavailable"),
        (.status(.ok, json: ["error": "temporarily_unavailable"]), "temporarily_unavailable"),
        (.status(.ok, json: ["access_token": .null, "error": "server_error"]), "server_error"),
        (.status(.ok, json: ["error": "", "error_description": "x"]), .invalidResponse),
        (.status(.ok, json: ["error": ["invalid_grant"]]), .invalidResponse),
        (.status(.accepted, json: ["error": "invalid_grant"]), .invalidResponse),
        (.redirect(to: "https://evil.example/token"), .invalidResponse), (.reset(), .transport),
        (.respond(.json(["access_token": "a", "token_type": "mac"])), .invalidResponse),
        (.respond(.json(["token_type": "Bearer"])), .invalidResponse),
    ])
    func `anything else leaves the session as it is, and the next call may succeed`(
        fault: Fault, code: AuthError.Code
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            world.provider.fault(fault, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == code)
            var record = await state.record
            #expect(record == (await store.record))
            #expect(record.end == nil)
            #expect(record.backoff?.count == 1)
            #expect((record.backoff?.lost == nil) == (error.outcome != .perhapsProcessed))
            #expect(record.accessToken == before.accessToken && record.refreshToken == before.refreshToken)
            #expect(world.provider.count(.token) == 2)
            // The server has used up the token whose response was lost.
            guard error.httpStatus != nil else { return }
            world.clock.advance(by: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) } == nil)
            record = await state.record
            #expect(record.backoff == nil)
        }
    }

    /// The provider has rotated by then: with the old token it would end the session.
    @Test(arguments: [
        Fault.editDocument { $0["token_type"] = "mac" },
        .editDocument { $0["access_token"] = nil }, .editDocument { $0["expires_in"] = "soon" },
        .editDocument { $0["scope"] = 1 },
        .editReply { $0.status = .accepted },
    ])
    func `of a response that is refused the rotated refresh token is kept`(fault: Fault) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            world.provider.fault(fault, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidResponse && error.rotatedRefreshToken == nil)
            let stored = try #require(await store.record)
            #expect(await stored == state.record && stored.backoff?.count == 1 && stored.backoff?.lost == nil)
            #expect(stored.refreshToken != before.refreshToken && stored.accessToken == before.accessToken)
            world.clock.advance(by: 1)
            let token = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.isAlive(token.value.reveal()))
        }
    }

    // RFC 6749 §5.1: success is 200, and for some servers 201. Without tokens, the refresh token may be used up, and no new one has come.
    @Test(arguments: [HTTPResponse.Status.created, .badRequest])
    func `after an unusable success, the refresh token may be used up`(status: HTTPResponse.Status) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.status(status), at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidResponse)
            #expect(error.outcome == (status == .created ? .perhapsProcessed : .refused))
            #expect(await (store.record?.backoff?.lost != nil) == (status == .created))
        }
    }

    @Test(arguments: ["sign_in_required", "store", "clock_skew"])
    func `a server's error cannot pose as one of the library's own`(code: String) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.status(.badRequest, json: ["error": .string(code)]), at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidResponse)
            #expect(error.server?.error == code)
            #expect(await state.record.end == nil)
        }
    }

    @Test(arguments: ["invalid_scope", "invalid_target", "consent_required", "access_denied", "unauthorized_client"])
    func `an error about one caller's parameters does not affect other callers`(
        code: String
    ) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let error = ["error": JSON.string(code)] as JSON.Object
            for _ in 0..<3 {
                world.provider.fault(.status(.badRequest, json: .object(error)), at: .token)
                let parameters = TokenParameters(scope: ["admin"])
                let refusal = await authError { try await state.freshAccessToken(parameters: parameters) }
                #expect(refusal?.code.rawValue == code && refusal?.isTemporary == false)
                #expect(await state.record.backoff == nil)
            }
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) } == nil)
            // Of a refresh without parameters it is the session's trouble.
            world.provider.fault(.status(.badRequest, json: .object(error)), at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(await state.record.backoff?.count == 1)
        }
    }

    @Test func `a server that is silent for too long does not end the session`() async throws {
        try await World.run { world in
            let store = MemoryTokenStore(try await world.signIn().record)
            var environment = world.environment
            environment.transport = HastyTransport(transport: world.transport)
            let state = try #require(await AuthState(restoring: store, environment: environment))
            let hold = world.provider.hold(.token, before: .request)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .timeout)
            #expect(error.stage == .refresh)
            #expect(error.isTemporary)
            #expect(error.outcome == .perhapsProcessed)
            #expect(await state.record.end == nil)
            hold.release()
        }
    }

    @Test func `a server that is not there does not end the session`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            await world.provider.stop()
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .transport)
            #expect(error.outcome == .notSent)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `a response that was lost leaves the session until the server refuses the old token`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.lostResponse, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.outcome == .perhapsProcessed)
            #expect(await state.record.end == nil)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
        }
    }

    private struct Failure: Error {}

    /// An app may request the assertion from another server, even with a session of its own.
    @Test(
        arguments: [
            (
                AuthError(.invalidGrant, .token, "no", server: OAuthError(error: "invalid_grant"), httpStatus: 400),
                .unavailable, false
            ),
            (
                AuthError(.invalidResponse, .token, "no", outcome: .perhapsProcessed, isTemporary: true),
                .unavailable, true
            ),
            (AuthError(.timeout, .token, "no", outcome: .perhapsProcessed, isTemporary: true), .timeout, true),
            (AuthError(.signInRequired, .refresh, "no"), .unavailable, false),
            (AuthError(.invalidConfiguration, .configuration, "no"), .invalidConfiguration, false),
            (CancellationError(), .unavailable, true), (Failure(), .unavailable, true),
        ] as [(any Error, AuthError.Code, Bool)])
    func `a client assertion that cannot be obtained leaves the session as it is`(
        cause: any Error, code: AuthError.Code, isTemporary: Bool
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            var environment = world.environment
            environment.clientAssertion = { _ in throw cause }
            let client = try await world.client("demo", .assertion(named: "platform"))
            let state = try #require(try await AuthState(restoring: store, as: client, environment: environment))
            let before = await state.record
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == code && error.isTemporary == isTemporary && error.outcome == .notSent)
            #expect(error.server == nil && error.httpStatus == nil && !error.needsSignIn && error.stage == .refresh)
            let record = await state.record
            #expect(record.end == nil && record.backoff?.lost == nil && record.refreshToken == before.refreshToken)
            #expect(world.provider.count(.token) == 1)
        }
    }

    private struct Throwing: HTTPTransport {
        let outcome: AuthError.Outcome

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            throw AuthError(.invalidGrant, .token, "no", outcome: outcome)
        }
    }

    @Test(arguments: [AuthError.Outcome.refused, .perhapsProcessed, .notSent])
    func `invalid_grant ends the session only as the server's response`(outcome: AuthError.Outcome) async throws {
        try await World.run { world in
            let record = await (try await world.signIn()).record
            var environment = world.environment
            environment.transport = Throwing(outcome: outcome)
            let state = try await AuthState(record: record, store: TestStore(record), environment: environment)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect((await state.record.end != nil) == (outcome == .refused))
        }
    }
}

/// The same HTTP client with less patience.
private struct HastyTransport: HTTPTransport {
    let transport: any HTTPTransport

    func send(_ exchange: TransportRequest) async throws -> TransportResponse {
        var exchange = exchange
        exchange.limits.total = .seconds(1)
        return try await transport.send(exchange)
    }
}
