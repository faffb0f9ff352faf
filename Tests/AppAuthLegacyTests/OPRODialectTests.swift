import AppAuthLegacy
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// oPRO's demo through an `AuthState`.
struct OPRODialectTests {
    private func withOPro(lifetime: Int? = nil, _ test: (Stage<OPro>) async throws -> Void) async throws {
        try await withStage(
            .oPRO,
            { options in
                var configuration = OPro.Configuration()
                (configuration.options, configuration.tokenLifetime) = (options, lifetime)
                return try await OPro.start(configuration)
            }, test)
    }

    private func client(_ stage: Stage<OPro>, secret: String = "opro-demo-secret") throws -> Client {
        Client(
            id: "opro-demo", authentication: .clientSecretPost(Secret(secret)),
            provider: try ProviderMetadata(tokenEndpoint: stage.double.baseURL + "/oauth/token.json"))
    }

    private func session(
        _ stage: Stage<OPro>, _ grant: TokenGrant? = nil, secret: String = "opro-demo-secret",
        store: any TokenStore = MemoryTokenStore()
    ) async throws -> AuthState {
        try await AuthState.present(
            grant ?? password("red-slippers"), as: client(stage, secret: secret), store: store,
            environment: stage.environment)
    }

    private func password(_ password: String) throws -> TokenGrant {
        try .resourceOwnerPassword(username: "ruby", password: Secret(password))
    }

    private static let credentials = "&client_id=opro-demo&client_secret=opro-demo-secret"

