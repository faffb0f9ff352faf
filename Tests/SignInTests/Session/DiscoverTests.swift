import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DiscoverTests {
    @Test func `the provider's metadata is printed`() async throws {
        try await withDesk { fixture in
            let json = try await fixture.run("discover", fixture.issuer, "--json").result()
            #expect(json["issuer"]?.string == fixture.issuer)
            #expect(json["token_endpoint"]?.string == fixture.provider.url(.token))
            let text = try await fixture.run("discover", fixture.issuer)
            #expect(text.outputLines.contains("issuer: \(fixture.issuer)"))
            #expect(fixture.ownRequests == [.openIDConfiguration, .openIDConfiguration])
        }
    }

    @Test func `an issuer with a path is found, and one with only the RFC 8414 document`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.issuerPath = "/tenant"
        try await withDesk(configuration) { fixture in
            let metadata = try await fixture.run("discover", fixture.issuer, "--json")
            #expect(try metadata.result()["issuer"]?.string == fixture.issuer)
            fixture.provider.fault(.status(.notFound), at: .openIDConfiguration)
            _ = try await fixture.run("discover", fixture.issuer, "--json").result()
            #expect(fixture.ownRequests.last == .oauthMetadata)
        }
    }

    @Test func `metadata that cannot be used is refused`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["issuer"] = "https://evil.example" }, at: .openIDConfiguration)
            try await fixture.run("discover", fixture.issuer, "--json").failure(1, "issuer_mismatch")
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.htmlPage, at: location)
            }
            try await fixture.run("discover", fixture.issuer, "--json").failure(1, "invalid_response")
            try await fixture.run("discover", "http://op.example", "--json").failure(1, "invalid_configuration")
        }
    }
}
