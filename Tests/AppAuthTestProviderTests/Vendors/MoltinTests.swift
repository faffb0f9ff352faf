import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// Moltin's first API as its documentation and its responses had it.
@Suite struct MoltinTests {
    private typealias Changes = KeyValuePairs<String, String?>

    private func withMoltin(_ body: (Moltin) async throws -> Void) async throws {
        try await withMoltin({ _ in }, body)
    }

    private func withMoltin(
        _ change: (inout Moltin.Configuration) -> Void, _ body: (Moltin) async throws -> Void
    ) async throws {
        var configuration = Moltin.Configuration()
        change(&configuration)
        try await withDouble(Moltin.start(configuration), body)
    }

    private func authenticate(_ moltin: Moltin, _ changes: Changes = [:]) async throws -> Wire.Response {
        try await Wire.post(
            moltin.baseURL + "/oauth/access_token",
            form(
                [
                    "grant_type": "client_credentials", "client_id": "moltin-demo",
                    "client_secret": "moltin-demo-secret",
                ], changes))
    }

    private func token(_ response: Wire.Response) throws -> String {
        try #require(response.json?["access_token"]?.string)
    }

    private func products(_ moltin: Moltin, _ token: String?) async throws -> Wire.Response {
        try await Wire.send(
            "GET", moltin.baseURL + "/v1/products", token.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    @Test func `client credentials get a token with identifier and expires`() async throws {
        let clock = ManualClock()
        try await withMoltin({ $0.options = clock.options }) { moltin in
            let response = try await authenticate(moltin)
            #expect(response.status == 200)
            #expect(
                response.json?.object?.names.sorted()
                    == ["access_token", "expires", "expires_in", "identifier", "token_type"])
            #expect(response.json?["token_type"]?.string == "Bearer")
            #expect(response.json?["identifier"]?.string == "client_credentials")
            #expect(response.json?["expires_in"]?.int == 3600)
            #expect(response.json?["expires"]?.int == 1_800_003_600)
            #expect(try await products(moltin, token(response)).status == 200)
        }
    }

    @Test func `implicit takes the client id, alone or with the correct secret`() async throws {
        try await withMoltin { moltin in
            for secret in [nil, "moltin-demo-secret"] {
                let response = try await authenticate(moltin, ["grant_type": "implicit", "client_secret": secret])
                #expect(response.json?["identifier"]?.string == "implicit")
                #expect(try await products(moltin, token(response)).status == 200)
            }
            let wrong = try await authenticate(moltin, ["grant_type": "implicit", "client_secret": "wrong"])
            #expect(wrong.status == 400)
            let other = ["client_id": "other", "grant_type": "implicit", "client_secret": nil] as Changes
            #expect(try await authenticate(moltin, other).status == 400)
        }
    }

    @Test(arguments: ["Bearer ", "Bearer", "Bearer \t ", "Bearer none", "Basic x", ""])
    func `a missing or wrong token gets 400 with the sentence, whatever its form`(field: String) async throws {
        try await withMoltin { moltin in
            let response = try await Wire.send("GET", moltin.baseURL + "/v1/products", [("Authorization", field)])
            #expect(response.status == 400)
            #expect(response.json == ["status": false, "error": "Access token is not valid"])
        }
    }

    @Test(
        arguments: [["client_id": "other"], ["client_secret": "wrong"], ["client_secret": nil]] as [[String: String?]])
    func `a wrong client is refused in a sentence`(wrong: [String: String?]) async throws {
        try await withMoltin { moltin in
            let change = try #require(wrong.first)
            let response = try await authenticate(moltin, [change.key: change.value])
            #expect(response.status == 400)
            #expect(response.json == ["status": false, "error": "No shop has this ID and this secret"])
            #expect(response.header("WWW-Authenticate") == nil)
        }
    }

    @Test func `the client is in the body and not in a header`() async throws {
        try await withMoltin { moltin in
            // moltin-demo:moltin-demo-secret
            let basic = ("Authorization", "Basic bW9sdGluLWRlbW86bW9sdGluLWRlbW8tc2VjcmV0")
            let url = moltin.baseURL + "/oauth/access_token"
            let inHeader = try await Wire.post(url, [("grant_type", "client_credentials")], [basic])
            #expect(inHeader.status == 400)
            let client = [("client_id", "moltin-demo"), ("client_secret", "moltin-demo-secret")]
            let both = [("grant_type", "client_credentials")] + client
            let inBoth = try await Wire.post(url, both.map { (name: $0.0, value: $0.1) }, [basic])
            #expect(inBoth.json == ["status": false, "error": "No shop has this ID and this secret"])
            #expect(try await authenticate(moltin).status == 200)
        }
    }

    @Test func `the request is a POST with a form and nothing in the URI`() async throws {
        try await withMoltin { moltin in
            let url = moltin.baseURL + "/oauth/access_token"
            let body = "grant_type=implicit&client_id=moltin-demo"
            let type = ("Content-Type", "application/x-www-form-urlencoded")
            let right = try await Wire.send("POST", url, [type], body: body)
            #expect(right.status == 200)
            #expect(try await Wire.send("GET", url + "?" + body).status == 405)
            #expect(try await Wire.send("POST", url + "?x=y", [type], body: body).status == 400)
            #expect(try await Wire.send("POST", url, [("Content-Type", "text/plain")], body: body).status == 400)
            #expect(try await Wire.send("POST", url, [type], body: body + "&client_id=moltin-demo").status == 400)
            #expect(try await Wire.send("POST", url, [type], body: "client_id=moltin-demo").status == 400)
            #expect(try await authenticate(moltin, ["grant_type": "password"]).status == 400)
        }
    }

    @Test func `a code is valid once, with its redirect URI`() async throws {
        try await withMoltin { moltin in
            let changes: Changes = [
                "grant_type": "authorization_code", "code": try moltin.makeCode(),
                "redirect_uri": "http://127.0.0.1/callback",
            ]
            let code = try #require(changes[1].value)
            let elsewhere: Changes = [
                "grant_type": "authorization_code", "code": code, "redirect_uri": "http://127.0.0.1/other",
            ]
            #expect(try await authenticate(moltin, elsewhere).status == 400)
            let response = try await authenticate(moltin, changes)
            #expect(response.json?["identifier"]?.string == "authorization_code")
            #expect(response.json?["refresh_token"]?.string != nil)
            #expect(try await authenticate(moltin, changes).status == 400)
        }
    }

    @Test func `a refresh token gives a new pair, once`() async throws {
        try await withMoltin({ $0.refreshesClientCredentials = true }) { moltin in
            let refreshToken = try #require(try await authenticate(moltin).json?["refresh_token"]?.string)
            let refresh: Changes = ["grant_type": "refresh_token", "refresh_token": refreshToken]
            let wrong: Changes = ["grant_type": "refresh_token", "refresh_token": refreshToken, "client_secret": "x"]
            #expect(try await authenticate(moltin, wrong).status == 400)
            let response = try await authenticate(moltin, refresh)
            #expect(response.json?["identifier"]?.string == "refresh_token")
            #expect(response.json?["refresh_token"]?.string != refreshToken)
            #expect(try await products(moltin, token(response)).status == 200)
            #expect(
                try await authenticate(moltin, refresh).json?["error"]?.string
                    == "This cannot be exchanged for a new token")
        }
    }

