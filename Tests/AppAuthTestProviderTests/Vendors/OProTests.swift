import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// oPRO's dialect of OAuth.
@Suite struct OProTests {
    private typealias Changes = KeyValuePairs<String, String?>

    private func withOPro(_ body: (OPro) async throws -> Void) async throws {
        try await withOPro({ _ in }, body)
    }

    private func withOPro(
        _ change: (inout OPro.Configuration) -> Void, _ body: (OPro) async throws -> Void
    ) async throws {
        var configuration = OPro.Configuration()
        change(&configuration)
        try await withDouble(OPro.start(configuration), body)
    }

    private func exchange(_ opro: OPro, _ changes: Changes = [:]) async throws -> Wire.Response {
        try await Wire.post(
            opro.baseURL + "/oauth/token.json",
            form(
                [
                    "username": "ruby", "password": "red-slippers", "client_id": "opro-demo",
                    "client_secret": "opro-demo-secret",
                ], changes))
    }

    private func token(_ response: Wire.Response) throws -> String {
        try #require(response.json?["access_token"]?.string)
    }

    private func call(
        _ opro: OPro, _ token: String?, _ method: String = "GET", _ path: String = "/users/me.json",
        body: String? = nil, type: String = "application/json"
    ) async throws -> Wire.Response {
        var fields = token.map { [("Authorization", #"Token token="\#($0)""#)] } ?? []
        if body != nil { fields.append(("Content-Type", type)) }
        return try await Wire.send(method, opro.baseURL + path, fields, body: body)
    }

    @Test(arguments: [
        ("username", "ruby"), ("username", "ruby@example.com"), ("email", "ruby@example.com"),
    ])
    func `a name or an email address and a password get tokens that never end`(name: String, value: String)
        async throws
    {
        try await withOPro { opro in
            let response = try await exchange(opro, ["username": nil, name: value])
            #expect(response.status == 200)
            #expect(
                response.json?.object?.names == ["access_token", "token_type", "refresh_token", "expires_in"])
            #expect(response.json?["token_type"]?.string == "bearer")
            #expect(response.json?["expires_in"] == false)
            opro.advance(10 * 365 * 86_400)
            #expect(try await call(opro, token(response)).status == 200)
        }
    }

    @Test func `a response has null, ten thousand years or no type if asked for`() async throws {
        try await withOPro({ ($0.endlessLifetime, $0.hasTokenType) = (.null, false) }) { opro in
            let response = try await exchange(opro)
            #expect(response.json?.object?.names == ["access_token", "refresh_token", "expires_in"])
            #expect(response.json?.isNull("expires_in") == true)
        }
        try await withOPro({ $0.tokenLifetime = 315_569_520_000 }) { opro in
            let response = try await exchange(opro)
            #expect(response.json?["expires_in"]?.double == 315_569_520_000)
            #expect(try await call(opro, token(response)).status == 200)
        }
    }

    @Test func `each token request of a user ends the tokens and the code before it`() async throws {
        try await withOPro { opro in
            let code = try opro.makeCode()
            let (first, second) = (try await exchange(opro), try await exchange(opro))
            #expect(try await call(opro, token(first)).status == 401)
            #expect(try await call(opro, token(second)).status == 200)
            let refreshToken = try #require(first.json?["refresh_token"]?.string)
            for (name, value) in ["refresh_token": refreshToken, "code": code] {
                let changes: Changes = ["username": nil, "password": nil, name: value]
                #expect(try await exchange(opro, changes).status == 401)
            }
            // Another user has a grant of its own.
            let random = try await call(opro, nil, "POST", "/users/random.json").json
            let other = try await exchange(
                opro, ["username": random?["username"]?.string, "password": random?["password"]?.string])
            for response in [second, other] { #expect(try await call(opro, token(response)).status == 200) }
        }
    }

    @Test func `the user's consent redirects to the app with a code, and only to a known one`() async throws {
        try await withOPro { opro in
            let url = opro.baseURL + "/oauth/new?client_id=opro-demo&state=x&redirect_uri=http://127.0.0.1:1/cb"
            let response = try await Wire.send("GET", url)
            let location = try #require(response.header("Location"))
            #expect(response.status == 303 && location.hasPrefix("http://127.0.0.1:1/cb?code="))
            #expect(location.hasSuffix("&response_type=code") && !location.contains("state"))
            let code = location.dropFirst("http://127.0.0.1:1/cb?code=".count).prefix { $0 != "&" }
            #expect(try await exchange(opro, ["username": nil, "password": nil, "code": String(code)]).status == 200)
            for wrong in ["client_id=other", "client_id=opro-demo&redirect_uri=https://elsewhere.example/"] {
                #expect(try await Wire.send("GET", opro.baseURL + "/oauth/new?" + wrong).status == 404)
            }
        }
    }

    @Test func `tokens can have an end`() async throws {
        try await withOPro({ ($0.tokenLifetime, $0.options) = (600, ManualClock().options) }) { opro in
            let response = try await exchange(opro)
            #expect(response.json?["expires_in"]?.int == 600)
            opro.advance(599)
            #expect(try await call(opro, token(response)).status == 200)
            opro.advance(1)
            let dead = try await call(opro, token(response))
            #expect(dead.status == 401)
            #expect(dead.json?["errors"]?.string == "The OAuth token has expired")
        }
    }

    @Test(
        arguments: [
            ["username": "nobody"], ["username": nil], ["password": "wrong"], ["password": nil], ["client_id": "other"],
            ["client_secret": "wrong"], ["client_secret": nil], ["grant_type": "password"],
            ["email": "ruby@example.com"],
            ["code": "never-was"],
        ] as [[String: String?]])
    func `a failure is 401 and a sentence`(wrong: [String: String?]) async throws {
        try await withOPro { opro in
            let change = try #require(wrong.first)
            let response = try await exchange(opro, [change.key: change.value])
            #expect(response.status == 401)
            #expect(response.json?.object?.names == ["error"])
            // No code of RFC 6749 §5.2: those have no spaces.
            #expect(response.json?["error"]?.string?.contains(" ") == true)
            #expect(response.header("WWW-Authenticate") == nil)
        }
    }

    @Test func `the message about a wrong client contains its values`() async throws {
        try await withOPro { opro in
            let response = try await exchange(opro, ["client_secret": "almost"])
            #expect(response.json?["error"]?.string?.contains("client_secret=almost") == true)
        }
    }

    @Test func `a code is valid once`() async throws {
        try await withOPro { opro in
            let code = try opro.makeCode()
            let changes: Changes = ["username": nil, "password": nil, "code": code]
            let typed: Changes = ["username": nil, "password": nil, "code": code, "grant_type": "authorization_code"]
            #expect(try await exchange(opro, typed).status == 401)
            #expect(try await call(opro, token(exchange(opro, changes))).status == 200)
            #expect(try await exchange(opro, changes).status == 401)
        }
    }

    @Test func `a refresh token is enough to refresh, and ends the tokens that it came with`() async throws {
        try await withOPro { opro in
            let first = try await exchange(opro)
            let refreshToken = try #require(first.json?["refresh_token"]?.string)
            let changes: Changes = ["username": nil, "password": nil, "refresh_token": refreshToken]
            let typed: Changes = [
                "username": nil, "password": nil, "refresh_token": refreshToken, "grant_type": "refresh_token",
            ]
            #expect(try await exchange(opro, typed).status == 401)
            let second = try await exchange(opro, changes)
            #expect(second.json?["refresh_token"]?.string != refreshToken)
            #expect(try await call(opro, token(second)).status == 200)
            #expect(try await call(opro, token(first)).status == 401)
            #expect(try await exchange(opro, changes).status == 401)
        }
    }

    @Test func `a call without a valid Token field is 401 and says why`() async throws {
        try await withOPro { opro in
            let token = try token(try await exchange(opro))
            let url = opro.baseURL + "/users/me.json"
            #expect(try await Wire.send("GET", url, [("Authorization", #"Token token="\#(token)""#)]).status == 200)
            for wrong in ["Bearer \(token)", "Token \(token)", #"Token token="""#, #"Token token="\#(token)x""#] {
                let response = try await Wire.send("GET", url, [("Authorization", wrong)])
                #expect(response.status == 401)
                #expect(response.json?["errors"]?.string != nil)
            }
            #expect(try await call(opro, nil).json?["errors"]?.string == "No OAuth token was provided")
            opro.killAccessTokens()
            #expect(try await call(opro, token).status == 401)
        }
    }

    @Test func `the user can be read and changed`() async throws {
        try await withOPro { opro in
            let token = try token(try await exchange(opro))
            let before = try await call(opro, token)
            #expect(before.json?["email"]?.string == "ruby@example.com")
            #expect(before.json?["password"] == nil)
            let body = #"{"user":{"email":"new@example.com","twitter":"gem","zip":null}}"#
            let changed = try await call(opro, token, "PUT", body: body)
            #expect(changed.status == 200)
            #expect(try await call(opro, token, "POST", body: body).status == 404)
            let after = try await call(opro, token)
            #expect(after.json == changed.json)
            #expect(after.json?["twitter"]?.string == "gem")
            #expect(after.json?.isNull("zip") == true)
            #expect(try await exchange(opro, ["username": nil, "email": "new@example.com"]).status == 200)
        }
    }

    @Test func `the user is at users-me too, as the client of the demo asks for it`() async throws {
        try await withOPro { opro in
            let token = try await token(exchange(opro))
            #expect(try await call(opro, token, "GET", "/users/me").json?["username"] == "ruby")
            #expect(try await call(opro, nil, "GET", "/users/me").status == 401)
        }
    }

    @Test func `a change that is none is refused and changes nothing`() async throws {
        try await withOPro { opro in
            let token = try token(try await exchange(opro))
            let before = try await call(opro, token).json
            for (body, type, status) in [
                (#"{"email":"a@b.example"}"#, "application/json", 400), ("not JSON", "application/json", 400),
                (#"{"user":{"zip":"1"}}"#, "text/plain", 400), (#"{"user":{"email":"x"}}"#, "application/json", 422),
                (#"{"user":{"zip":"1","id":"2"}}"#, "application/json", 422),
                (#"{"user":{"zip":1}}"#, "application/json", 422),
            ] {
                #expect(try await call(opro, token, "PUT", body: body, type: type).status == status)
            }
            let type = "application/x-www-form-urlencoded"
            for (form, status) in [("zip=1", 400), ("user[zip]=1&user[zip]=2", 400), ("user[id]=2", 422)] {
                #expect(try await call(opro, token, "PUT", body: form, type: type).status == status)
            }
            #expect(try await call(opro, token, "PATCH", body: "{}").status == 404)
            #expect(try await call(opro, token).json == before)
        }
    }

    @Test func `a user that is deleted is gone, with its tokens`() async throws {
        try await withOPro { opro in
            let response = try await exchange(opro)
            let deleted = try await call(opro, token(response), "DELETE")
            #expect(deleted.status == 204)
            #expect(deleted.body.isEmpty)
            #expect(deleted.header("Content-Length") == nil)
            #expect(try await call(opro, token(response)).status == 401)
            #expect(try await exchange(opro).status == 401)
            let refreshToken = response.json?["refresh_token"]?.string
            let refresh: Changes = ["username": nil, "password": nil, "refresh_token": refreshToken]
            #expect(try await exchange(opro, refresh).status == 401)
        }
    }

    @Test func `a random user can sign in`() async throws {
        try await withOPro { opro in
            let one = try await call(opro, nil, "POST", "/users/random.json")
            let two = try await call(opro, nil, "POST", "/users/random.json")
            let name = try #require(one.json?["username"]?.string)
            #expect(name != two.json?["username"]?.string)
            let response = try await exchange(opro, ["username": name, "password": one.json?["password"]?.string])
            #expect(try await call(opro, token(response)).json?["email"]?.string == name)
            #expect(try await exchange(opro, ["username": name]).status == 401)
            let taken = #"{"user":{"email":"ruby@example.com"}}"#
            #expect(try await call(opro, token(response), "PUT", body: taken).status == 422)
        }
    }

    @Test func `show me the money reports what is wrong with a token`() async throws {
        try await withOPro { opro in
            let path = "/oauth_tests/show_me_the_money.json"
            let token = try token(try await exchange(opro))
            let good = try await call(opro, token, "GET", path)
            #expect(good.status == 200)
            #expect(good.json == ["status": 200, "message": "OAuth worked!", "user_id": 1])
            let none = try await call(opro, nil, "GET", path)
            #expect(none.status == 401)
            #expect(none.json?["message"]?.string == "OAuth did not work :(  No OAuth token was provided")
            let bearer = try await Wire.send("GET", opro.baseURL + path, [("Authorization", "Bearer \(token)")])
            #expect(bearer.json?["message"]?.string?.contains("is not: Token token=") == true)
            let unknown = try await call(opro, "8bnsyha7ajbmahdujna", "GET", path)
            #expect(unknown.json?["message"]?.string?.contains("No OAuth user") == true)
            let page = try await call(opro, token, "GET", "/oauth_tests/show_me_the_money")
            #expect(page.status == 200 && page.text.hasPrefix("<!doctype html>"))
            let url = opro.baseURL + "/oauth_tests/show_me_the_money"
            let fields = [("Authorization", #"Token token="\#(token)""#), ("Accept", "application/json")]
            #expect(try await Wire.send("GET", url, fields).json == good.json)
        }
    }

    @Test func `requests are recorded, and faults come when asked for`() async throws {
        try await withOPro { opro in
            opro.fault(.status(.internalServerError), at: .token)
            opro.fault(.htmlPage, at: .me)
            #expect(try await exchange(opro).status == 500)
            let token = try token(try await exchange(opro))
            #expect(try await call(opro, token).text.hasPrefix("<!doctype html>"))
            #expect(opro.log(.token).last?.form.names == ["username", "password", "client_id", "client_secret"])
            #expect(opro.log(.me).first?.headers[.authorization] == #"Token token="\#(token)""#)
            #expect(opro.demo["base_url"]?.string == opro.baseURL)
            #expect(try await Wire.send("GET", opro.baseURL + "/elsewhere").status == 404)
        }
    }
}
