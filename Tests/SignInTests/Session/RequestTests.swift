import Foundation
import HTTPTypes
import JOSE
import LocalProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RequestTests {
    private func withSession(_ body: (Desk, _ api: String) async throws -> Void) async throws {
        try await withDesk { desk in
            _ = try await desk.login().result()
            try await body(desk, desk.provider.url(.api))
        }
    }

    @Test func `the answer's body is the output, and its status line stands on standard error`() async throws {
        try await withSession { desk, api in
            let outcome = try await desk.run("request", "GET", api + "?a=b%20c")
            #expect(outcome.status == 0)
            #expect(outcome.errors == "HTTP 200\n")
            let body = try outcome.json()
            #expect(body["method"]?.string == "GET")
            #expect(body["query"]?["a"]?.string == "b c")
            #expect(body["client_id"]?.string == "demo")
        }
    }

    @Test func `with json there are status, header and body`() async throws {
        try await withSession { desk, api in
            let json = try await desk.run("request", "GET", api, "--json").result()
            #expect(json.object?.members.map(\.name).sorted() == ["body", "headers", "status"])
            #expect(json["status"] == 200)
            #expect(json["headers"]?["content-type"]?.string == "application/json")
            #expect(json["body"]?["sub"]?.string == "248289761001")
        }
    }

    @Test func `a resource that wants a stronger sign-in says which, and how to get it`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.acrValues.append("gold")
        configuration.authenticationRequirements = [.api: .init(acrValues: ["gold", "it's"], maxAge: 60)]
        try await withDesk(configuration) { desk in
            _ = try await desk.login().result()
            let outcome = try await desk.run("request", "GET", desk.provider.url(.api))
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains(#"sign-in login … --acr-values 'gold it'\''s' --max-age 60"#), "\(outcome)")
            _ = try await desk.login("--acr-values", "gold", "--max-age", "60").result()
            #expect(try await desk.run("request", "GET", desk.provider.url(.api)).status == 0)
        }
    }

    @Test func `a body that is no JSON is a string`() async throws {
        try await withSession { desk, api in
            desk.provider.fault(.htmlPage, at: .api)
            let body = try await desk.run("request", "GET", api, "--json").result()["body"]
            #expect(body?.string?.hasPrefix("<!doctype html>") == true)
            desk.provider.fault(.status(.noContent), at: .api)
            let answer = try await desk.run("request", "DELETE", api, "--json")
            #expect(try answer.result()["status"] == 204)
        }
    }

    @Test func `methods, header fields and bodies are sent as they are given`() async throws {
        try await withSession { desk, api in
            let file = desk.home + "/body"
            try Data([0x7B, 0, 0xFF, 0x0A]).write(to: URL(fileURLWithPath: file))
            _ = try await desk.run(
                "request", "PATCH", api, "--header", "X-One: 1", "--header", "x-one:2", "--header", "Content-Type: a/b",
                "--data-file", file, "--json"
            ).result()
            let first = try #require(desk.provider.log(.api).last)
            #expect(first.method == .patch)
            #expect(first.headers[values: HTTPField.Name("X-One")!] == ["1", "2"])
            #expect(first.headers[values: .contentType] == ["a/b"])
            #expect(first.body == [0x7B, 0, 0xFF, 0x0A])

            let pipe = try desk.pipe("pipe", bringing: Array(repeating: 0x2A, count: 40_000))
            _ = try await desk.run("request", "PUT", api, "--data-file", pipe, "--json").result()
            #expect(try #require(desk.provider.log(.api).last).body == Array(repeating: 0x2A, count: 40_000))

            _ = try await desk.run("request", "POST", api, "--data", "--a=1&b=2", "--json").result()
            let second = try #require(desk.provider.log(.api).last)
            #expect(second.form.values("--a") == ["1"])
            #expect(second.headers[values: .authorization].count == 1)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 500])
    func `a status of 400 or more is a failure, and is not tried again`(code: Int) async throws {
        try await withSession { desk, api in
            desk.provider.fault(.status(.init(code: code), json: ["error": "no"]), at: .api)
            let outcome = try await desk.run("request", "GET", api, "--json")
            #expect(outcome.status == 1)
            #expect(try outcome.json()["status"]?.int == code)
            #expect(try outcome.json()["body"]?["error"]?.string == "no")
            #expect(outcome.errorLines.count == 1 && outcome.errors == "HTTP \(code)\n")
            #expect(desk.provider.count(.api) == 1 && desk.provider.count(.token) == 1)
        }
    }

    @Test func `a redirect is an answer, and is not followed`() async throws {
        try await withSession { desk, api in
            desk.provider.fault(.redirect(to: "https://elsewhere.example/"), at: .api)
            let json = try await desk.run("request", "GET", api, "--json").result()
            #expect(json["status"] == 307)
            #expect(json["headers"]?["location"]?.string == "https://elsewhere.example/")
        }
    }

    @Test func `after invalid_token there is one more try with a fresh token`() async throws {
        try await withSession { desk, api in
            desk.provider.fault(.invalidToken, at: .api)
            let json = try await desk.run("request", "POST", api, "--data", "a=1", "--json").result()
            #expect(json["body"]?["body"]?.string == "a=1")
            let tokens = desk.provider.log(.api).compactMap { $0.headers[.authorization] }
            #expect(tokens.count == 2 && Set(tokens).count == 2 && desk.provider.count(.token) == 2)

            desk.provider.fault(.invalidToken, at: .api, times: nil)
            let refused = try await desk.run("request", "GET", api, "--json")
            #expect(refused.status == 1)
            #expect(try refused.json()["status"] == 401)
            #expect(desk.provider.count(.api) == 4)
        }
    }

    @Test(arguments: ["http://api.example/", "ftp://api.example/", "api.example"])
    func `a token goes to no place that cannot be trusted`(url: String) async throws {
        try await withSession { desk, _ in
            try await desk.run("request", "GET", url, "--json").failure(1, "invalid_configuration")
        }
    }

    @Test func `a body that cannot be read is refused, and its file is named`() async throws {
        try await withSession { desk, api in
            let outcome = try await desk.run("request", "POST", api, "--data-file", desk.home + "/none", "--json")
            #expect(try outcome.failure(1, "invalid_configuration").contains("\(desk.home)/none: No such file"))
            #expect(desk.provider.count(.api) == 0)
        }
    }
}
