import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// `local-provider --double …`, as a parent sees it.
@Suite struct DoubleCommandTests {
    @Test(arguments: [
        ("seven-pass", "/.well-known/openid-configuration", 200), ("ffs", "/api/echo", 401),
        ("moltin", "/v1/products", 400),
        ("opro", "/users/me.json", 401), ("sbanken", "/exec.bank/api/v1/Accounts", 401),
    ])
    func `it prints what a client needs on one line of JSON, serves, and ends cleanly`(
        name: String, path: String, status: Int
    ) async throws {
        let child = try CommandTests.Child(["--double", name, "--verbose"])
        let line = child.firstLine()
        let demo = try JSON(parsing: Array(line.utf8))
        let baseURL = try #require(demo["base_url"]?.string)
        #expect(baseURL.hasPrefix("http://127.0.0.1:"))
        #expect(demo["client_id"]?.string != nil || demo["clients"]?.array?.count == 3)
        #expect(try await Wire.send("GET", baseURL + path).status == status)
        kill(child.process.processIdentifier, SIGTERM)
        #expect(child.end() == 0)
        #expect(child.rest(child.output).isEmpty)
        #expect(child.rest(child.errors) == "GET \(path) → \(status)\n")
    }

    @Test(arguments: ["seven-pass", "ffs", "moltin", "opro", "sbanken"])
    func `tokens can be made short-lived`(name: String) async throws {
        let child = try CommandTests.Child(["--double", name, "--access-token-lifetime", "7", "--exit-with-stdin"])
        let demo = try JSON(parsing: Array(child.firstLine().utf8))
        let baseURL = try #require(demo["base_url"]?.string)
        let (id, secret) = (demo["client_id"]?.string, demo["client_secret"]?.string)
        let response: Wire.Response
        switch name {
        case "seven-pass":
            response = try await Wire.post(
                baseURL + "/token",
                form([
                    "grant_type": "password", "login": demo["username"]?.string,
                    "password": demo["password"]?.string, "client_id": "seven-pass-legacy",
                    "client_secret": "legacy-secret",
                ]))
        case "ffs":
            let pair = Data("ffs-demo:ffs-demo+secret%3A+%2F%2B%3D+and+thirty-two".utf8).base64EncodedString()
            response = try await Wire.post(
                baseURL + "/token",
                form([
                    "grant_type": "password", "username": demo["username"]?.string,
                    "password": demo["password"]?.string,
                ]), [("Authorization", "Basic " + pair)])
        case "moltin":
            response = try await Wire.post(
                baseURL + "/oauth/access_token",
                form([
                    "grant_type": "authorization_code", "code": demo["code"]?.string,
                    "redirect_uri": demo["redirect_uri"]?.string, "client_id": id, "client_secret": secret,
                ]))
        case "opro":
            response = try await Wire.post(
                baseURL + "/oauth/token.json",
                form(["code": demo["code"]?.string, "client_id": id, "client_secret": secret]))
        default:
            let encoded = "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()"
            response = try await Wire.send(
                "POST", baseURL + "/identityserver/connect/token",
                [
                    ("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"),
                    ("Authorization", "Basic " + Data(encoded.utf8).base64EncodedString()),
                ], body: "grant_type=client_credentials")
        }
        #expect(response.json?["expires_in"]?.int == 7)
        try child.input.fileHandleForWriting.close()
        #expect(child.end() == 0)
    }

    @Test(arguments: [
        ["--double", "unknown"], ["--double", "moltin", "--user", "bob:x"], ["--double", "sbanken", "--user", "bob:x"],
        ["--double", "sbanken", "--no-rotation"], ["--double", "seven-pass", "--issuer-path", "/t"],
        ["--double", "seven-pass", "--redirect-uri", "nonsense"], ["--double", "seven-pass", "--picture", "x"],
        ["--double", "ffs", "--client", "x"], ["--double", "moltin", "--client", "x:y"],
        ["--double", "sbanken", "--client", "x:y"], ["--double", "ffs", "--redirect-uri", "a:/b"],
        ["--double", "moltin", "--redirect-uri", "a:/b"], ["--double", "opro", "--redirect-uri", "a:/b"],
        ["--double", "sbanken", "--redirect-uri", "a:/b"],
        // oPRO has only confidential clients.
        ["--double", "opro", "--client", "x"],
        ["--double", "opro", "--client", "a:x", "--client", "a:y"], ["--double", "ffs", "--keep-users"],
        ["--double", "seven-pass", "--client", "a", "--client", "a:y"],
    ])
    func `an option that has no effect with a double is wrong usage`(arguments: [String]) throws {
        let child = try CommandTests.Child(arguments)
        #expect(child.end() == 2)
        #expect(child.rest(child.output).isEmpty)
        #expect(!child.rest(child.errors).isEmpty)
    }

