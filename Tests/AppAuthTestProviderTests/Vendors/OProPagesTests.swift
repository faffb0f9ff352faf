import JOSE
import AppAuthTestProvider
import Testing

/// The pages of oPRO's demo: a user signs up, and a developer registers an app.
@Suite struct OProPagesTests {
    /// Fills in the form of a page and submits it, as a browser does.
    private func visit(
        _ opro: OPro, _ path: String, _ entries: [(name: String, value: String)]
    ) async throws -> String {
        let page = try await Wire.send("GET", opro.baseURL + path)
        #expect(page.status == 200 && page.header("Content-Type") == "text/html; charset=utf-8")
        let text = String(decoding: page.bytes, as: UTF8.self)
        for entry in entries { #expect(text.contains(#"name="\#(entry.name)""#)) }
        let action = try #require(text.firstMatch(of: /<form method="post" action="([^"]+)">/)).1
        let result = try await Wire.post(opro.baseURL + action, entries)
        #expect(result.status == 200)
        return String(decoding: result.bytes, as: UTF8.self)
    }

    private func exchange(_ opro: OPro, _ fields: KeyValuePairs<String, String?>) async throws -> Wire.Response {
        let demo: KeyValuePairs<String, String?> = [
            "username": "ruby", "password": "red-slippers", "client_id": "opro-demo",
            "client_secret": "opro-demo-secret",
        ]
        return try await Wire.post(opro.baseURL + "/oauth/token.json", form(demo, fields))
    }

    @Test func `a user who signs up on the page can sign in`() async throws {
        try await withDouble(OPro.start()) { opro in
            let page = try await visit(
                opro, "/users/sign_up",
                [
                    ("user[email]", "eve@example.org"), ("user[password]", "a <b> c"),
                    ("user[password_confirmation]", "a <b> c"),
                ])
            #expect(page.contains("eve@example.org") && !page.contains("a <b> c"))
            for name in ["username", "email"] {
                let change: KeyValuePairs<String, String?> = [
                    "username": nil, name: "eve@example.org", "password": "a <b> c",
                ]
                #expect(try await exchange(opro, change).status == 200)
            }
            #expect(try await exchange(opro, ["username": "eve@example.org", "password": "other"]).status == 401)
            // The user of the demo is there as before.
            #expect(try await exchange(opro, [:]).status == 200)
        }
    }

    @Test(arguments: [
        ("nonsense", "x", "x", "Email is invalid"), ("a@b", "x", "y", "Password confirmation"),
        ("a@b", "", "", "Password can"), ("ruby@example.com", "x", "x", "Email has already been taken"),
    ])
    func `a sign-up that is wrong says so`(email: String, password: String, again: String, why: String) async throws {
        try await withDouble(OPro.start()) { opro in
            let response = try await Wire.post(
                opro.baseURL + "/users",
                [("user[email]", email), ("user[password]", password), ("user[password_confirmation]", again)]
                    .map { (name: $0.0, value: $0.1) })
            let page = String(decoding: response.bytes, as: UTF8.self)
            #expect(response.status == 422 && page.contains(why))
        }
    }

    @Test func `an app that is registered on the page can request tokens, with grants of its own`() async throws {
        try await withDouble(OPro.start()) { opro in
            let page = try await visit(
                opro, "/oauth_client_apps/new", [("opro_client_app[name]", #"My "App" <1>"#)])
            #expect(page.contains("My &quot;App&quot; &lt;1&gt;"))
            let id = try #require(page.firstMatch(of: /id="client_id">([^<]+)</)).1
            let secret = try #require(page.firstMatch(of: /id="client_secret">([^<]+)</)).1
            let (own, ofDemo) = (
                ["client_id": String(id), "client_secret": String(secret)], try await exchange(opro, [:])
            )
            let first = try await exchange(
                opro, ["client_id": own["client_id"], "client_secret": own["client_secret"]])
            #expect(first.status == 200)
            // One grant per user and app: that of the other app goes on, and belongs only to it.
            let refresh = try #require(ofDemo.json?["refresh_token"]?.string)
            let change: KeyValuePairs<String, String?> = ["username": nil, "password": nil, "refresh_token": refresh]
            let foreign = try await Wire.post(
                opro.baseURL + "/oauth/token.json",
                form(["refresh_token": refresh, "client_id": own["client_id"], "client_secret": own["client_secret"]]))
            #expect(foreign.status == 401)
            #expect(try await exchange(opro, change).status == 200)
            #expect(try await exchange(opro, ["client_id": own["client_id"]]).status == 401)
            #expect(try await Wire.post(opro.baseURL + "/oauth_client_apps", []).status == 422)
        }
    }
}