    @Test func `without a token or with a dead one the response is 400 and a sentence`() async throws {
        try await withMoltin({ $0.options = ManualClock().options }) { moltin in
            let token = try token(try await authenticate(moltin))
            moltin.advance(3599)
            let alive = try await products(moltin, token)
            #expect(alive.status == 200)
            #expect(alive.json?["result"]?.array?.count == 3)
            moltin.advance(1)
            for dead in [nil, token, "never-was"] {
                let response = try await products(moltin, dead)
                #expect(response.status == 400)
                #expect(response.text == #"{"status":false,"error":"Access token is not valid"}"#)
                #expect(response.header("WWW-Authenticate") == nil)
            }
        }
    }

    @Test func `a token can be killed, and is valid only as a bearer token`() async throws {
        try await withMoltin { moltin in
            let token = try token(try await authenticate(moltin))
            let url = moltin.baseURL + "/v1/products"
            #expect(try await Wire.send("GET", url, [("Authorization", token)]).status == 400)
            #expect(try await Wire.send("GET", url + "?access_token=" + token).status == 400)
            #expect(try await products(moltin, token).status == 200)
            moltin.killAccessTokens()
            #expect(try await products(moltin, token).status == 400)
        }
    }

    @Test(
        arguments: [
            (.errors, ["status": false, "errors": "Access token is not valid"]),
            (.errorList, ["status": false, "errors": ["Access token is not valid"]]), (.none, ["status": false]),
        ] as [(Moltin.ErrorForm, JSON)])
    func `some responses say errors, or nothing`(form: Moltin.ErrorForm, document: JSON) async throws {
        try await withMoltin({ $0.errorForm = form }) { moltin in
            let response = try await products(moltin, nil)
            #expect(response.status == 400)
            #expect(response.json == document)
        }
    }

    @Test func `requests are recorded, and faults come when asked for`() async throws {
        try await withMoltin { moltin in
            moltin.fault(.htmlPage, at: .token)
            moltin.fault(.status(.internalServerError), at: .products)
            moltin.fault(.lostResponse, at: .products)
            moltin.fault(.editDocument { $0["result"] = nil }, at: .products)
            #expect(try await authenticate(moltin).text.hasPrefix("<!doctype html>"))
            let token = try token(try await authenticate(moltin))
            #expect(try await products(moltin, token).status == 500)
            #expect(try await products(moltin, token).bytes.isEmpty)
            #expect(try await products(moltin, token).json?.object?.names == ["status", "pagination"])
            #expect(moltin.count(.token) == 2)
            #expect(moltin.log(.token).last?.form["client_secret"] == "moltin-demo-secret")
            #expect(moltin.log(.products).count == 3)
            let url = moltin.baseURL + "/v1/other"
            #expect(try await Wire.send("GET", url).status == 404)
            #expect(try await Wire.send("GET", url.replacing("127.0.0.1", with: "localhost")).status == 404)
        }
    }

    @Test func `the demo's credentials work`() async throws {
        try await withMoltin { moltin in
            let demo = moltin.demo
            #expect(demo["base_url"]?.string == moltin.baseURL)
            let response = try await authenticate(
                moltin, ["client_id": demo["client_id"]?.string, "client_secret": demo["client_secret"]?.string])
            #expect(response.status == 200)
        }
    }
}
