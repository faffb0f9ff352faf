import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// RFC 6749 §2.3. The client's secret has characters that need the form encoding of §2.3.1.
@Suite struct ClientAuthenticationTests {
    private let client = RegisteredClient.demoConfidential
    private var secret: String { client.secret ?? "" }

    private func ask(
        _ provider: LocalProvider, _ form: [(name: String, value: String)], basic: String? = nil
    ) async throws -> Wire.Response {
        let fields = basic.map { [("Authorization", "Basic " + Data($0.utf8).base64EncodedString())] } ?? []
        return try await Wire.post(provider.url(.token), [("grant_type", "client_credentials")] + form, fields)
    }

    @Test func `basic and post authenticate a confidential client`() async throws {
        try await withLocalProvider { (provider) async throws in
            let encoded = FormCoding.encode(client.id) + ":" + FormCoding.encode(secret)
            #expect(try await ask(provider, [], basic: encoded).status == 200)
            #expect(try await ask(provider, [("client_id", client.id)], basic: encoded).status == 200)
            #expect(try await ask(provider, [("client_id", client.id), ("client_secret", secret)]).status == 200)
        }
    }

    @Test func `a wrong, missing or badly encoded secret is refused with a challenge`() async throws {
        try await withLocalProvider { provider in
            let id = FormCoding.encode(client.id)
            let responses = [
                try await ask(provider, [], basic: id + ":wrong"), try await ask(provider, [], basic: id + ":"),
                try await ask(provider, [], basic: id + ":" + secret), try await ask(provider, [], basic: id),
                try await ask(provider, [("client_id", client.id), ("client_secret", "wrong")]),
                try await ask(provider, [("client_id", client.id)]),
                try await ask(provider, [("client_id", "demo"), ("client_secret", "surplus")]),
            ]
            for response in responses {
                #expect(response.status == 401)
                #expect(response.json?["error"]?.string == "invalid_client")
                #expect(response.header("WWW-Authenticate")?.hasPrefix("Basic ") == true)
            }
        }
    }

    @Test func `two methods at once, two names or two fields are refused`() async throws {
        try await withLocalProvider { provider in
            let encoded = FormCoding.encode(client.id) + ":" + FormCoding.encode(secret)
            let field = ("Authorization", "Basic " + Data(encoded.utf8).base64EncodedString())
            let responses = [
                try await ask(provider, [("client_id", client.id), ("client_secret", secret)], basic: encoded),
                try await ask(provider, [("client_id", "demo")], basic: encoded),
                try await Wire.post(provider.url(.token), [("grant_type", "client_credentials")], [field, field]),
            ]
            for response in responses {
                #expect(response.status == 400)
                #expect(response.json?["error"]?.string == "invalid_request")
            }
        }
    }

    @Test(arguments: [RegisteredClient.Authentication.basic, .post])
    func `only the registered method is taken`(method: RegisteredClient.Authentication) async throws {
        var registered = client
        registered.authentication = [method]
        try await withLocalProvider(.demo { $0.clients = [registered] }) { provider in
            let encoded = FormCoding.encode(client.id) + ":" + FormCoding.encode(secret)
            let basic = try await ask(provider, [], basic: encoded)
            let post = try await ask(provider, [("client_id", client.id), ("client_secret", secret)])
            #expect((basic.status == 200) == (method == .basic))
            #expect((post.status == 200) == (method == .post))
        }
    }
}
