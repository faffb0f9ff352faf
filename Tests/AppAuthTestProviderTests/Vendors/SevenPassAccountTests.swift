import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The accounts API of 7Pass: the user, and her consents.
@Suite struct SevenPassAccountTests {
    @Test func `me gives the claims, at the API base and not below the issuer`() async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            let response = try await flow.call("me", token)
            #expect(response.status == 200)
            #expect(response.json?["sub"]?.string == "7p-248289761001")
            #expect(response.json?["email"]?.string == "alice@example.com")
            #expect(response.json?["family_name"]?.string == "Liddell")
            let field = ("Authorization", "Bearer \(token)")
            #expect(try await Wire.send("GET", flow.sevenPass.issuer + "/me", [field]).status == 404)
            #expect(try await Wire.send("GET", flow.sevenPass.issuer + "/me/optins", [field]).status == 404)
            let mail = try await flow.call("me", flow.accessToken(scope: "openid email"))
            #expect(mail.json?.object?.names == ["sub", "email", "email_verified"])
            #expect(try await flow.call("nothing", token).status == 404)
        }
    }

    @Test(arguments: ["me", "me/optins"])
    func `a dead token is 401 with invalid_token, a token of the wrong kind 403`(path: String) async throws {
        try await withSevenPass { flow in
            #expect(try await flow.call(path, nil).header("WWW-Authenticate") == #"Bearer realm="local-provider""#)
            let dead = try await flow.call(path, "never-was")
            #expect(dead.status == 401)
            #expect(dead.json?["error"]?.string == "invalid_token")
            #expect(dead.header("WWW-Authenticate")?.contains(#"error="invalid_token""#) == true)
            let client = try await flow.token([
                "grant_type": "client_credentials", "client_id": "seven-pass-credentials",
                "client_secret": "credentials-secret",
            ])
            let other = try await flow.callWithProof(
                path, client.json?["access_token"]?.string, secret: "credentials-secret")
            #expect(other.status == 403)
            #expect(other.json?["error"]?.string == "insufficient_scope")
        }
    }

    @Test func `PATCH changes the members that it names, and userinfo shows them`() async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            let response = try await flow.call(
                "PATCH", "me", token, json: #"{"given_name":"Älice","birthdate":null}"#)
            #expect(response.status == 200)
            #expect(response.json?["given_name"]?.string == "Älice")
            #expect(response.json?["family_name"]?.string == "Liddell")
            #expect(response.json?["birthdate"] == nil)
            #expect(try await flow.call("me", token).json == response.json)
            let userInfo = try await Wire.send(
                "GET", flow.sevenPass.provider.url(.userInfo), [("Authorization", "Bearer \(token)")])
            #expect(userInfo.json?["given_name"]?.string == "Älice")
        }
    }

    @Test func `PUT replaces everything that can be changed`() async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            let response = try await flow.call("PUT", "me", token, json: #"{"given_name":"Al"}"#)
            #expect(response.json?["given_name"]?.string == "Al")
            #expect(response.json?["family_name"] == nil)
            #expect(response.json?["email"]?.string == "alice@example.com")
        }
    }

    @Test(arguments: [
        (#"{"given_name":"A","sub":"other"}"#, 422), (#"{"email":"b@example.com"}"#, 422), (#"{"given_name":1}"#, 422),
        ("[]", 400), ("no JSON", 400),
    ])
    func `a change that is none is refused and changes nothing`(json: String, status: Int) async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            let before = try await flow.call("me", token).json
            for method in ["PUT", "PATCH"] {
                #expect(try await flow.call(method, "me", token, json: json).status == status)
            }
            #expect(try await flow.call("me", token).json == before)
        }
    }

    @Test func `a change needs JSON, a known method and the scope profile`() async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            let url = flow.sevenPass.apiBase + "me"
            let field = ("Authorization", "Bearer \(token)")
            #expect(try await Wire.send("PATCH", url, [field], body: "{}").status == 415)
            #expect(try await flow.call("DELETE", "me", token).status == 405)
            let poor = try flow.accessToken(scope: "openid email")
            #expect(try await flow.call("PATCH", "me", poor, json: "{}").status == 403)
            #expect(try await flow.call("PATCH", "me", token, json: "{}").status == 200)
        }
    }

    @Test func `opt-ins can be listed, added, changed and taken away`() async throws {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            func types() async throws -> [String?]? {
                try await flow.call("me/optins", token).json?["optins"]?.array?.map { $0["type"]?.string }
            }
            #expect(try await types() == ["newsletter", "profiling"])
            let added = try await flow.call("POST", "me/optins", token, json: #"{"type":"sms","accepted":true}"#)
            #expect(added.status == 201)
            #expect(added.header("Location") == "/api/accounts/me/optins/sms")
            let again = try await flow.call("POST", "me/optins", token, json: #"{"type":"sms","accepted":true}"#)
            #expect(again.status == 409)
            #expect(again.json?["error"]?.string == "optin_exists")
            #expect(try await types() == ["newsletter", "profiling", "sms"])

            let changed = try await flow.call("PUT", "me/optins/sms", token, json: #"{"accepted":false}"#)
            #expect(changed.json?["accepted"]?.bool == false)
            #expect(try await flow.call("me/optins/sms", token).json == changed.json)
            #expect(try await flow.call("DELETE", "me/optins/newsletter", token).status == 204)
            #expect(try await flow.call("me/optins/newsletter", token).json?["error"]?.string == "not_found")
            #expect(try await types() == ["profiling", "sms"])

            let list = #"{"optins":[{"type":"post","accepted":true}]}"#
            #expect(try await flow.call("PUT", "me/optins", token, json: list).status == 200)
            #expect(try await types() == ["post"])
            #expect(try await flow.call("DELETE", "me/optins", token).status == 204)
            #expect(try await types() == [])
        }
    }

    @Test(arguments: [
        ("POST", "me/optins", #"{"type":"sms"}"#, 422), ("POST", "me/optins", #"{"type":"S/","accepted":true}"#, 422),
        ("PUT", "me/optins", "{}", 422), ("PUT", "me/optins/newsletter", #"{"accepted":"yes"}"#, 422),
        ("PUT", "me/optins/sms", #"{"accepted":true}"#, 404), ("POST", "me/optins/newsletter", "{}", 405),
        ("PATCH", "me/optins", "{}", 405),
        ("PUT", "me/optins", #"{"optins":[{"type":"a","accepted":true},{"type":"a","accepted":true}]}"#, 422),
    ])
    func `a change of opt-ins that is none is refused`(method: String, path: String, json: String, status: Int)
        async throws
    {
        try await withSevenPass { flow in
            let token = try flow.accessToken()
            #expect(try await flow.call(method, path, token, json: json).status == status)
            #expect(try await flow.call("me/optins", token).json?["optins"]?.array?.count == 2)
        }
    }
}
