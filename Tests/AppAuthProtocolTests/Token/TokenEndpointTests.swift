import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The one POST (RFC 6749 §3.2, §4.1.3, §5.2).
struct TokenEndpointTests {
    @Test func `a code goes out in one POST with its verifier (RFC 6749 §4.1.3, RFC 7636 §4.5)`() async throws {
        try await World.run { world in
            let response = try await world.authorize(world.client())
            _ = try await AuthState.exchange(response, store: MemoryTokenStore(), environment: world.environment)
            #expect(world.provider.count(.token) == 1)
            let sent = try #require(world.provider.log(.token).first)
            #expect(sent.method == .post)
            #expect(sent.query.entries.isEmpty)
            #expect(sent.headers[.contentType] == "application/x-www-form-urlencoded")
            #expect(sent.headers[.accept] == "application/json")
            #expect(sent.form.names == ["grant_type", "code", "redirect_uri", "code_verifier", "client_id"])
            #expect(sent.form["grant_type"] == "authorization_code")
            #expect(sent.form["code"] == response.code.reveal())
            #expect(sent.form["redirect_uri"] == response.request.redirectURI)
            #expect(sent.form["code_verifier"] == response.request.pkce.codeVerifier.reveal())
        }
    }

    @Test func `a refresh request has no other parameters (RFC 6749 §6)`() async throws {
        try await World.run { world in
            _ = try await refresh(world)
            let sent = try #require(world.provider.log(.token).first)
            #expect(sent.form.names == ["grant_type", "refresh_token", "client_id"])
            #expect(sent.form["grant_type"] == "refresh_token")
        }
    }

    @Test(arguments: [Fault.reset(), .lostResponse, .cutOff(after: 40), .status(.internalServerError), .htmlPage])
    func `a code is sent once, after any failure`(fault: Fault) async throws {
        try await World.run { world in
            let response = try await world.authorize(world.client())
            world.provider.fault(fault, at: .token)
            let store = TestStore()
            let error = await authError {
                try await AuthState.exchange(response, store: store, environment: world.environment)
            }
            #expect(error != nil)
            #expect(error?.outcome != .notSent)
            #expect(world.provider.count(.token) == 1)
            #expect(await store.saves == 0)
        }
    }

