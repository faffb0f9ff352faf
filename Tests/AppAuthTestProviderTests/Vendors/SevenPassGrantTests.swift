import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The grants of the older SDK of 7Pass: the password, another service's token, and the credentials client.
@Suite struct SevenPassGrantTests {
    private typealias Entries = KeyValuePairs<String, String?>

    private static let password: Entries = [
        "grant_type": "password", "login": "alice@example.com", "password": "looking-glass",
        "scope": "openid profile email offline_access", "client_id": "seven-pass-legacy",
        "client_secret": "legacy-secret",
    ]

    private static let social: Entries = [
        "grant_type": "social", "provider_name": "facebook", "access_token": "facebook-access-token-of-alice",
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
            #expect(try await flow.callWithProof("me", response.json?["access_token"]?.string).status == 200)
        }
    }

    @Test(arguments: [
        ("password", "wrong", "invalid_grant"), ("login", "alice", "invalid_grant"),
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
            let userInfo = try await flow.callWithProof("me", response.json?["access_token"]?.string)
            #expect(userInfo.json?["email"]?.string == "alice@example.com")
            let metadata = try await Wire.send("GET", flow.sevenPass.provider.url(.openIDConfiguration)).json
            let grants = metadata?["grant_types_supported"]?.strings ?? []
            #expect(grants.count { $0 == "social" } == 1 && grants.count { $0 == "password" } == 1)
        }
    }

    @Test(
        arguments: [
            ("access_token", "wrong", "invalid_grant"), ("access_token", nil, "invalid_request"),
            ("provider_name", "other", "invalid_request"), ("client_secret", nil, "invalid_client"),
        ] as [(String, String?, String)])
    func `a token that the other service does not know is refused`(name: String, value: String?, error: String)
        async throws
    {
        try await withSevenPass { flow in
            let response = try await flow.token(Self.social, [name: value])
            #expect(response.json?["error"]?.string == error)
        }
    }

    @Test func `an unknown grant is unsupported`() async throws {
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

    @Test func `the credentials client's token is valid for 15 minutes and cannot be refreshed`() async throws {
        try await withSevenPass({ $0.options = ManualClock().options }) { flow in
            let response = try await flow.token(Self.credentials)
            #expect(response.json?["expires_in"]?.int == 900)
            #expect(response.json?["refresh_token"] == nil)
            #expect(response.json?["id_token"] == nil)
            let token = response.json?["access_token"]?.string
            flow.sevenPass.advance(899)
            #expect(try await flow.clientCall("checkMail", token, ["email": "new@example.com"]).status == 200)
            flow.sevenPass.advance(1)
            let dead = try await flow.clientCall("checkMail", token, ["email": "new@example.com"])
            #expect(dead.status == 401)
            #expect(dead.json?["error"]?.string == "invalid_token")
            #expect(try await flow.token(Self.credentials, ["client_secret": "x"]).status == 401)
        }
    }

    @Test(
        arguments: [
            ("checkMail", "new@example.com", nil, nil), ("checkMail", "alice@example.com", nil, "email_taken"),
            ("checkMail", "Alice@Example.com", nil, "email_taken"), ("checkMail", "nobody", nil, "email_invalid"),
            ("checkMail", nil, nil, "email_invalid"), ("checkPassword", nil, "str0ng-enough", nil),
            ("checkPassword", nil, "sh0rt", "password_weak"), ("checkPassword", nil, "letters-only", "password_weak"),
            ("checkPassword", nil, "1234567890", "password_weak"),
            ("registration", "new@example.com", "str0ng-enough", nil),
            ("registration", "alice@example.com", "str0ng-enough", "email_taken"),
            ("registration", "new@example.com", "weak", "password_weak"),
        ] as [(String, String?, String?, String?)])
    func `mail, password and registration are checked, and failures come with status 200`(
        path: String, email: String?, password: String?, error: String?
    ) async throws {
        try await withSevenPass { flow in
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            let response = try await flow.clientCall(path, token, ["email": email, "password": password])
            #expect(response.status == 200 && response.json?["data"] != nil)
            #expect(response.json?["data"]?["error"]?.string == error)
            #expect((response.json?["flags"]?.strings?.count == 1) == (error != nil))
        }
    }

    @Test func `several wrong values are in errors, by field`() async throws {
        try await withSevenPass { flow in
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            let response = try await flow.clientCall("registration", token, ["email": "nobody", "password": "weak"])
            let errors = response.json?["data"]?["errors"]
            #expect(errors?["email"] == "email_invalid" && errors?["password"] == "password_weak")
            #expect(response.status == 200 && response.json?["flags"]?.strings?.count == 2)
        }
    }

    @Test(arguments: ["checkMail", "checkPassword", "registration"])
    func `only a client's own token opens them, with its service id and proof`(path: String) async throws {
        try await withSevenPass { flow in
            let entries: Entries = ["email": "new@example.com", "password": "str0ng-enough"]
            #expect(try await flow.clientCall(path, nil, entries).status == 401)
            #expect(try await flow.clientCall(path, flow.accessToken(), entries).status == 403)
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            #expect(try await flow.clientCall(path, token, entries, service: nil).status == 400)
            let wrong = try await flow.clientCall(path, token, entries, secret: "another")
            #expect(wrong.status == 400 && wrong.json?["error"] == "invalid_appsecret_proof")
            let field = ("Authorization", "Bearer \(token ?? "")")
            let url = flow.sevenPass.clientAPIBase + path
            #expect(try await Wire.send("GET", url, [field]).status == 405)
            #expect(try await Wire.send("POST", flow.sevenPass.apiBase + path, [field]).status == 404)
            #expect(try await flow.clientCall(path, token, entries).status == 200)
        }
    }

    @Test func `a new user can register once, and then signs in`() async throws {
        try await withSevenPass { flow in
            let token = try await flow.token(Self.credentials).json?["access_token"]?.string
            let account: Entries = ["email": "bob@example.com", "password": "hatter-10-6", "given_name": "Bob"]
            let bob: Entries = ["login": "bob@example.com", "password": "hatter-10-6"]
            #expect(try await flow.token(Self.password, bob).status == 400)
            let response = try await flow.clientCall("registration", token, account)
            #expect(response.json?["data"]?["email"]?.string == "bob@example.com")
            let again = try await flow.clientCall("registration", token, account)
            #expect(again.json?["data"]?["error"] == "email_taken")
            let signedIn = try await flow.token(Self.password, bob)
            let me = try await flow.callWithProof("me", signedIn.json?["access_token"]?.string)
            #expect(me.json?["sub"] == response.json?["data"]?["sub"])
            #expect(me.json?["given_name"]?.string == "Bob")
        }
    }
}
