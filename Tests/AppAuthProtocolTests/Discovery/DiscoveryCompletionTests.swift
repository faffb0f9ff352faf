import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Members that only the RFC 8414 document has.
struct DiscoveryCompletionTests {
    private let split: LocalProvider.Configuration = {
        var configuration = LocalProvider.Configuration.demo
        configuration.namesRevocationInOAuthMetadataOnly = true
        return configuration
    }()

    @Test func `a missing endpoint is taken from the second document`() async throws {
        try await World.run(split) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            #expect(metadata[.revocation] == nil)
            let completed = try await discovery.complete(metadata, with: .revocation)
            #expect(completed[.revocation]?.string == world.provider.url(.revocation))
            // So is whatever else the first one lacks, and no more.
            #expect(completed[.introspection] != nil)
            world.provider.fault(.editDocument { $0["token_endpoint"] = "https://other.example/t" }, at: .oauthMetadata)
            let other = try await Discovery(environment: world.environment).complete(metadata, with: .revocation)
            #expect(other == completed && other[.token] == metadata[.token])
            // It is kept.
            #expect(try await discovery.metadata(for: Issuer(world.provider.issuer)) == completed)
            #expect(world.provider.count(.oauthMetadata) == 2 && world.provider.count(.openIDConfiguration) == 1)
        }
    }

    @Test(arguments: [true, false])
    func `the second document of a provider with tenants names the template too`(namesTemplate: Bool) async throws {
        var configuration = split
        configuration.issuerPath = "/common/v2.0"
        configuration.tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
        try await World.run(configuration) { world in
            let discovery = Discovery(environment: world.environment)
            let issuer = try Issuer(world.provider.issuer)
            let policy = IssuerPolicy.template(issuer.string.replacing("common", with: "{tenantid}"))
            let metadata = try await discovery.metadata(for: issuer, policy: policy)
            if !namesTemplate {
                world.provider.fault(.editDocument { $0["issuer"] = .string(issuer.string) }, at: .oauthMetadata)
            }
            let completed = try await discovery.complete(metadata, with: .revocation, policy: policy)
            #expect(completed[.revocation]?.string == (namesTemplate ? world.provider.url(.revocation) : nil))
        }
    }

    @Test func `an endpoint that is there asks for nothing`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            #expect(try await discovery.complete(metadata, with: .revocation) == metadata)
            #expect(world.provider.log.count == 1)
        }
    }

    @Test(arguments: [
        Fault.editDocument { $0["issuer"] = "https://evil.example" },
        .editDocument { $0["jwks_uri"] = "http://evil.example" },
        .editDocument { $0["revocation_endpoint"] = nil }, .status(.notFound), .htmlPage,
    ])
    func `a second document that cannot be used changes nothing`(fault: Fault) async throws {
        try await World.run(split) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            world.provider.fault(fault, at: .oauthMetadata, times: nil)
            #expect(try await discovery.complete(metadata, with: .revocation) == metadata)
        }
    }

    @Test(arguments: [Fault.unavailable(retryAfter: 1), .tooManyRequests(retryAfter: 1), .reset()])
    func `a second document that cannot be fetched leaves the endpoint unknown`(fault: Fault) async throws {
        try await World.run(split) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            world.provider.fault(fault, at: .oauthMetadata, times: nil)
            let error = await authError { _ = try await discovery.complete(metadata, with: .revocation) }
            #expect(error?.stage == .discovery)
        }
    }

    @Test func `nothing is fetched for metadata of the app's own`() async throws {
        try await World.run(split) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try ProviderMetadata(
                issuer: Issuer(world.provider.issuer), endpoints: [.token: world.provider.url(.token)])
            #expect(try await discovery.complete(metadata, with: .revocation) == metadata)
            #expect(world.provider.log.isEmpty)
        }
    }

    @Test func `nothing but the missing endpoint is taken over`() async throws {
        try await World.run(split) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            world.provider.fault(
                .editDocument { $0["token_endpoint"] = "https://other.example/token" }, at: .oauthMetadata)
            let completed = try await discovery.complete(metadata, with: .revocation)
            #expect(completed[.revocation] != nil)
            #expect(completed[.token] == metadata[.token])
        }
    }

    @Test func `the second document is found behind the issuer's path too`() async throws {
        var configuration = split
        (configuration.issuerPath, configuration.appendsOAuthMetadataToIssuer) = ("/o", true)
        try await World.run(configuration) { world in
            let discovery = Discovery(environment: world.environment)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            let completed = try await discovery.complete(metadata, with: .revocation)
            #expect(completed[.revocation]?.string == world.provider.url(.revocation))
            #expect(world.provider.count(.none) == 1 && world.provider.count(.oauthMetadata) == 1)
            // RFC 8414 §3.3: of another issuer nothing is used, wherever it is.
            world.provider.fault(
                .editDocument { $0["issuer"] = .string(world.provider.issuer + "/") }, at: .oauthMetadata)
            #expect(try await discovery.complete(metadata, with: .revocation) == metadata)
        }
    }

    @Test func `an OAuth server without OpenID is found there too`() async throws {
        var configuration = LocalProvider.Configuration.demo
        (configuration.issuerPath, configuration.appendsOAuthMetadataToIssuer) = ("/o", true)
        try await World.run(configuration) { world in
            world.provider.fault(.status(.notFound), at: .openIDConfiguration)
            let metadata = try await world.metadata()
            #expect(metadata.issuer.string == world.provider.issuer)
        }
    }
}
