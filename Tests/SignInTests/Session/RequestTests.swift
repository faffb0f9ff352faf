import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RequestTests {
    private func withSession(_ body: (CommandFixture, _ api: String) async throws -> Void) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            try await body(fixture, fixture.provider.url(.api))
        }
    }

    @Test func `the response body is the output, and the status line is on standard error`() async throws {
        try await withSession { fixture, api in
            let outcome = try await fixture.run("request", "GET", api + "?a=b%20c")
            #expect(outcome.status == 0)
            #expect(outcome.errors == "HTTP 200\n")
            let body = try outcome.json()
            #expect(body["method"]?.string == "GET")
            #expect(body["query"]?["a"]?.string == "b c")
            #expect(body["client_id"]?.string == "demo")
        }
    }

    @Test func `without a method the request is a GET, and a method may be in lower case`() async throws {
        try await withSession { fixture, api in
            for (words, method) in [([api], "GET"), (["post", api], "POST"), (["Put", api], "PUT")] {
                let outcome = try await fixture.start(["request"] + words).outcome()
                #expect(try outcome.json()["method"]?.string == method)
            }
        }
    }

    @Test(arguments: [
        (["GET"], "expected a URL after the method GET"), (["get", "--json"], "expected a URL after the method GET"),
        (["https://a.example/?b&c", "post"], "method before the URL: sign-in request POST 'https://a.example/?b&c'"),
        (["https://a.example", "https://b.example"], "expected an HTTP method such as GET, found 'https://a.example'"),
        (["GET", "https://a.example", "more"], "expected a method and a URL, found 'more' after them"),
        (["--data", "a", "--frob", "https://a.example"], "no option '--frob'"), ([], "expected <url>"),
        (["gte", "https://a.example"], "expected an HTTP method such as GET, found 'gte'"),
        (["Gte", "https://a.example"], "expected an HTTP method such as GET, found 'Gte'"),

    ])
    func `words in another order are named`(words: [String], message: String) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(["request"] + words).outcome()
            #expect(outcome.status == 2 && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains(message), "\(outcome)")
        }
    }

    @Test func `with json there are status, header and body`() async throws {
        try await withSession { fixture, api in
            let json = try await fixture.run("request", "GET", api, "--json").result()
            #expect(json.object?.members.map(\.name).sorted() == ["body", "headers", "status"])
            #expect(json["status"] == 200)
            #expect(json["headers"]?["content-type"]?.string == "application/json")
            #expect(json["body"]?["sub"]?.string == "248289761001")
        }
    }

    @Test(arguments: [60, nil])
    func `a step-up challenge names --step-up, which signs in as the resource requires`(maxAge: Int?) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.acrValues.append("gold")
        configuration.authenticationRequirements = [.api: .init(acrValues: ["gold", "it's"], maxAge: maxAge)]
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            let outcome = try await fixture.run("request", "GET", fixture.provider.url(.api))
            #expect(outcome.status == 1)
            let hint = "The resource requires another sign-in. To sign in again, repeat this command with --step-up."
            #expect(outcome.errorLines.last == hint, "\(outcome)")
            let repeated = try await fixture.run(
                "request", "GET", fixture.provider.url(.api), "--step-up-at", fixture.provider.url(.api))
            #expect(repeated.status == 0, "\(repeated)")
            let requested = try #require(fixture.provider.log(.authorization).last?.query)
            #expect(requested["acr_values"] == "gold it's" && requested["max_age"] == maxAge.map(String.init))
            #expect(try await fixture.run("request", "GET", fixture.provider.url(.api)).status == 0)
        }
    }

    @Test func `--step-up requests the claims that a resource of Microsoft's kind requires`() async throws {
        let claims: JSON.Object = ["access_token": ["acrs": ["essential": true, "value": "c1"]]]
        var configuration = LocalProvider.Configuration.demo
        configuration.authenticationRequirements = [.api: .init(claims: claims)]
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            let api = fixture.provider.url(.api)
            let refused = try await fixture.run("request", "GET", api)
            #expect(refused.status == 1 && refused.errors.contains("with --step-up"), "\(refused)")
            let repeated = try await fixture.run("request", "GET", api, "--step-up-at", api, "--json")
            #expect(try repeated.result()["status"] == 200)
            let requested = fixture.provider.log(.authorization).last?.query["claims"]
            #expect(try JSON(parsing: try #require(requested)) == .object(claims))
            #expect(fixture.provider.count(.authorization) == 2 && fixture.stored.count == 1)
            #expect(try await fixture.run("request", "GET", api, "--json").result()["status"] == 200)
        }
    }

    @Test func `a body that is not JSON is a string`() async throws {
        try await withSession { fixture, api in
            fixture.provider.fault(.htmlPage, at: .api)
            let body = try await fixture.run("request", "GET", api, "--json").result()["body"]
            #expect(body?.string?.hasPrefix("<!doctype html>") == true)
            fixture.provider.fault(.status(.noContent), at: .api)
            let response = try await fixture.run("request", "DELETE", api, "--json")
            #expect(try response.result()["status"] == 204)
        }
    }

    @Test func `methods, header fields and bodies are sent unchanged`() async throws {
        try await withSession { fixture, api in
            let file = fixture.home + "/body"
            try Data([0x7B, 0, 0xFF, 0x0A]).write(to: URL(fileURLWithPath: file))
            _ = try await fixture.run(
                "request", "PATCH", api, "--header", "X-One: 1", "--header", "x-one:2", "--header", "Content-Type: a/b",
                "--data-file", file, "--json"
            ).result()
            let first = try #require(fixture.provider.log(.api).last)
            #expect(first.method == .patch)
            #expect(first.headers[values: HTTPField.Name("X-One")!] == ["1", "2"])
            #expect(first.headers[values: .contentType] == ["a/b"])
            #expect(first.body == [0x7B, 0, 0xFF, 0x0A])

            let pipe = try fixture.pipe("pipe", bringing: Array(repeating: 0x2A, count: 40_000))
            _ = try await fixture.run("request", "PUT", api, "--data-file", pipe, "--json").result()
            #expect(try #require(fixture.provider.log(.api).last).body == Array(repeating: 0x2A, count: 40_000))

            _ = try await fixture.run("request", "POST", api, "--data", "--a=1&b=2", "--json").result()
            let second = try #require(fixture.provider.log(.api).last)
            #expect(second.form.values("--a") == ["1"])
            #expect(second.headers[values: .authorization].count == 1)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 500])
    func `a status of 400 or more is a failure, and is not tried again`(code: Int) async throws {
        try await withSession { fixture, api in
            fixture.provider.fault(.status(.init(code: code), json: ["error": "no"]), at: .api)
            let outcome = try await fixture.run("request", "GET", api, "--json")
            #expect(outcome.status == 1)
            #expect(try outcome.json()["status"]?.int == code)
            #expect(try outcome.json()["body"]?["error"]?.string == "no")
            #expect(outcome.errorLines.count == 1 && outcome.errors == "HTTP \(code)\n")
            #expect(fixture.provider.count(.api) == 1 && fixture.provider.count(.token) == 1)
        }
    }

    @Test func `a redirect is a response, and is not followed`() async throws {
        try await withSession { fixture, api in
            fixture.provider.fault(.redirect(to: "https://elsewhere.example/"), at: .api)
            let json = try await fixture.run("request", "GET", api, "--json").result()
            #expect(json["status"] == 307)
            #expect(json["headers"]?["location"]?.string == "https://elsewhere.example/")
        }
    }

    /// An API may have lost its tokens or keys, and says nothing of that (RFC 6750 §3).
    @Test func `after a 401 without a reason the line is named that gets a new token`() async throws {
        try await withSession { fixture, api in
            fixture.provider.fault(.status(.unauthorized), at: .api, times: 2)
            let client = ["--issuer", fixture.issuer, "--client-id", "demo"]
            let outcome = try await fixture.start(["request", api] + client).outcome()
            #expect(outcome.status == 1)
            let line = (["sign-in", "token", "--force-refresh"] + client).joined(separator: " ")
            #expect(outcome.errorLines.last?.hasSuffix("get a new one with: \(line)") == true, "\(outcome.errors)")
        }
    }

    @Test func `after invalid_token there is one more try with a fresh token`() async throws {
        try await withSession { fixture, api in
            fixture.provider.fault(.invalidToken, at: .api)
            let json = try await fixture.run("request", "POST", api, "--data", "a=1", "--json").result()
            #expect(json["body"]?["body"]?.string == "a=1")
            let tokens = fixture.provider.log(.api).compactMap { $0.headers[.authorization] }
            #expect(tokens.count == 2 && Set(tokens).count == 2 && fixture.provider.count(.token) == 2)

            fixture.provider.fault(.invalidToken, at: .api, times: nil)
            let refused = try await fixture.run("request", "GET", api, "--json")
            #expect(refused.status == 1)
            #expect(try refused.json()["status"] == 401)
            #expect(fixture.provider.count(.api) == 4)
        }
    }

    @Test(arguments: ["http://api.example/", "ftp://api.example/", "api.example", "/v1/me"])
    func `a token is not sent to an untrusted URL`(url: String) async throws {
        try await withSession { fixture, _ in
            try await fixture.run("request", url, "--json").failure(1, "invalid_configuration")
            try await fixture.run("request", "GET", url, "--json").failure(1, "invalid_configuration")
        }
    }

    @Test func `a body that cannot be read is refused, and its file is named`() async throws {
        try await withSession { fixture, api in
            let outcome = try await fixture.run("request", "POST", api, "--data-file", fixture.home + "/none", "--json")
            #expect(try outcome.failure(1, "invalid_configuration").contains("\(fixture.home)/none: No such file"))
            #expect(fixture.provider.count(.api) == 0)
        }
    }
}
