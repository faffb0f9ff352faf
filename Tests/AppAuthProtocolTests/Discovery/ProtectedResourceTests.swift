import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9728.
struct ProtectedResourceTests {
    private func run(
        _ description: ResourceDescription = .init(scopes: ["api"]),
        _ test: (World, Discovery, String) async throws -> Void
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = description
        try await World.run(configuration) { world in
            try await test(world, Discovery(environment: world.environment), world.provider.url(.api))
        }
    }

    @Test func `a resource names its metadata, its authorization server and its scopes`() async throws {
        try await run { world, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            #expect(resource.url.string == url && resource.scope == ["api"] && !resource.requiresDPoP)
            #expect(resource.authorizationServers.map(\.string) == [world.provider.issuer])
            let provider = try await discovery.metadata(for: resource)
            #expect(provider.issuer.string == world.provider.issuer)
            #expect(resource.scope(at: provider) == ["api", .offlineAccess])
            let paths = world.provider.log.map(\.path)
            #expect(
                paths == [
                    "/api/echo", "/.well-known/oauth-protected-resource/api/echo", "/.well-known/openid-configuration",
                ])
            #expect(world.provider.log.allSatisfy { $0.headers[.authorization] == nil })
        }
    }

    @Test func `without a location in the response, the location of RFC 9728 §3.1 is used`() async throws {
        var description = ResourceDescription(scopes: ["api"])
        description.isNamedInChallenges = false
        try await run(description) { world, discovery, url in
            func scope() async throws -> [Scope] {
                world.provider.fault(.editDocument { $0["scopes_supported"] = ["a", "b"] }, at: .resourceMetadata)
                return try await discovery.protectedResource(at: url).scope
            }
            // The response names scopes, which count more than the list.
            let demanded = try await scope()
            #expect(demanded == ["api"])
            for status in [HTTPResponse.Status.ok, .notFound, .unauthorized] {
                world.provider.fault(.status(status), at: .api)
                let listed = try await scope()
                #expect(listed == ["a", "b"])
            }
        }
    }

    @Test(arguments: [
        ("https://r.example", "https://r.example/.well-known/oauth-protected-resource"),
        ("https://r.example/", "https://r.example/.well-known/oauth-protected-resource"),
        ("https://r.example:8443/a/b", "https://r.example:8443/.well-known/oauth-protected-resource/a/b"),
        ("https://r.example/a/", "https://r.example/.well-known/oauth-protected-resource/a/"),
        ("https://r.example/a?b=c", "https://r.example/.well-known/oauth-protected-resource/a?b=c"),
        ("https://r.example/?b=c", "https://r.example/.well-known/oauth-protected-resource?b=c"),
    ])
    func `the well-known part is between the host and the rest`(url: String, location: String) async throws {
        let web = Web(resource: url)
        let resource = try await Discovery(environment: Environment(transport: web)).protectedResource(at: url)
        #expect(resource.url.string == url && web.asked.withLock { $0.last } == location)
    }

    @Test(arguments: ["https://r.example/other", "https://r.example/api/a", "https://evil.example/api"])
    func `metadata about another resource is refused`(named: String) async throws {
        let error = await authError {
            try await Discovery(environment: Environment(transport: Web(resource: named)))
                .protectedResource(at: "https://r.example/api")
        }
        #expect(error?.code == .resourceMismatch && error?.message.contains("'\(named)'") == true)
    }

    @Test(
        arguments: [
            "http://as.example", ["http://as.example"], ["https://as.example/?a=b"], ["http://127.0.0.1:8080"], [1], 1,
        ] as [JSON])
    func `an authorization server that cannot be used is not one`(value: JSON) async throws {
        let url = "https://r.example/api"
        func resource(_ value: JSON) async throws -> ProtectedResource {
            let web = Web(resource: url) { $0["authorization_servers"] = value }
            return try await Discovery(environment: Environment(transport: web)).protectedResource(at: url)
        }
        let alone = try await resource(value)
        let error = try #require(refusal { try alone.authorizationServer() })
        #expect(error.code == .invalidMetadata && error.message.contains("that can be used: "), "\(error)")
        // RFC 9728 §7.6: only the resource decides who issues its tokens.
        #expect(refusal { try alone.authorizationServer("https://as.example") }?.code == .invalidMetadata)
        let beside = try await resource(.array((value.array ?? [value]) + ["https://as.example"]))
        #expect(beside.authorizationServers == ["https://as.example"])
    }

    @Test(arguments: ["a b", ["a", 1], nil] as [JSON?])
    func `scopes that are no list say nothing`(value: JSON?) async throws {
        let url = "https://r.example/api"
        let web = Web(resource: url) { $0["scopes_supported"] = value }
        let resource = try await Discovery(environment: Environment(transport: web)).protectedResource(at: url)
        #expect(resource.scope.isEmpty)
    }

    @Test(arguments: ["http://r.example/m", "/m", "http://127.0.0.1:9/m", "https://localhost/m", ""])
    func `a location of the metadata that the resource may not name is not asked`(location: String) async throws {
        let web = Web(resource: "https://r.example/api", metadata: location)
        let discovery = Discovery(environment: Environment(transport: web))
        _ = try await discovery.protectedResource(at: "https://r.example/api")
        let asked = web.asked.withLock { $0 }
        #expect(asked == ["https://r.example/api", "https://r.example/.well-known/oauth-protected-resource/api"])
    }

    @Test(arguments: [nil, 1] as [JSON?])
    func `a document without a resource is no metadata`(value: JSON?) async throws {
        let web = Web(resource: "https://r.example/api") { $0["resource"] = value }
        let error = await authError {
            try await Discovery(environment: Environment(transport: web))
                .protectedResource(at: "https://r.example/api")
        }
        #expect(error?.code == .invalidResponse && error?.message.contains("'resource'") == true)
    }

    @Test func `the metadata may be on another host, and is still about the resource`() async throws {
        let web = Web(resource: "https://r.example/api", metadata: "https://docs.example/m")
        let discovery = Discovery(environment: Environment(transport: web))
        #expect(try await discovery.protectedResource(at: "https://r.example/api").authorizationServers.count == 1)
        #expect(web.asked.withLock { $0.last } == "https://docs.example/m")
    }

    @Test(arguments: ["http://r.example/api", "r.example", "https://r.example/#a", "urn:example:api"])
    func `a resource that is no https URL is refused, and nothing is sent`(url: String) async throws {
        let web = Web(resource: url)
        let error = await authError {
            try await Discovery(environment: Environment(transport: web)).protectedResource(at: url)
        }
        #expect(error?.code == .invalidConfiguration && web.asked.withLock { $0.isEmpty })
    }

    @Test func `a redirect of the metadata is not followed, and missing metadata is named`() async throws {
        try await run { world, discovery, url in
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.status(.notFound), at: location, times: nil)
            }
            world.provider.fault(.status(.found), at: .resourceMetadata)
            let moved = await authError { try await discovery.protectedResource(at: url) }
            #expect(moved?.code == .invalidResponse && moved?.httpStatus == 302)
            world.provider.fault(.status(.notFound), at: .resourceMetadata)
            let missing = await authError { try await discovery.protectedResource(at: url) }
            #expect(missing?.httpStatus == 404 && missing?.message.contains("no metadata of the resource") == true)
        }
    }

    @Test func `of several authorization servers the app chooses one that the resource lists`() async throws {
        var description = ResourceDescription()
        description.authorizationServers = ["https://a.example", "https://b.example"]
        try await run(description) { _, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            #expect(try resource.authorizationServer("https://b.example") == "https://b.example")
            #expect(refusal { try resource.authorizationServer() }?.code == .invalidConfiguration)
            #expect(refusal { try resource.authorizationServer("https://c.example") }?.code == .issuerMismatch)
            #expect(refusal { try resource.authorizationServer("https://b.example/a") }?.code == .issuerMismatch)
        }
        description.authorizationServers = []
        try await run(description) { _, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            #expect(refusal { try resource.authorizationServer() }?.code == .invalidMetadata)
            // Its origin is one.
            let own = try await discovery.metadata(for: resource)
            #expect(url.hasPrefix(own.issuer.string) && own.resource?.string == url)
            // The message says to name one.
            #expect(try resource.authorizationServer("https://a.example") == "https://a.example")
        }
    }

    @Test func `an authorization server that lists its resources must list this one`() async throws {
        try await run { world, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            world.provider.fault(
                .editDocument { $0["protected_resources"] = [.string(url + "/")] }, at: .openIDConfiguration)
            let error = await authError { try await discovery.metadata(for: resource) }
            #expect(error?.code == .resourceMismatch)
            world.provider.fault(
                .editDocument { $0["protected_resources"] = [.string(url)] }, at: .openIDConfiguration)
            let fresh = Discovery(environment: world.environment)
            #expect(try await fresh.metadata(for: resource).issuer.string == world.provider.issuer)
        }
    }

    /// A list that cannot be read does not name the resource.
    @Test func `a malformed list of the server's resources does not name the resource`() async throws {
        try await run { world, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            let lists: [JSON] = [[], .string(url), 1, true, [:], ["list": [.string(url)]], [.string(url), 1]]
            for list in lists {
                world.provider.fault(.editDocument { $0["protected_resources"] = list }, at: .openIDConfiguration)
                let fresh = Discovery(environment: world.environment)
                let error = await authError { try await fresh.metadata(for: resource) }
                #expect(error?.code == .resourceMismatch, "\(list)")
            }
        }
    }

    @Test func `a token for the resource is accepted there`() async throws {
        try await run { world, discovery, url in
            let resource = try await discovery.protectedResource(at: url)
            let client = Client(id: "demo", provider: try await discovery.metadata(for: resource))
            var options = AuthorizationRequest.Options()
            options.resources = [resource.url.string]
            let state = try await world.session(client, resource.scope(at: client.provider), options)
            #expect(try await state.get(url).status == .ok)
        }
    }

    @Test func `a sign-in with the scopes that a resource demands satisfies it`() async throws {
        try await run { world, _, url in
            let client = try await world.client()
            let weak = try await world.session(client, [.openID], .init())
            let refused = try #require(await authError { try await weak.get(url) })
            #expect(refused.httpStatus == 403 && refused.code == "insufficient_scope")
            let challenge = try #require(refused.response?.stepUpChallenge)
            #expect(challenge.scope == ["api"] && challenge.maxAge == nil)
            var options = AuthorizationRequest.Options()
            options.meet(challenge)
            #expect(try await world.session(client, [.openID] + challenge.scope, options).get(url).status == .ok)
        }
    }
}

