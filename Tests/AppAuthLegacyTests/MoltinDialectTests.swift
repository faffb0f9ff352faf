import AppAuthLegacy
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// Moltin's first API through an `AuthState`.
struct MoltinDialectTests {
    private func withMoltin(
        _ change: (inout Moltin.Configuration) -> Void = { _ in }, _ test: (Stage<Moltin>) async throws -> Void
    ) async throws {
        try await withStage(
            .moltin,
            { options in
                var configuration = Moltin.Configuration()
                configuration.options = options
                change(&configuration)
                return try await Moltin.start(configuration)
            }, test)
    }

    private func client(
        _ stage: Stage<Moltin>, id: String = "moltin-demo",
        _ authentication: ClientAuthentication = .clientSecretPost(Secret("moltin-demo-secret"))
    ) throws -> Client {
        Client(
            id: id, authentication: authentication,
            provider: try ProviderMetadata(tokenEndpoint: stage.double.baseURL + "/oauth/access_token"))
    }

    private func session(_ stage: Stage<Moltin>, _ grant: TokenGrant? = nil, _ client: Client? = nil) async throws
        -> AuthState
    {
        try await AuthState.present(
            grant ?? .clientCredentials(), as: client ?? self.client(stage), store: MemoryTokenStore(),
            environment: stage.environment)
    }

    private func codeGrant(_ stage: Stage<Moltin>) throws -> TokenGrant {
        try TokenGrant(
            .authorizationCode,
            parameters: [
                "code": Secret(stage.double.makeCode()), "redirect_uri": Secret("http://127.0.0.1/callback"),
            ])
    }

