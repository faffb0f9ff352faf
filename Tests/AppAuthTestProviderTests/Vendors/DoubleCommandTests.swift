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
        ["--double", "unknown"], ["--double", "moltin", "--user", "bob:x"], ["--double", "opro", "--client", "x"],
        ["--double", "sbanken", "--no-rotation"], ["--double", "seven-pass", "--issuer-path", "/t"],
    ])
    func `an option of the provider only is wrong usage`(arguments: [String]) throws {
        let child = try CommandTests.Child(arguments)
        #expect(child.end() == 2)
        #expect(child.rest(child.output).isEmpty)
        #expect(!child.rest(child.errors).isEmpty)
    }
}
