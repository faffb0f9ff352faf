import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// RFC 7592.
@Suite struct ClientConfigurationTests {
    @Test func `a registration is read, and each token is valid once`() async throws {
        try await withLocalProvider { provider in
            let applicant = Applicant(provider: provider)
            let first = try await applicant.registered()
            let second = try #require(try await applicant.manage("GET", first).json)
            #expect(second["client_id"] == first["client_id"] && second["client_name"] == "An App")
            #expect(second["registration_access_token"] != first["registration_access_token"])
            let again = try await applicant.manage("GET", first)
            #expect(again.status == 401 && again.json?["error"] == "invalid_token")
            #expect(try await applicant.manage("GET", second).status == 200)
        }
    }

    @Test func `a token can stay as it is`() async throws {
        var options = DynamicRegistration()
        options.rotatesAccessTokens = false
        try await withLocalProvider(.demo { $0.registration = options }) { provider in
            let applicant = Applicant(provider: provider)
            let first = try await applicant.registered()
            for _ in 1...2 { #expect(try await applicant.manage("GET", first).status == 200) }
        }
    }

    @Test func `a change takes the place of all the metadata`() async throws {
        try await withLocalProvider { provider in
            let applicant = Applicant(provider: provider)
            let first = try await applicant.registered(["client_uri": "https://app.example/"])
            var document = Applicant.changeable(first)
            document["client_name"] = "Another App"
            document["client_uri"] = nil
            let second = try #require(try await applicant.manage("PUT", first, document).json)
            #expect(second["client_name"] == "Another App" && second["client_uri"] == nil)
            #expect(second["client_id"] == first["client_id"])
        }
    }

    @Test(
        arguments: [
            ("client_id", "another"), ("client_id", nil), ("client_secret", "made-up"), ("client_secret_expires_at", 0),
            ("client_id_issued_at", 1), ("registration_access_token", "x"),
            ("registration_client_uri", "https://x.example"),
            ("redirect_uris", ["http://app.example/"]),
        ] as [(String, JSON?)])
    func `a change that is wrong in one respect changes nothing`(name: String, value: JSON?) async throws {
        try await withLocalProvider { provider in
            let applicant = Applicant(provider: provider)
            let first = try await applicant.registered()
            var document = Applicant.changeable(first)
            document["client_name"] = "Another App"
            document[name] = value
            #expect(try await applicant.manage("PUT", first, document).status == 400)
            #expect(try await applicant.manage("GET", first).json?["client_name"] == "An App")
        }
    }

    @Test func `a deleted client is gone with its tokens`() async throws {
        try await withLocalProvider { provider in
            let applicant = Applicant(provider: provider)
            let registration = try await applicant.registered()
            let id = try #require(registration["client_id"]?.string)
            let session = try provider.mintSession(client: id)
            #expect(provider.isAlive(session.accessToken))
            #expect(try await applicant.manage("DELETE", registration).status == 204)
            #expect(!provider.isAlive(session.accessToken))
            #expect(try await applicant.manage("GET", registration).status == 401)
            let form = [("grant_type", "refresh_token"), ("refresh_token", "x"), ("client_id", id)]
            let response = try await Wire.post(provider.url(.token), form.map { (name: $0.0, value: $0.1) })
            #expect(response.json?["error"] == "invalid_client")
        }
    }

    @Test func `an expired secret is refused, and reading the registration returns a new one`() async throws {
        let clock = ManualClock()
        var options = DynamicRegistration()
        options.secretLifetime = 3600
        try await withLocalProvider(
            .demo {
                $0.registration = options
                $0.clock = clock.read
            }
        ) { provider in
            let applicant = Applicant(provider: provider)
            let first = try await applicant.registered([
                "token_endpoint_auth_method": "client_secret_post", "grant_types": ["client_credentials"],
                "response_types": [],
            ])
            #expect(first["client_secret_expires_at"]?.int == Int(clock.now.timeIntervalSince1970) + 3600)
            func status(_ registration: JSON) async throws -> Int? {
                try await Wire.post(
                    provider.url(.token),
                    [
                        ("grant_type", "client_credentials"), ("client_id", registration["client_id"]?.string ?? ""),
                        ("client_secret", registration["client_secret"]?.string ?? ""),
                    ]
                ).status
            }
            #expect(try await status(first) == 200)
            clock.advance(3601)
            #expect(try await status(first) == 401)
            let second = try #require(try await applicant.manage("GET", first).json)
            #expect(second["client_secret"] != first["client_secret"])
            #expect(try await status(second) == 200)
        }
    }
}