    @Test(arguments: [
        ClientAuthentication.clientSecretPost(Secret("moltin-demo-secret")),
        .clientSecretBasic(Secret("moltin-demo-secret")),
    ])
    func `auth: the client is in the form, however it was made, and the token is valid for an hour`(
        authentication: ClientAuthentication
    ) async throws {
        try await withMoltin { stage in
            let state = try await session(stage, nil, client(stage, authentication))
            #expect(
                stage.body(0, at: .token)
                    == "grant_type=client_credentials&client_id=moltin-demo&client_secret=moltin-demo-secret")
            #expect(stage.double.log(.token).first?.headers[.authorization] == nil)
            #expect(try await state.freshAccessToken().lifetime == .seconds(3600))
            let response = try await state.send(stage.request("/v1/products"))
            #expect(response.status == .ok && response.json?["result"]?.array?.count == 3)
        }
    }

    @Test(arguments: [
        (ClientAuthentication.none, "grant_type=implicit&client_id=moltin-demo"),
        (
            .clientSecretPost(Secret("moltin-demo-secret")),
            "grant_type=implicit&client_id=moltin-demo&client_secret=moltin-demo-secret"
        ),
    ])
    func `implicit sends the client id, and a secret if the client has one`(
        authentication: ClientAuthentication, body: String
    ) async throws {
        try await withMoltin { stage in
            let caller: any DeprecatedGrants = GrantCaller()
            let state = try await session(stage, caller.implicit(), client(stage, authentication))
            #expect(stage.body(0, at: .token) == body)
            #expect(try await state.send(stage.request("/v1/products")).status == .ok)
            // Such a session is begun anew when its token ends.
            stage.clock.advance(3600)
            #expect(await authError { try await state.freshAccessToken() }?.code == .noRefreshToken)
        }
    }

    @Test(arguments: [Moltin.ErrorForm.error, .errors, .errorList])
    func `bad auth: a wrong client is an error with the server's sentence`(form: Moltin.ErrorForm) async throws {
        try await withMoltin({ ($0.errorForm, $0.tokenRefusal) = (form, "Your client is wrong") }) { stage in
            let error = await authError { try await session(stage, nil, client(stage, id: "nobody")) }
            #expect(error?.code == .invalidClient && error?.httpStatus == 400)
            #expect(error?.server?.errorDescription == "Your client is wrong")
        }
    }

    @Test func `an error without a sentence is an Unknown Error, and a page is none of the server's`() async throws {
        try await withMoltin({ $0.errorForm = .none }) { stage in
            let error = await authError { try await session(stage, nil, client(stage, id: "nobody")) }
            #expect(error?.code == "invalid_request" && error?.server?.errorDescription == "Unknown Error")
            stage.double.fault(.status(.badRequest, json: ["message": "No"]), at: .token)
            #expect(await authError { try await session(stage) }?.code == .invalidResponse)
        }
    }

    /// The dialect guesses from the RFC's terms. The double speaks in its own words, so no test can rely on the guess by
    /// accident.
    @Test func `the double's sentences have none of the words from which the dialect guesses`() async throws {
        try await withMoltin { stage in
            var requests = [
                ["grant_type": "client_credentials", "client_id": "nobody"],
                ["grant_type": "refresh_token", "refresh_token": "x"],
                ["grant_type": "authorization_code", "code": "x"],
                ["grant_type": "implicit", "client_secret": "wrong"], ["grant_type": "password"], [:],
            ]
            for index in requests.indices {
                let form = ["client_id": "moltin-demo", "client_secret": "moltin-demo-secret"]
                requests[index].merge(form) { own, _ in own }
                var parameters = FormParameters()
                for (name, value) in requests[index] { parameters.append(name, value) }
                var request = try stage.request("/oauth/access_token", .post)
                request.head.headerFields[.contentType] = "application/x-www-form-urlencoded"
                request.body = Array(parameters.encoded.utf8)
                let response = Dialect.moltin.tokenResponse(try await stage.environment.transport.send(request))
                #expect(response.json?["error"] == "invalid_request")
                #expect(response.json?["error_description"]?.string?.contains(" ") == true)
            }
        }
    }

    @Test func `every member of the token response is there for the app`() async throws {
        try await withMoltin { stage in
            let state = try await session(stage)
            let parameters = await state.record.additionalParameters
            #expect(parameters["identifier"] == "client_credentials")
            #expect(parameters["expires"]?.int == Int(stage.clock.date.timeIntervalSince1970) + 3600)
            let token = try await state.freshAccessToken()
            #expect(token.type == .bearer && token.lifetime == .seconds(3600) && !token.value.reveal().isEmpty)
        }
    }

    @Test func `refresh of an expired token: its partner works, and the token itself is refused`() async throws {
        try await withMoltin { stage in
            let state = try await session(stage, codeGrant(stage))
            let expired = try await state.freshAccessToken()
            stage.clock.advance(3600)
            let token = try await state.freshAccessToken()
            #expect(token.value != expired.value)
            #expect(stage.body(1, at: .token).hasPrefix("grant_type=refresh_token&refresh_token="))
            #expect(try await state.send(stage.request("/v1/products")).status == .ok)

            let grant = try TokenGrant(.refreshToken, parameters: ["refresh_token": expired.value])
            let error = await authError { try await session(stage, grant) }
            #expect(stage.body(2, at: .token).contains("refresh_token=" + expired.value.reveal()))
            #expect(error?.httpStatus == 400 && error?.server?.errorDescription != nil)
            // The session knows nothing of that.
            #expect(try await state.freshAccessToken().value == token.value)
        }
    }

    @Test func `refresh: client credentials are presented again, a refresh token once`() async throws {
        try await withMoltin({ $0.tokenRefusal = "The refresh token is invalid" }) { stage in
            let state = try await session(stage)
            let first = try await state.freshAccessToken()
            #expect(try await state.freshAccessToken(forceRefresh: true).value != first.value)
            #expect(stage.body(1, at: .token) == stage.body(0, at: .token))

            let other = try await session(stage, codeGrant(stage))
            let before = await other.record
            #expect(before.hasRefreshToken)
            _ = try await other.freshAccessToken(forceRefresh: true)
            #expect(stage.body(3, at: .token).hasPrefix("grant_type=refresh_token&refresh_token="))
            #expect(stage.body(3, at: .token).hasSuffix("&client_id=moltin-demo&client_secret=moltin-demo-secret"))
            // The refresh token from before is used up.
            let stale = try await AuthState(record: before, store: MemoryTokenStore(), environment: stage.environment)
            let error = await authError { try await stale.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired && error?.server?.error == "invalid_grant")
            #expect(await stale.record.end != nil)
        }
    }

    @Test func `expiry: a new token is there before the old one is used too long`() async throws {
        try await withMoltin { stage in
            let state = try await session(stage)
            stage.clock.advance(3600)
            #expect(try await state.send(stage.request("/v1/products")).status == .ok)
            #expect(stage.double.count(.products) == 1)
            #expect(stage.double.count(.token) == 2)
        }
    }

    @Test(arguments: [3600, 90], [nil, .null, ""] as [JSON?])
    func `the end of a token is read from expires where expires_in is missing`(
        lifetime: Int, missing: JSON?
    ) async throws {
        try await withMoltin({ $0.tokenLifetime = lifetime }) { stage in
            stage.double.fault(.editDocument { $0["expires_in"] = missing }, at: .token)
            let first = try await session(stage).freshAccessToken()
            #expect(first.lifetime == .seconds(lifetime))
            // With both it is expires_in that counts.
            stage.double.fault(.editDocument { $0["expires"] = 1 }, at: .token)
            let second = try await session(stage).freshAccessToken()
            #expect(second.lifetime == .seconds(lifetime))
        }
    }

    @Test(arguments: [Moltin.ErrorForm.error, .errors, .errorList])
    func `a dead token is a 400 that says so, and is renewed once`(form: Moltin.ErrorForm) async throws {
        try await withMoltin({ $0.errorForm = form }) { stage in
            let state = try await session(stage)
            stage.double.killAccessTokens()
            #expect(try await state.send(stage.request("/v1/products")).status == .ok)
            #expect(stage.double.count(.products) == 2 && stage.double.count(.token) == 2)
        }
    }

    @Test(
        arguments: [
            (400, ["status": false, "error": "The title is missing"]),
            (400, ["status": true, "error": "Access token is not valid"]),
            (401, ["status": false, "error": "Access token is not valid"]),
        ] as [(Int, JSON)])
    func `any other response is the app's own affair`(status: Int, document: JSON) async throws {
        try await withMoltin { stage in
            let state = try await session(stage)
            stage.double.fault(.status(.init(code: status), json: document), at: .products)
            #expect(try await state.send(stage.request("/v1/products")).status.code == status)
            #expect(stage.double.count(.products) == 1)
        }
    }

    @Test(arguments: [
        (400, "Client authentication failed", "invalid_client"), (400, "Something else", "invalid_request"),
        (400, "The refresh token was given to another client", "invalid_client"),
        (400, "This cannot be exchanged for a new token", "invalid_request"),
        (429, "Refresh token is not valid", "temporarily_unavailable"),
        (500, "Refresh token is not valid", "server_error"),
    ])
    func `a refusal that is not of the refresh token leaves the session as it is`(
        status: Int, sentence: String, code: String
    ) async throws {
        try await withMoltin { stage in
            let state = try await session(stage, codeGrant(stage))
            stage.double.fault(
                .status(.init(code: status), json: ["status": false, "error": .string(sentence)]), at: .token)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code.rawValue == code && error?.server?.errorDescription == sentence)
            let record = await state.record
            #expect(record.end == nil && record.hasRefreshToken)
        }
    }

    @Test func `delete: the token is gone from memory and store`() async throws {
        try await withMoltin { stage in
            let store = MemoryTokenStore()
            let state = try await AuthState.present(
                .clientCredentials(), as: client(stage), store: store, environment: stage.environment)
            try await state.forget()
            #expect(try await store.load() == nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
        }
    }

    @Test func `HTML is no response, and neither is silence`() async throws {
        try await withMoltin { stage in
            stage.double.fault(.htmlPage, at: .token)
            #expect(await authError { try await session(stage) }?.code == .invalidResponse)
            await stage.double.stop()
            #expect(await authError { try await session(stage) }?.code == .transport)
        }
    }
}
