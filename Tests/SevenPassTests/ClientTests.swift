import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import SevenPass
import Testing

/// The client of the accounts API.
@Suite(.timeLimit(.minutes(1))) struct ClientTests {
    @Test(arguments: ["me", "/me", "me?fields=email"])
    func `a path is appended to the base, with a slash in front or without`(path: String) async throws {
        try await withSevenPass { fixture in
            let (state, _) = try await fixture.session()
            for base in [fixture.double.apiBase, String(fixture.double.apiBase.dropLast())] {
                var configuration = fixture.configuration
                configuration.apiBase = base
                let me = try await SevenPassClient(state, configuration).get(path)
                #expect(me["email"]?.string == "alice@example.com")
            }
            let seen = fixture.double.log(.me)
            #expect(seen.map(\.path) == ["/api/accounts/me", "/api/accounts/me"])
            #expect(seen.allSatisfy { $0.query["fields"] == (path.contains("?") ? "email" : nil) })
            #expect(seen.allSatisfy { $0.headers[.accept] == "application/json" })
        }
    }

    @Test func `without an API base it begins at the issuer`() async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.configuration
            configuration.apiBase = nil
            let client = try SevenPassClient(try await fixture.session().state, configuration)
            // The double has its API below the API base only, as 7Pass has.
            let error = await #expect(throws: SevenPassError.self) { try await client.get("/me") }
            let request = try #require(fixture.double.log.last)
            #expect(error?.status == 404 && "http://\(request.host)\(request.path)" == fixture.double.issuer + "/me")
        }
    }

    @Test func `me is at the server of the API base, and not at that of the issuer`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            _ = try await client.get("me")
            let request = try #require(fixture.double.log(.me).first)
            #expect("http://\(request.host)\(request.path)" == fixture.double.apiBase + "me")
            #expect(!fixture.double.apiBase.hasPrefix(fixture.double.issuer))
        }
    }

    @Test func `print shows the response of get as one line of JSON`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            let me = try await client.get("/me")
            var printed = ""
            print(me, to: &printed)
            #expect(printed.count(where: \.isNewline) == 1 && printed.contains(#""email":"alice@example.com""#))
            #expect(try JSON(parsing: Array(printed.utf8)) == me)
        }
    }

    @Test func `a whole URL counts below the base`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            #expect(try await client.get(fixture.double.apiBase + "me")["email"] != nil)
            await #expect(throws: AuthError.self) { try await client.get(fixture.double.issuer + "/me") }
            #expect(fixture.double.count(.me) == 1)
        }
    }

    @Test(
        arguments: [
            "https://elsewhere.example/me", "HTTPS://elsewhere.example/me", "//elsewhere.example/me", "///me",
            "http://127.0.0.1:1/api/accounts/me", "../me", "/../me", "me/../../me", "%2e%2e/me", "me/%2E./../me",
            "me%2f..%2F..%2fme", ".%2e%5cme", "me#x", "me\\..", "m e", "mé", "me%2", "data://x",
            "http://127.0.0.1@elsewhere.example/me",
        ])
    func `another location is refused, before a token is asked for`(path: String) async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            // A request for a token would now refresh it first.
            fixture.double.advance(7200)
            let before = fixture.double.log.count
            let error = await #expect(throws: AuthError.self) { try await client.get(path) }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
            #expect(fixture.double.log.count == before)
            #expect(try await client.get("me")["email"] != nil)
        }
    }

    @Test(arguments: ["", "http://api.example/", "api.example", "https://api.example/?x=y", "https://api.example/#x"])
    func `a base that must not get a token is refused`(base: String) async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.configuration
            configuration.apiBase = base
            let state = try await fixture.session().state
            #expect(throws: AuthError.self) { try SevenPassClient(state, configuration) }
        }
    }

    @Test func `GET, POST, PUT, PATCH and DELETE carry JSON and a bearer token`() async throws {
        try await withSevenPass { fixture in
            let (state, client) = try await fixture.session()
            let added = try await client.post("me/optins", ["type": "sms", "accepted": true])
            #expect(added["type"] == "sms")
            #expect(try await client.put("me/optins/sms", ["accepted": false])["accepted"] == false)
            #expect(try await client.patch("me", ["nickname": "Al"])["nickname"] == "Al")
            #expect(try await client.delete("me/optins/sms") == .null)
            let types = try await client.get("me/optins")["optins"]?.array?.compactMap { $0["type"]?.string }
            #expect(types == ["newsletter", "profiling"])
            let requests = fixture.double.log.filter { $0.endpoint == .me || $0.endpoint == .optIns }
            #expect(requests.map(\.method) == [.post, .put, .patch, .delete, .get])
            let token = try await state.freshAccessToken().authorization
            #expect(requests.allSatisfy { $0.headers[.authorization] == token })
            let withBody = requests.map { $0.headers[.contentType] }
            #expect(withBody == ["application/json", "application/json", "application/json", nil, nil])
        }
    }

    @Test func `queries, forms and header fields travel with a call`() async throws {
        try await withSevenPass { fixture in
            let (state, client) = try await fixture.session()
            let name = try #require(HTTPField.Name("X-Service-Id"))
            _ = try await client.get(
                "me?a=1", query: ["b&": "c d", "a2": "ü"], headers: [name: "app", .accept: "text/json"])
            let get = try #require(fixture.double.log(.me).last)
            #expect(get.query["a"] == "1" && get.query["b&"] == "c d" && get.query["a2"] == "ü")
            #expect(get.headers[name] == "app" && get.headers[.accept] == "text/json")
            let token = try await state.freshAccessToken().authorization
            #expect(get.headers[.authorization] == token && get.query["appsecret_proof"] == nil)
            _ = try? await client.post(
                "me/optins", form: ["type": "s&s", "accepted": "1"], headers: [.authorization: "x"])
            _ = try? await client.put("me/optins", form: ["a": "b"])
            _ = try? await client.patch("me/optins", form: ["a": "b"])
            _ = try? await client.delete("me/optins/sms", query: ["reason": "none"])
            let seen = fixture.double.log(.optIns)
            #expect(seen.map(\.method) == [.post, .put, .patch, .delete])
            #expect(seen[0].form["type"] == "s&s" && seen[0].form["accepted"] == "1")
            #expect(seen[0].headers[.authorization] == token)
            let types = seen.map { $0.headers[.contentType] }
            #expect(types == Array(repeating: "application/x-www-form-urlencoded", count: 3) + [nil])
            #expect(seen[3].query["reason"] == "none")
        }
    }

    @Test(arguments: ["the-app", nil])
    func `each call has the service id of the configuration, if there is one`(serviceID: String?) async throws {
        try await withSevenPass { fixture in
            var configuration = fixture.configuration
            configuration.serviceID = serviceID
            let client = try SevenPassClient(try await fixture.session().state, configuration)
            _ = try await client.get("me")
            _ = try await client.patch("me", ["nickname": "Al"])
            let name = try #require(HTTPField.Name("X-Service-Id"))
            #expect(fixture.double.log(.me).map { $0.headers[name] } == [serviceID, serviceID])
        }
    }

    @Test func `values of the app's own types are encoded and decoded`() async throws {
        struct OptIn: Codable, Equatable { let type: String, accepted: Bool }
        struct OptIns: Codable { let optins: [OptIn] }
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            let sms = OptIn(type: "sms", accepted: true)
            #expect(try await client.send(.post, "me/optins", encoding: sms, as: OptIn.self) == sms)
            #expect(try await client.get("me/optins", as: OptIns.self).optins.contains(sms))
            let error = await #expect(throws: AuthError.self) { try await client.get("me", as: OptIns.self) }
            #expect(error?.code == .invalidResponse && error?.message.contains("alice") == false)
        }
    }

    @Test func `each call takes a token that is fresh`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            _ = try await client.get("me")
            fixture.double.advance(7200)
            _ = try await client.get("me")
            #expect(fixture.double.log(.me).map(\.status) == [200, 200])
            #expect(fixture.double.log(.token).map { $0.form["grant_type"] } == ["refresh_token"])
        }
    }

    @Test func `a token that the API refuses is refreshed, and the call made once more`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session(accessToken: "dead")
            #expect(try await client.post("me/optins", ["type": "sms", "accepted": true])["type"] == "sms")
            #expect(fixture.double.log(.optIns).map(\.status) == [401, 201])
        }
    }

    @Test func `an error has the server's response`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            let error = await #expect(throws: SevenPassError.self) {
                try await client.put("me/optins/newsletter", ["accepted": "yes"])
            }
            #expect(error?.status == 422 && error?.code == "validation_failed")
            #expect(error?.body.contains("error_description") == true && error?.fields.isEmpty == false)
        }
    }

    @Test func `a response that is shown is short, on one line, and without the token`() async throws {
        try await withSevenPass { fixture in
            let (state, client) = try await fixture.session()
            let token = try await state.freshAccessToken().value.reveal()
            let text = "red \u{1B}[31m\n\u{202E}" + token + String(repeating: "x", count: 5000)
            fixture.double.fault(.status(.badGateway, json: ["error": .string(text)]), at: .me)
            let error = try #require(await #expect(throws: SevenPassError.self) { try await client.get("me") })
            #expect(error.status == 502 && error.body.count == 1000 && error.code?.count == 64)
            let shown = error.description + (error.code ?? "")
            #expect(!shown.contains(token) && shown.contains("[redacted]"))
            #expect(!shown.unicodeScalars.contains { ["\u{1B}", "\n", "\u{202E}"].contains($0) })
        }
    }

    @Test func `a page, broken JSON and a redirect are no responses`() async throws {
        try await withSevenPass { fixture in
            let (_, client) = try await fixture.session()
            fixture.double.fault(.htmlPage, at: .me)
            fixture.double.fault(.respond(Reply(.ok, type: "application/json", "{")), at: .me)
            fixture.double.fault(.respond(Reply(.ok, type: "text/html", "{}")), at: .me)
            for _ in 0..<3 {
                let error = await #expect(throws: AuthError.self) { try await client.get("me") }
                #expect(error?.code == .invalidResponse && error?.httpStatus == 200)
            }
            fixture.double.fault(.redirect(to: fixture.double.apiBase + "me/optins"), at: .me)
            let redirect = await #expect(throws: SevenPassError.self) { try await client.get("me") }
            #expect(redirect?.status == 307 && fixture.double.count(.optIns) == 0)
        }
    }
}
