import HTTPTypes
import JOSE
import LocalProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DiscoverTests {
    @Test func `the provider's metadata is printed`() async throws {
        try await withDesk { desk in
            let json = try await desk.run("discover", desk.issuer, "--json").result()
            #expect(json["issuer"]?.string == desk.issuer)
            #expect(json["token_endpoint"]?.string == desk.provider.url(.token))
            let text = try await desk.run("discover", desk.issuer)
            #expect(text.outputLines.contains("issuer: \(desk.issuer)"))
            #expect(desk.ownRequests == [.openIDConfiguration, .openIDConfiguration])
        }
    }

    @Test func `an issuer with a path is found, and one with the document of OAuth alone`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.issuerPath = "/tenant"
        try await withDesk(configuration) { desk in
            let metadata = try await desk.run("discover", desk.issuer, "--json")
            #expect(try metadata.result()["issuer"]?.string == desk.issuer)
            desk.provider.fault(.status(.notFound), at: .openIDConfiguration)
            _ = try await desk.run("discover", desk.issuer, "--json").result()
            #expect(desk.ownRequests.last == .oauthMetadata)
        }
    }

    @Test func `metadata that cannot be used is refused`() async throws {
        try await withDesk { desk in
            desk.provider.fault(.editDocument { $0["issuer"] = "https://evil.example" }, at: .openIDConfiguration)
            try await desk.run("discover", desk.issuer, "--json").failure(1, "issuer_mismatch")
            desk.provider.fault(.htmlPage, at: .openIDConfiguration)
            try await desk.run("discover", desk.issuer, "--json").failure(1, "invalid_response")
            try await desk.run("discover", "http://op.example", "--json").failure(1, "invalid_configuration")
        }
    }
}