    @Test func `if no server listens, the error says that the code was not sent`() async throws {
        try await World.run { world in
            let response = try await world.authorize(world.client())
            await world.provider.stop()
            let error = try #require(
                await authError {
                    try await AuthState.exchange(response, store: MemoryTokenStore(), environment: world.environment)
                })
            #expect(error.code == .transport)
            #expect(error.outcome == .notSent)
            #expect(error.stage == .token)
        }
    }

    @Test(arguments: [
        ("invalid_grant", 400, false), ("invalid_client", 401, false), ("invalid_request", 400, false),
        ("unauthorized_client", 400, false), ("vendor:strange", 422, false), ("temporarily_unavailable", 400, true),
        ("server_error", 500, true), ("slow_down", 429, true), ("invalid_grant", 503, true),
        ("server_error", 400, true), ("slow_down", 400, true),
    ])
    func `an OAuth error is the code, with its status (RFC 6749 §5.2)`(
        code: String, status: Int, isTemporary: Bool
    ) async throws {
        try await World.run { world in
            let body: JSON = ["error": .string(code), "error_description": "No\n\u{1B}[31mmore", "error_uri": "u"]
            world.provider.fault(.status(.init(code: status), [.retryAfter: "9"], json: body), at: .token)
            let error = try #require(await authError { try await refresh(world) })
            #expect(error.code.rawValue == code)
            #expect(error.httpStatus == status)
            #expect(error.isTemporary == isTemporary)
            #expect(error.retryAfter == 9)
            #expect(error.outcome == (status >= 500 ? .perhapsProcessed : .refused))
            #expect(error.server == OAuthError(error: code, errorDescription: "No  [31mmore", errorURI: "u"))
        }
    }

    // GitHub and others send errors with the status 200.
    @Test(
        arguments: [
            ("invalid_grant", nil, .refused, false), ("invalid_grant", .null, .refused, false),
            ("invalid_grant", "", .refused, false), ("slow_down", .null, .refused, true),
            ("server_error", nil, .perhapsProcessed, true),
            ("temporarily_unavailable", .null, .perhapsProcessed, true),
        ] as [(String, JSON?, AuthError.Outcome, Bool)])
    func `with the status 200, only the code says whether the server rejected the request`(
        code: String, token: JSON?, outcome: AuthError.Outcome, isTemporary: Bool
    ) async throws {
        try await World.run { world in
            var body: JSON.Object = ["error": .string(code)]
            for name in ["access_token", "refresh_token", "device_code"] { body[name] = token }
            world.provider.fault(.status(.ok, json: .object(body)), at: .token)
            let error = try #require(await authError { try await refresh(world) })
            #expect(error.code.rawValue == code && error.outcome == outcome && error.isTemporary == isTemporary)
        }
    }

    @Test(
        arguments: [
            (Fault.status(.badRequest), 400, false), (.status(.internalServerError), 500, true),
            (.status(.badRequest, json: ["error": 1]), 400, false),
            (.status(.badRequest, json: ["error": ""]), 400, false),
            (.status(.badRequest, json: ["invalid_grant"]), 400, false), (.unavailable(retryAfter: 3), 503, true),
            (.tooManyRequests(retryAfter: 3), 429, true), (.status(.noContent), 204, false),
            (.status(.created), 201, false),
            (
                .respond(Reply(.badGateway, type: "text/html", "<h1>invalid_grant</h1>")), 502, true
            ),
        ] as [(Fault, Int, Bool)])
    func `a response that is neither tokens nor an OAuth error is an invalid one`(
        fault: Fault, status: Int, isTemporary: Bool
    ) async throws {
        try await World.run { world in
            world.provider.fault(fault, at: .token)
            let error = try #require(await authError { try await refresh(world) })
            #expect(error.code == .invalidResponse)
            #expect(error.httpStatus == status)
            #expect(error.isTemporary == isTemporary)
            #expect(error.retryAfter == (status == 503 || status == 429 ? 3 : nil))
            #expect(error.server == nil)
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is refused, and nothing goes elsewhere`(status: Int) async throws {
        try await World.run { world in
            let elsewhere = world.provider.url(.revocation)
            world.provider.fault(.status(.init(code: status), [.location: elsewhere]), at: .token)
            let error = try #require(await authError { try await refresh(world) })
            #expect(error.code == .invalidResponse)
            #expect(error.httpStatus == status)
            #expect(error.message.contains(", redirects are never followed"))
            #expect(world.provider.count(.revocation) == 0)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test(arguments: ["Sun, 15 Jun 2025 15:07:10 GMT", "Sunday, 15-Jun-25 15:07:10 GMT", "Sun Jun 15 15:07:10 2025"])
    func `a Retry-After may be a date, which is compared with the server's own (RFC 9110 §10.2.3)`(
        date: String
    ) async throws {
        try await World.run { world in
            world.clock.step(by: 1e6)
            let headers: HTTPFields = [.retryAfter: date]
            world.provider.fault(.status(.serviceUnavailable, headers), at: .token)
            #expect(await authError { try await refresh(world) }?.retryAfter == 30)
        }
    }

    @Test(arguments: ["soon", "-1", "1.5", "Sun, 15 Jun 2025 15:06:39 GMT", "Monday, 15-Jun-25 15:07:10 GMT"])
    func `a Retry-After that is neither seconds nor a date to come is none`(value: String) async throws {
        try await World.run { world in
            world.provider.fault(.status(.serviceUnavailable, [.retryAfter: value]), at: .token)
            let error = try #require(await authError { try await refresh(world) })
            #expect(error.retryAfter == nil)
        }
    }

    @Test func `a response may have 1 MiB and no more`() async throws {
        try await World.run { world in
            world.provider.fault(.oversize(bytes: 1 << 20), at: .token)
            #expect(await authError { try await refresh(world) } == nil)
            world.provider.fault(.oversize(bytes: (1 << 20) + 1), at: .token)
            #expect(await authError { try await refresh(world) }?.code == .invalidResponse)
        }
    }

    @Test func `an error that repeats the request does not show it`() async throws {
        try await World.run { world in
            let token = try #require(try world.provider.mintSession().refreshToken)
            let text = JSON.string("Invalid refresh token: \(token) of demo")
            world.provider.fault(
                .status(.badRequest, json: ["error": "invalid_grant", "error_description": text, "error_uri": text]),
                at: .token)
            let error = try #require(await authError { try await refresh(world, token) })
            #expect(error.server?.errorDescription == "Invalid refresh token: [redacted] of demo")
            #expect(!"\(error) \(String(reflecting: error))".contains(token))
            #expect(!world.log.lines.joined().contains(token))
        }
    }

    private func refresh(_ world: World, _ token: String? = nil) async throws -> TokenResponse {
        let minted = try #require(try token ?? world.provider.mintSession().refreshToken)
        let client = try await world.client()
        return try await ClientEndpoint(client: client, environment: world.environment)
            .send(.refresh(Secret(minted)), stage: .refresh)
    }
}
