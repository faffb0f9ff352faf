import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// S'banken's client credentials, and its own way to encode a client.
@Suite struct SbankenTests {
    private func request(
        _ bank: Sbanken, authorization: String?, accept: String? = "application/json",
        type: String = "application/x-www-form-urlencoded", query: String = "",
        body: String = "grant_type=client_credentials"
    ) async throws -> Wire.Response {
        var fields = [("Content-Type", type)]
        if let authorization { fields.append(("Authorization", authorization)) }
        if let accept { fields.append(("Accept", accept)) }
        return try await Wire.send("POST", bank.baseURL + "/identityserver/connect/token" + query, fields, body: body)
    }

    private func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    /// `demo/app+1=@bank` and `s3cret /+=@&%:ø-_.!~*'()`, written out by hand.
    private let encoded = "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()"

    private func accounts(_ bank: Sbanken, _ token: String?) async throws -> Wire.Response {
        try await Wire.send(
            "GET", bank.baseURL + "/exec.bank/api/v1/Accounts", token.map { [("Authorization", "Bearer \($0)")] } ?? [])
    }

    @Test func `a client that is percent-encoded gets a token`() async throws {
        try await withDouble(Sbanken.start()) { bank in
            let response = try await request(bank, authorization: basic(encoded))
            #expect(response.status == 200)
            #expect(response.json?.object?.names == ["access_token", "expires_in", "token_type"])
            #expect(response.json?["expires_in"]?.int == 3600)
            #expect(response.json?["token_type"]?.string == "Bearer")
            #expect(response.header("Cache-Control") == "no-store")
        }
    }

    @Test(arguments: [
        "demo%2Fapp%2B1%3D%40bank:s3cret+%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()",  // a space as form encoding has it
        "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.%21~*'()",  // ! encoded
        "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!%7E*'()",  // ~ encoded
        "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*%27()",  // ' encoded
        "demo%2Fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'%28%29",  // ( ) encoded
        "demo%2fapp%2B1%3D%40bank:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()",  // lower-case digits
        "demo/app+1=@bank:s3cret /+=@&%:ø-_.!~*'()",  // not encoded at all
        "other:s3cret%20%2F%2B%3D%40%26%25%3A%C3%B8-_.!~*'()",
        "demo%2Fapp%2B1%3D%40bank:wrong",
    ])
    func `any other encoding is refused as a wrong client`(text: String) async throws {
        try await withDouble(Sbanken.start()) { bank in
            let response = try await request(bank, authorization: basic(text))
            #expect(response.status == 400)
            #expect(response.json == ["error": "invalid_client"])
        }
    }

    @Test func `the header is one, named Basic, and cannot be left out`() async throws {
        try await withDouble(Sbanken.start()) { bank in
            let right = basic(encoded)
            for wrong in [nil, "basic" + right.dropFirst(5), right + "=", right.replacing("Basic ", with: "Bearer ")] {
                let response = try await request(bank, authorization: wrong)
                #expect(response.json == ["error": "invalid_client"])
            }
        }
    }

    @Test func `Accept, type and body are compared as they are`() async throws {
        try await withDouble(Sbanken.start()) { bank in
            let right = basic(encoded)
            for accept in [nil, "*/*", "application/json, */*"] {
                let response = try await request(bank, authorization: right, accept: accept)
                #expect(response.json == ["error": "invalid_request"])
            }
            let json = try await request(bank, authorization: right, type: "application/json")
            #expect(json.json == ["error": "invalid_request"])
            let more = try await request(
                bank, authorization: right, body: "grant_type=client_credentials&scope=api")
            #expect(more.json == ["error": "invalid_request"])
            let other = try await request(bank, authorization: right, body: "grant_type=password")
            #expect(other.json == ["error": "unsupported_grant_type"])
            let inURI = try await request(bank, authorization: right, query: "?scope=api")
            #expect(inURI.json == ["error": "invalid_request"])
            #expect(try await request(bank, authorization: right).status == 200)
            #expect(try await Wire.send("GET", bank.baseURL + "/identityserver/connect/token").status == 405)
        }
    }

    @Test func `a token opens the accounts until it ends`() async throws {
        var configuration = Sbanken.Configuration()
        configuration.options = ManualClock().options
        try await withDouble(Sbanken.start(configuration)) { bank in
            let response = try await request(bank, authorization: basic(encoded))
            let token = try #require(response.json?["access_token"]?.string)
            bank.advance(3599)
            #expect(try await accounts(bank, token).json?["items"]?.array?.count == 2)
            bank.advance(1)
            let dead = try await accounts(bank, token)
            #expect(dead.status == 401)
            #expect(dead.header("WWW-Authenticate") == #"Bearer error="invalid_token""#)
            #expect(try await accounts(bank, nil).header("WWW-Authenticate") == "Bearer")
        }
    }

    @Test func `tokens can be killed, requests are recorded, and faults come when asked for`() async throws {
        try await withDouble(Sbanken.start()) { bank in
            bank.fault(.htmlPage, at: .token)
            #expect(try await request(bank, authorization: basic(encoded)).text.hasPrefix("<!doctype html>"))
            let response = try await request(bank, authorization: basic(encoded))
            let token = try #require(response.json?["access_token"]?.string)
            #expect(try await accounts(bank, token).status == 200)
            bank.killAccessTokens()
            #expect(try await accounts(bank, token).status == 401)
            #expect(bank.count(.token) == 2)
            #expect(bank.log(.token).first?.headers[.accept] == "application/json")
            #expect(bank.demo["base_url"]?.string == bank.baseURL)
        }
    }
}
