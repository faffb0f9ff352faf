import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Discovery §4, RFC 8414 §3.
struct DiscoveryTests {
    // oidcc-client-test-discovery-openid-config
    @Test(arguments: ["", "/tenant", "/a/b"])
    func `the metadata is found by one GET behind the issuer's path`(path: String) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.issuerPath = path
        try await World.run(configuration) { world in
            let metadata = try await world.metadata()
            #expect(metadata.issuer.string == world.provider.issuer)
            #expect(metadata[.token]?.string == world.provider.url(.token))
            #expect(metadata.document["acr_values_supported"]?.strings?.isEmpty == false)
            #expect(world.provider.log.map(\.path) == [path + "/.well-known/openid-configuration"])
            #expect(world.provider.log.first?.headers[.accept] == "application/json")
        }
    }

    @Test(arguments: ["", "/tenant"])
    func `an OAuth server without OpenID is found at the location of RFC 8414 §3.1`(path: String) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.issuerPath = path
        try await World.run(configuration) { world in
            world.provider.fault(.status(.notFound), at: .openIDConfiguration)
            let metadata = try await world.metadata()
            #expect(metadata.issuer.string == world.provider.issuer)
            var tried = ["/.well-known/openid-configuration" + path, "/.well-known/oauth-authorization-server" + path]
            if !path.isEmpty { tried.insert(path + "/.well-known/openid-configuration", at: 0) }
            #expect(world.provider.log.map(\.path) == tried)
        }
    }

    @Test(arguments: ["", "/"])
    func `a document between the host and the issuer's path is found, and must name the issuer`(
        addition: String
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        (configuration.issuerPath, configuration.insertsOpenIDConfiguration) = ("/a/b", true)
        try await World.run(configuration) { world in
            let issuer = world.provider.issuer + addition
            world.provider.fault(.editDocument { $0["issuer"] = .string(issuer) }, at: .openIDConfiguration)
            let error = await authError { try await world.metadata() }
            #expect(error?.code == (addition.isEmpty ? nil : .issuerMismatch))
            #expect(
                world.provider.log.map(\.path) == [
                    "/a/b/.well-known/openid-configuration", "/.well-known/openid-configuration/a/b",
                ])
        }
    }

    @Test func `metadata at a URL of the app's is fetched from there only, also to complete it`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["revocation_endpoint"] = nil }, at: .oauthMetadata)
            let discovery = Discovery(environment: world.environment)
            let (issuer, location) = (
                try Issuer(world.provider.issuer), try SecureURL(world.provider.url(.oauthMetadata))
            )
            let metadata = try await discovery.metadata(for: issuer, at: location)
            #expect(metadata.issuer == issuer && metadata.location == location && metadata.isDiscovered)
            #expect(try await discovery.complete(metadata, with: .revocation) == metadata)
            #expect(world.provider.log.map(\.path) == ["/.well-known/oauth-authorization-server"])
            // The cache tells the locations apart.
            #expect(try await discovery.metadata(for: issuer).location == nil)
            let client = Client(id: "demo", provider: metadata)
            #expect(try Client(stored: StoredObject(client.stored)).provider == metadata)
        }
    }

    @Test func `where neither is there, the error is about the first`() async throws {
        try await World.run { world in
            world.provider.fault(.status(.notFound), at: .openIDConfiguration)
            world.provider.fault(.status(.forbidden), at: .oauthMetadata)
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .invalidResponse)
            #expect(error.stage == .discovery)
            #expect(error.httpStatus == 404)
            #expect(!error.isTemporary)
            #expect(error.message.contains("/.well-known/openid-configuration"))
        }
    }

    // oidcc-client-test-discovery-issuer-mismatch
    @Test(arguments: [Endpoint.openIDConfiguration, .oauthMetadata], ["/", "/x", "x", "?", "#", "2"])
    func `metadata of another issuer is refused, at both locations (Discovery §4.3, RFC 8414 §3.3)`(
        location: Endpoint, addition: String
    ) async throws {
        try await World.run { world in
            if location == .oauthMetadata { world.provider.fault(.status(.notFound), at: .openIDConfiguration) }
            let other = world.provider.issuer + addition
            world.provider.fault(.editDocument { $0["issuer"] = .string(other) }, at: location)
            let error = try #require(await authError { try await world.metadata() })
            #expect(error.code == .issuerMismatch)
            #expect(error.message.contains("'\(other)'"))
        }
    }

    @Test(arguments: [nil, JSON.null, 1, ["https://op.example"]])
    func `metadata without an issuer is refused`(issuer: JSON?) async throws {
        try await World.run { world in
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.editDocument { $0["issuer"] = issuer }, at: location)
            }
            let error = await authError { try await world.metadata() }
            #expect(error?.code == .invalidResponse && error?.message.contains("'issuer'") == true)
        }
    }

    @Test(arguments: [
        "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "revocation_endpoint",
        "introspection_endpoint", "registration_endpoint", "end_session_endpoint", "device_authorization_endpoint",
        "pushed_authorization_request_endpoint",
    ])
    func `every endpoint without TLS is refused by name when it is needed`(name: String) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0[name] = "http://op.example/x" }, at: .openIDConfiguration)
            let error = try #require(await authError { try await world.metadata().require(.init(rawValue: name)) })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains("'\(name)'"))
            world.provider.fault(.editDocument { $0[name] = "https://op.example/x" }, at: .openIDConfiguration)
            #expect(try await world.metadata()[.init(rawValue: name)]?.string == "https://op.example/x")
        }
    }

    @Test(arguments: [1, ["a"], " ", "op.example/x", "https://op.example/x#f"] as [JSON])
    func `an endpoint that is no URL is refused`(value: JSON) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["token_endpoint"] = value }, at: .openIDConfiguration)
            let metadata = try await world.metadata()
            let error = try #require(refusal { try metadata.require(.token) })
            #expect(error.code == .invalidMetadata && metadata[.token] == nil)
            #expect(error.message.contains("'token_endpoint'"))
        }
    }

    @Test(arguments: [nil, JSON.null, ""])
    func `a member that is missing is named when it is needed`(value: JSON?) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["token_endpoint"] = value }, at: .openIDConfiguration)
            let metadata = try await world.metadata()
            let error = try #require(refusal { try metadata.require(.token) })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains("'token_endpoint'"))
            #expect(refusal { try metadata.require(.keys) } == nil)
        }
    }
}