    private func withChild(
        _ arguments: [String], _ body: (_ demo: JSON, _ baseURL: String) async throws -> Void
    ) async throws {
        let child = try CommandTests.Child(arguments + ["--exit-with-stdin"])
        let demo = try JSON(parsing: Array(child.firstLine().utf8))
        try await body(demo, try #require(demo["base_url"]?.string))
        try child.input.fileHandleForWriting.close()
        #expect(child.end() == 0)
    }

    private func expect(
        _ status: Int, _ baseURL: String, _ client: String, _ redirect: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let query = form([
            "client_id": client, "redirect_uri": redirect, "response_type": "code", "scope": "openid", "state": "s",
            "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
        ]).map { "\($0.name)=\($0.value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
        let response = try await Wire.send("GET", baseURL + "/authorize?" + query.joined(separator: "&"))
        #expect(response.status == status, sourceLocation: sourceLocation)
    }

    @Test func `seven-pass registers the developer's own client, with its redirect URIs`() async throws {
        let own = [
            "--client", "56a0982fcd8fb606d000b233", "--redirect-uri", "oauthtest://oauth-callback", "--redirect-uri",
            "com.example.own:/cb",
        ]
        try await withChild(["--double", "seven-pass"] + own) { demo, baseURL in
            #expect(demo["client_id"] == "56a0982fcd8fb606d000b233" && demo["clients"]?.array?.count == 4)
            for uri in ["oauthtest://oauth-callback", "com.example.own:/cb"] {
                try await expect(303, baseURL, "56a0982fcd8fb606d000b233", uri)
            }
            try await expect(400, baseURL, "56a0982fcd8fb606d000b233", "de.7pass.example:/cb/authz")
            try await expect(400, baseURL, "seven-pass-app", "com.example.own:/cb")
        }
    }

    @Test func `a redirect URI without a client is one of seven-pass's own clients`() async throws {
        try await withChild(["--double", "seven-pass", "--redirect-uri", "com.example.own:/cb"]) { demo, baseURL in
            #expect(demo["client_id"] == "seven-pass-app")
            for uri in ["com.example.own:/cb", "oauthtest://oauth-callback"] {
                try await expect(303, baseURL, "seven-pass-app", uri)
            }
        }
    }

    @Test func `seven-pass gives the older grants to a client with a secret and to a user of --user`() async throws {
        let own = ["--client", "own:s:3", "--user", "bob@example.com:builder"]
        try await withChild(["--double", "seven-pass"] + own) { demo, baseURL in
            #expect(demo["username"] == "bob@example.com" && demo["password"] == "builder")
            for (password, status) in [("builder", 200), ("looking-glass", 400)] {
                let response = try await Wire.post(
                    baseURL + "/token",
                    form([
                        "grant_type": "password", "login": "bob@example.com", "password": password,
                        "client_id": "own", "client_secret": "s:3", "scope": "openid",
                    ]))
                #expect(response.status == status, "\(response)")
            }
        }
    }

    @Test(arguments: [("bob", "builder", 200), ("bob", "looking-glass", 400), ("山田", "builder", 200)])
    func `ffs accepts a user of --user`(name: String, password: String, status: Int) async throws {
        try await withChild(["--double", "ffs", "--user", name + ":builder"]) { demo, baseURL in
            #expect(demo["username"]?.string == name && demo["password"] == "builder")
            let pair = Data("ffs-demo:ffs-demo+secret%3A+%2F%2B%3D+and+thirty-two".utf8).base64EncodedString()
            let response = try await Wire.post(
                baseURL + "/token",
                form(["grant_type": "password", "username": name, "password": password]),
                [("Authorization", "Basic " + pair)])
            #expect(response.status == status)
        }
    }

    @Test(arguments: [([], 204), (["--keep-users"], 401)])
    func `opro --keep-users deletes no user by a token`(options: [String], status: Int) async throws {
        try await withChild(["--double", "opro"] + options) { demo, baseURL in
            let (id, secret) = (demo["client_id"]?.string, demo["client_secret"]?.string)
            let response = try await Wire.post(
                baseURL + "/oauth/token.json",
                form(["code": demo["code"]?.string, "client_id": id, "client_secret": secret]))
            let token = try #require(response.json?["access_token"]?.string)
            let field = [("Authorization", "Token token=\"\(token)\"")]
            #expect(try await Wire.send("DELETE", baseURL + "/users/me.json", field).status == status)
            let shown = try await Wire.send("GET", baseURL + "/users/me.json", field)
            #expect((shown.status == 200) == (status == 401))
        }
    }

    @Test func `opro accepts a user of --user and a client of --client`() async throws {
        let own = ["--client", "own:s:3", "--user", "bob:builder", "--user", "eve@example.org:x"]
        try await withChild(["--double", "opro"] + own) { demo, baseURL in
            #expect(demo["client_id"] == "own" && demo["client_secret"] == "s:3")
            #expect(demo["username"] == "bob" && demo["email"] == "bob@example.com" && demo["password"] == "builder")
            for (name, value, password, secret, status) in [
                ("username", "bob", "builder", "s:3", 200), ("email", "eve@example.org", "x", "s:3", 200),
                ("username", "bob", "builder", "wrong", 401), ("username", "bob", "wrong", "s:3", 401),
                ("username", "ruby", "red-slippers", "s:3", 401),
            ] {
                let fields = [(name, value), ("password", password), ("client_id", "own"), ("client_secret", secret)]
                let response = try await Wire.post(
                    baseURL + "/oauth/token.json", fields.map { (name: $0.0, value: $0.1) })
                #expect(response.status == status, "\(value) \(response)")
            }
        }
    }
}