extension World {
    fileprivate func session(
        _ client: Client, _ scope: [Scope], _ options: AuthorizationRequest.Options
    ) async throws -> AuthState {
        try await AuthState.exchange(
            authorize(client, scope: scope, options: options), store: MemoryTokenStore(), environment: environment)
    }
}

/// A resource that refuses requests without a token, and its metadata at any other URL.
private struct Web: HTTPTransport {
    let resource: String
    let metadata: String?
    let edit: @Sendable (inout JSON.Object) -> Void
    let asked = LockedValue<[String]>([])

    init(
        resource: String, metadata: String? = nil, edit: @escaping @Sendable (inout JSON.Object) -> Void = { _ in }
    ) {
        (self.resource, self.metadata, self.edit) = (resource, metadata, edit)
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let head = request.head
        let isFirst = asked.withLock { asked in
            asked.append("\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")")
            return asked.count == 1
        }
        guard !isFirst else {
            let challenge = metadata.map { #"Bearer resource_metadata="\#($0)""# } ?? "Bearer"
            return TransportResponse(
                HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: challenge]), body: [])
        }
        var document: JSON.Object = [
            "resource": .string(resource), "authorization_servers": ["https://as.example"],
        ]
        edit(&document)
        return TransportResponse(HTTPResponse(status: .ok), body: Array(JSON.object(document).serialized().utf8))
    }
}
