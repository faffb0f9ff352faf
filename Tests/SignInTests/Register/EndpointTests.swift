import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// Where the registration endpoint is found if the OpenID Connect metadata has none.
@Suite(.timeLimit(.minutes(5)))
struct EndpointTests {
    private static let registration = ["register", "--json", "--redirect-uri", "http://127.0.0.1/callback", "--issuer"]

    /// As django-oauth-toolkit has it.
    @Test func `the RFC 8414 document is found behind the issuer's path too`() async throws {
        var configuration = LocalProvider.Configuration.demo
        (configuration.issuerPath, configuration.appendsOAuthMetadataToIssuer) = ("/o", true)
        configuration.namesRevocationInOAuthMetadataOnly = true
        try await withDesk(configuration) { fixture in
            fixture.provider.fault(
                .editDocument { $0["registration_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            _ = try await fixture.start(Self.registration + [fixture.issuer]).outcome().result()
            try await fixture.signIn()
            #expect(try await fixture.run("logout", "--json").result()["revoked"] == ["refresh_token", "access_token"])
        }
    }

    @Test func `a registration endpoint can be named`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["registration_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.status(.notFound), at: .oauthMetadata, times: nil)
            let message = try await fixture.start(Self.registration + [fixture.issuer]).outcome()
                .failure(1, "invalid_metadata")
            #expect(message.contains("--registration-endpoint"), "\(message)")
            let option = ["--registration-endpoint", fixture.provider.url(.clientRegistration)]
            _ = try await fixture.start(Self.registration + [fixture.issuer] + option).outcome().result()
            #expect(
                try await fixture.start(
                    Self.registration + [fixture.issuer, "--registration-endpoint", "http://op.example/"]
                )
                .outcome().failure(1, "invalid_metadata").contains("registration_endpoint"))
        }
    }
}
