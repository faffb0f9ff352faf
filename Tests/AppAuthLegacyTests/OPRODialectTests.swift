import AppAuthLegacy
import Foundation
import FoundationNetworking
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// oPRO's demo through an `AuthState`.
struct OPRODialectTests {
    private func withOPro(
        _ change: (inout OPro.Configuration) -> Void = { _ in }, _ test: (Stage<OPro>) async throws -> Void
    ) async throws {
        try await withStage(
            .oPRO,
            { options in
                var configuration = OPro.Configuration()
                configuration.options = options
                change(&configuration)
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
            let caller: any DeprecatedGrants = GrantCaller()
            _ = try await session(stage, caller.emailPassword("ruby@example.com", Secret("red-slippers")))
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
            let stale = try await AuthState(record: before, store: MemoryTokenStore(), environment: stage.environment)
            let error = await authError { try await stale.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired && error?.server?.error == "invalid_grant")
        }
    }

    @Test(arguments: [false, .null] as [JSON])
    func `expires_in false or null is a token that never ends`(value: JSON) async throws {
        try await withOPro({ $0.endlessLifetime = value }) { stage in
            let state = try await session(stage)
            stage.clock.advance(10 * 365 * 86_400)
            #expect(try await state.freshAccessToken().lifetime == nil)
            #expect(stage.double.count(.token) == 1)
        }
    }

    @Test func `ten thousand years are a token that never ends, and a hundred are its lifetime`() async throws {
        for (lifetime, expected) in [(315_569_520_000, nil), (3_155_760_000, Duration.seconds(3_155_760_000))] {
            try await withOPro({ $0.tokenLifetime = lifetime }) { stage in
                let token = try await session(stage).freshAccessToken()
                #expect(token.lifetime == expected)
            }
        }
    }

    @Test func `a response without token_type is a bearer token, one with another type is refused`() async throws {
        try await withOPro({ $0.hasTokenType = false }) { stage in
            let state = try await session(stage)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(try await state.send(stage.request("/users/me.json")).status == .ok)
            stage.double.fault(.editDocument { $0["token_type"] = "mac" }, at: .token)
            #expect(await authError { try await session(stage) }?.code == .invalidResponse)
        }
    }

    @Test func `a second sign-in ends the first one's session`() async throws {
        try await withOPro { stage in
            let (first, second) = (try await session(stage), try await session(stage))
            #expect(try await second.send(stage.request("/users/me.json")).status == .ok)
            let error = await authError { try await first.send(stage.request("/users/me.json")) }
            #expect(error?.code == .signInRequired && error?.server?.error == "invalid_grant")
            #expect(try await second.send(stage.request("/users/me.json")).status == .ok)
            // Two processes with one store have one session, and neither ends the other's.
            let store = MemoryTokenStore(await second.record)
            let copies = [
                try await AuthState(restoring: store, environment: stage.environment),
                try await AuthState(restoring: store, environment: stage.environment),
            ]
            for copy in copies {
                _ = try await copy?.freshAccessToken(forceRefresh: true)
                #expect(try await copy?.send(stage.request("/users/me.json")).status == .ok)
            }
        }
    }

    @Test func `a code comes with a redirect, as the documentation shows`() async throws {
        try await withOPro { stage in
            // oPRO returns no state. A path that only this app knows takes its place.
            let listener = try LoopbackRedirectListener(addsRandomComponent: true)
            defer { listener.close() }
            var question = FormParameters()
            question.append("client_id", "opro-demo")
            question.append("redirect_uri", listener.redirectURI)
            let url = stage.double.baseURL + "/oauth/new?" + question.encoded
            async let page = URLSession(configuration: .ephemeral).data(from: #require(URL(string: url)))
            let code = try await listener.redirect { query in
                FormParameters(decoding: query)?.values("code").first.map { Secret($0) }
            }
            let state = try await session(stage, .oPRO(code: code))
            await listener.finish(with: CompletionPages(appName: "Test").signedIn)
            _ = try await page
            #expect(try await state.send(stage.request("/users/me.json")).json?["username"]?.string == "ruby")
            #expect(stage.double.log.map(\.endpoint) == [.authorization, .token, .me])
        }
    }

    @Test func `a token that ends is refreshed in time`() async throws {
        try await withOPro({ $0.tokenLifetime = 600 }) { stage in
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
    func `an error that is not about the refresh token leaves the session as it is`(
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

    @Test func `the token is in Authorization as Token token`() async throws {
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

    @Test func `the user is changed with JSON by PUT`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            let user: JSON = ["user": ["email": "ruby@new.example", "twitter": "slippers", "zip": "12345"]]
            let response = try await state.send(stage.request("/users/me.json", .put, json: user))
            #expect(response.status == .ok && response.json?["zip"]?.string == "12345")
            #expect(stage.double.log(.me).first?.body == Array(user.serialized().utf8))
            let me = try await state.send(stage.request("/users/me.json"))
            #expect(me.json?["email"]?.string == "ruby@new.example" && me.json?["twitter"]?.string == "slippers")
        }
    }

    @Test func `the user is changed with a form, as Rails reads it`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            var request = try stage.request("/users/me.json", .put)
            request.head.headerFields[.contentType] = "application/x-www-form-urlencoded"
            request.body = Array("user%5Btwitter%5D=slippers&user%5Bzip%5D=12345".utf8)
            let response = try await state.send(request)
            #expect(response.json?["twitter"]?.string == "slippers" && response.json?["zip"]?.string == "12345")
        }
    }

    @Test func `POST sends JSON with the token, and the demo has no such route`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            let user: JSON = ["user": ["zip": "12345"]]
            let error = await #expect(throws: AuthError.self) {
                try await state.post(stage.double.baseURL + "/users/me.json", json: user)
            }
            #expect(error?.httpStatus == 404)
            let request = try #require(stage.double.log(.me).first)
            #expect(request.method == .post && request.body == Array(user.serialized().utf8))
            #expect(request.headers[values: .contentType] == ["application/json"])
            let token = try await state.freshAccessToken().value.reveal()
            #expect(request.headers[.authorization] == #"Token token="\#(token)""#)
            #expect(stage.double.count(.token) == 1)
            #expect(await state.isAuthorized)
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

    @Test func `a DELETE that the server excludes from OAuth is a 401, and the session continues`() async throws {
        try await withOPro({ $0.deletesUsers = false }) { stage in
            let state = try await session(stage)
            #expect(try await state.send(stage.request("/users/me.json", .delete)).status == .unauthorized)
            #expect(try await state.send(stage.request("/users/me.json")).status == .ok)
        }
    }

    @Test func `show_me_the_money reports whether a token is valid, and a dead one is renewed first`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            stage.double.killAccessTokens()
            let path = "/oauth_tests/show_me_the_money.json"
            #expect(try await state.send(stage.request(path)).json?["message"]?.string == "OAuth worked!")
            #expect(stage.double.count(.showMeTheMoney) == 2 && stage.double.count(.token) == 2)
            let bare = try await stage.environment.transport.send(stage.request(path))
            #expect(bare.status == .unauthorized)
            #expect(bare.json?["message"]?.string?.contains("No OAuth token was provided") == true)
        }
    }

    @Test func `show_me_the_money is HTML unless JSON is asked for, as get does`() async throws {
        try await withOPro { stage in
            let state = try await session(stage)
            let path = "/oauth_tests/show_me_the_money"
            #expect(try await state.get(stage.double.baseURL + path).json?["message"]?.string == "OAuth worked!")
            let page = try await state.send(stage.request(path))
            #expect(page.status == .ok && page.headerFields[.contentType]?.hasPrefix("text/html") == true)
        }
    }

    @Test func `the token type of oPRO is bearer, also where the response leaves it out`() async throws {
        for hasType in [true, false] {
            try await withOPro({ $0.hasTokenType = hasType }) { stage in
                let token = try await session(stage).freshAccessToken()
                #expect(token.type == .bearer)
            }
        }
    }

    @Test func `another process has the session of the store`() async throws {
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

    @Test func `a random user has a session like any other`() async throws {
        try await withOPro { stage in
            let response = try await stage.environment.transport.send(stage.request("/users/random.json", .post))
            let name = try #require(response.json?["username"]?.string)
            let password = try #require(response.json?["password"]?.string)
            let state = try await session(stage, .resourceOwnerPassword(username: name, password: Secret(password)))
            #expect(try await state.send(stage.request("/users/me.json")).json?["username"]?.string == name)
        }
    }
}
