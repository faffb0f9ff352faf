import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// What the older SDK of 7Pass had: the password, another service's token, and the credentials client.
@Suite struct SevenPassGrantTests {
    private typealias Entries = KeyValuePairs<String, String?>

    private static let password: Entries = [
        "grant_type": "password", "username": "alice@example.com", "password": "looking-glass",
        "scope": "openid profile email offline_access", "client_id": "seven-pass-legacy",
        "client_secret": "legacy-secret",
    ]

    private static let social: Entries = [
        "grant_type": "social", "provider": "facebook", "provider_token": "facebook-access-token-of-alice",
        "scope": "openid email offline_access", "client_id": "seven-pass-legacy", "client_secret": "legacy-secret",
    ]

    private static let credentials: Entries = [
        "grant_type": "client_credentials", "client_id": "seven-pass-credentials",
        "client_secret": "credentials-secret",
    ]

    @Test func `a login and a password get tokens`() async throws {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.password)
            #expect(response.status == 200)
            #expect(response.json?["refresh_token"]?.string != nil)
            let claims = try await verifiedClaims(response.json?["id_token"]?.string, flow.sevenPass.provider)
            #expect(claims["sub"]?.string == "7p-248289761001")
            #expect(try await flow.call("me", response.json?["access_token"]?.string).status == 200)
        }
    }

    @Test(arguments: [
        ("password", "wrong", "invalid_grant"), ("username", "alice", "invalid_grant"),
        ("client_secret", "x", "invalid_client"), ("client_id", "seven-pass-app", "invalid_client"),
    ])
    func `a password that is not hers is refused`(name: String, value: String, error: String) async throws {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.password, [name: value])
            #expect(response.json?["error"]?.string == error)
        }
    }

    @Test func `a newer registration may not use the old grants`() async throws {
        try await withSevenPass { flow in
            for entries in [Self.password, Self.social] {
                let response = try await flow.token(entries, ["client_id": "seven-pass-app", "client_secret": nil])
                #expect(response.json?["error"]?.string == "unauthorized_client")
            }
        }
    }

    @Test func `another service's access token gets tokens`() async throws {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.social)
            #expect(response.status == 200)
            let userInfo = try await flow.call("me", response.json?["access_token"]?.string)
            #expect(userInfo.json?["email"]?.string == "alice@example.com")
            let metadata = try await Wire.send("GET", flow.sevenPass.provider.url(.openIDConfiguration)).json
            #expect(metadata?["grant_types_supported"]?.strings?.contains("social") == true)
        }
    }

    @Test(
        arguments: [
            ("provider_token", "wrong", "invalid_grant"), ("provider_token", nil, "invalid_request"),
            ("provider", "other", "invalid_request"), ("client_secret", nil, "invalid_client"),
        ] as [(String, String?, String)])
    func `a token that the other service does not know is refused`(name: String, value: String?, error: String)
        async throws
    {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.social, [name: value])
            #expect(response.json?["error"]?.string == error)
        }
    }

    @Test func `a grant that nobody knows is unsupported`() async throws {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.social, ["grant_type": "urn:example:other"])
            #expect(response.json?["error"]?.string == "unsupported_grant_type")
        }
    }

    @Test func `the provider without the addition knows no social grant`() async throws {
        try await withLocalProvider { provider in
            let response = try await Wire.post(
                provider.url(.token),
                form(Self.social, ["client_id": "demo-service", "client_secret": "service-secret-of-thirty-two-bytes"]))
            #expect(response.json?["error"]?.string == "unsupported_grant_type")
        }
    }

    @Test func `the credentials client's token is good for 15 minutes and cannot be refreshed`() async throws {
        try await withSevenPass({ $0.options = ManualClock().options }) { flow in
            let response = try await flow.token(Self.credentials)
            #expect(response.json?["expires_in"]?.int == 900)
            #expect(response.json?["refresh_token"] == nil)
            #expect(response.json?["id_token"] == nil)
            let token = response.json?["access_token"]?.string
            let mail = #"{"email":"new@example.com"}"#
            flow.sevenPass.advance(899)
            #expect(try await flow.call("POST", "checkMail", token, json: mail).status == 200)
            flow.sevenPass.advance(1)
            let dead = try await flow.call("POST", "checkMail", token, json: mail)
            #expect(dead.status == 401)
            #expect(dead.json?["error"]?.string == "invalid_token")
            #expect(try await flow.token(Self.credentials, ["client_secret": "x"]).status == 401)
        }
    }

    @Test(
        arguments: [
            ("checkMail", #"{"email":"new@example.com"}"#, 200, nil),
            ("checkMail", #"{"email":"alice@example.com"}"#, 409, "email_taken"),
            ("checkMail", #"{"email":"Alice@Example.com"}"#, 409, "email_taken"),
            ("checkMail", #"{"email":"nobody"}"#, 422, "email_invalid"),
            ("checkMail", "{}", 422, "email_invalid"),
            ("checkPassword", #"{"password":"str0ng-enough"}"#, 200, nil),
            ("checkPassword", #"{"password":"sh0rt"}"#, 422, "password_weak"),
            ("checkPassword", #"{"password":"letters-only"}"#, 422, "password_weak"),
            ("checkPassword", #"{"password":"1234567890"}"#, 422, "password_weak"),
            ("registration", #"{"email":"new@example.com","password":"str0ng-enough"}"#, 201, nil),
            ("registration", #"{"email":"alice@example.com","password":"str0ng-enough"}"#, 409, "email_taken"),
            ("registration", #"{"email":"new@example.com","password":"weak"}"#, 422, "password_weak"),
        ] as [(String, String, Int, String?)])
    func `mail, password and registration are checked`(path: String, json: String, status: Int, error: String?)
        async throws
    {
        try await withSevenPass { flow in
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            let response = try await flow.call("POST", path, token, json: json)
            #expect(response.status == status)
            #expect(response.json?["error"]?.string == error)
            if error != nil { #expect(response.json?["fields"]?.strings?.count == 1) }
        }
    }

    @Test(arguments: ["checkMail", "checkPassword", "registration"])
    func `only a client's own token opens them`(path: String) async throws {
        try await withSevenPass { flow in
            let json = #"{"email":"new@example.com","password":"str0ng-enough"}"#
            #expect(try await flow.call("POST", path, nil, json: json).status == 401)
            #expect(try await flow.call("POST", path, flow.accessToken(), json: json).status == 403)
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            #expect(try await flow.call(path, token).status == 405)
            #expect(try await flow.call("POST", path, token, json: json).status.map { $0 < 300 } == true)
        }
    }

    @Test func `who registers can sign in, once`() async throws {
        try await withSevenPass { flow in
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            let json = #"{"email":"bob@example.com","password":"hatter-10-6","given_name":"Bob"}"#
            let bob: Entries = ["username": "bob@example.com", "password": "hatter-10-6"]
            #expect(try await flow.token(Self.password, bob).status == 400)
            let response = try await flow.call("POST", "registration", token, json: json)
            #expect(response.json?["email"]?.string == "bob@example.com")
            #expect(try await flow.call("POST", "registration", token, json: json).status == 409)
            let signedIn = try await flow.token(Self.password, bob)
            let me = try await flow.call("me", signedIn.json?["access_token"]?.string)
            #expect(me.json?["sub"] == response.json?["sub"])
            #expect(me.json?["given_name"]?.string == "Bob")
        }
    }
}