    @Test func `a name and a password are enough, without a grant_type`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            #expect(stage.body(0, at: .token) == "password=red-slippers&username=ruby" + Self.credentials)
            #expect(stage.double.log(.token).first?.headers[.authorization] == nil)
            #expect(await state.record.hasRefreshToken)
        }
    }

    @Test func `an email address does instead of the name`() async throws {
        try await withOPro { stage in
            _ = try await session(
                stage, .emailPassword(email: "ruby@example.com", password: Secret("red-slippers")))
            #expect(stage.body(0, at: .token) == "email=ruby%40example.com&password=red-slippers" + Self.credentials)
        }
    }

    @Test func `a code is exchanged, once`() async throws {
        try await withOPro { stage in
            let grant = try TokenGrant.oPRO(code: Secret(stage.double.makeCode()))
            _ = try await session(stage, grant)
            #expect(stage.body(0, at: .token).hasPrefix("code="))
            #expect(stage.body(0, at: .token).hasSuffix(Self.credentials))
            #expect(await authError { try await session(stage, grant) }?.code == .invalidGrant)
        }
    }

    @Test func `a refresh has no grant_type either, and a refresh token that is used up ends the session`() async throws
    {
        try await withOPro { stage in
            let state = try await session(stage)
            let before = await state.record
            let first = try await state.freshAccessToken()
            #expect(try await state.freshAccessToken(forceRefresh: true).value != first.value)
            #expect(stage.body(1, at: .token).hasPrefix("refresh_token="))
            #expect(stage.body(1, at: .token).hasSuffix(Self.credentials))
            let stale = AuthState(record: before, store: MemoryTokenStore(), environment: stage.environment)
            let error = await authError { try await stale.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired && error?.server?.error == "invalid_grant")
        }
    }

    @Test func `expires_in null is a token that never ends`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            stage.clock.advance(10 * 365 * 86_400)
            #expect(try await state.freshAccessToken().lifetime == nil)
            #expect(stage.double.count(.token) == 1)
        }
    }

    @Test func `a token that ends is refreshed in time`() async throws {
        try await withOPro(lifetime: 600) { stage in
            let state = try await session(stage)
            stage.clock.advance(600)
            #expect(try await state.send(stage.request("/users/me.json")).status == .ok)
            #expect(stage.double.count(.me) == 1 && stage.double.count(.token) == 2)
        }
    }

    @Test func `a wrong password is invalid_grant`() async throws {
        try await withOPro { stage in
            let error = await authError { try await session(stage, password("ruby-shoes")) }
            #expect(error?.code == .invalidGrant && error?.httpStatus == 401)
            #expect(error?.server?.errorDescription?.hasPrefix("Could not find a user") == true)
        }
    }

    @Test func `a wrong client is invalid_client, and its secret is not repeated, however short`() async throws {
        try await withOPro { stage in
            let error = await authError { try await session(stage, secret: "x=7") }
            #expect(error?.code == .invalidClient)
            #expect(error?.message.contains("There is no application with client_id") == true)
            #expect(error?.message.contains("x=7") == false && error?.message.contains("7") == false)
        }
    }

    @Test(arguments: [
        (
            401,
            "Could not find a user that belongs to this application based on client_id=a and client_secret=b & has a refresh_token=c",
            "invalid_client"
        ),
        (401, "Please try later", "invalid_request"), (503, "Could not find a user", "server_error"),
    ])
    func `what is not the refresh token's fault leaves the session as it is`(
        status: Int, sentence: String, code: String
    ) async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            stage.double.fault(.status(.init(code: status), json: ["error": .string(sentence)]), at: .token)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code.rawValue == code)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `the token stands in Authorization as Token token`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            let token = try await state.freshAccessToken().value.reveal()
            let me = try await state.send(stage.request("/users/me.json"))
            #expect(me.json?["email"]?.string == "ruby@example.com")
            #expect(stage.double.log(.me).first?.headers[.authorization] == #"Token token="\#(token)""#)
        }
    }

    @Test func `a token cannot break out of its quotes`() {
        var fields = HTTPFields()
        let token = AccessToken(value: Secret(#"a\b" x="c"#), received: SharedClock().timestamp, lifetime: nil)
        Dialect.oPRO.authorize(token, &fields)
        #expect(fields[.authorization] == #"Token token="a\\b\" x=\"c""#)
    }

    @Test(arguments: [HTTPRequest.Method.put, .post])
    func `the user is changed with JSON`(method: HTTPRequest.Method) async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            let user: JSON = ["user": ["email": "ruby@new.example", "twitter": "slippers", "zip": "12345"]]
            let response = try await state.send(stage.request("/users/me.json", method, json: user))
            #expect(response.status == .ok && response.json?["zip"]?.string == "12345")
            #expect(stage.double.log(.me).first?.body == Array(user.serialized().utf8))
            let me = try await state.send(stage.request("/users/me.json"))
            #expect(me.json?["email"]?.string == "ruby@new.example" && me.json?["twitter"]?.string == "slippers")
        }
    }

    @Test func `DELETE ends the user, and the session with it`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            #expect(try await state.send(stage.request("/users/me.json", .delete)).status == .noContent)
            let error = await authError { try await state.send(stage.request("/users/me.json")) }
            #expect(error?.code == .signInRequired)
        }
    }

    @Test func `show_me_the_money tells whether a token is good, and a dead one is renewed first`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            stage.double.killAccessTokens()
            let response = try await state.send(stage.request("/oauth_tests/show_me_the_money"))
            #expect(response.json?["message"]?.string == "OAuth worked!")
            #expect(stage.double.count(.showMeTheMoney) == 2 && stage.double.count(.token) == 2)
            let bare = try await stage.environment.transport.send(stage.request("/oauth_tests/show_me_the_money"))
            #expect(bare.status == .unauthorized)
            #expect(bare.json?["message"]?.string?.contains("No OAuth token was provided") == true)
        }
    }

    @Test func `a second start is signed in already`() async throws {
        try await withOPro { stage in
            let folder = FileManager.default.temporaryDirectory.appending(component: "opro-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let store = FileTokenStore(path: folder.path + "/session.json")
            _ = try await session(stage, store: store)
            let state = try #require(try await AuthState(restoring: store, environment: stage.environment))
            #expect(try await state.send(stage.request("/users/me.json")).status == .ok)
            #expect(stage.double.count(.token) == 1)
        }
    }

    @Test func `a random user can sign in`() async throws {
        try await withOPro { stage in
            let response = try await stage.environment.transport.send(stage.request("/users/random.json", .post))
            let name = try #require(response.json?["username"]?.string)
            let password = try #require(response.json?["password"]?.string)
            let state = try await session(stage, .resourceOwnerPassword(username: name, password: Secret(password)))
            #expect(try await state.send(stage.request("/users/me.json")).json?["username"]?.string == name)
        }
    }
}
