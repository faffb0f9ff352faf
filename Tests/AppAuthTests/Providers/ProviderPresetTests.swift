import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import JOSE
import ScriptedBrowser
import TestFixtures
import Testing

/// Sign-ins at providers that need more than the standards.
@Suite(.timeLimit(.minutes(1)))
struct ProviderPresetTests {
    private func signIn(_ world: World, _ preset: ProviderPreset, client: String = "demo") throws -> SignIn {
        var signIn = try SignIn(preset, clientID: client, appName: "Test", environment: world.environment)
        signIn.browser = Browser { [browser = world.browser] url in Task { try await browser.visit(url) } }
        return signIn
    }

    private func google(_ world: World) throws -> ProviderPreset {
        var preset = ProviderPreset.google
        preset.issuer = try Issuer(world.provider.issuer)
        return preset
    }

    /// The preset with the double's URLs in place of GitHub's.
    private func gitHub(_ world: World) throws -> ProviderPreset {
        var preset = ProviderPreset.gitHub
        preset.issuer = try Issuer(world.provider.issuer)
        let urls: [(String, Endpoint)] = [
            ("authorization_endpoint", .authorization), ("token_endpoint", .token),
            ("device_authorization_endpoint", .deviceAuthorization),
        ]
        for (name, endpoint) in urls { preset.metadata?[name] = .string(world.provider.url(endpoint)) }
        preset.scope = [.profile, .email]
        return preset
    }

    @Test func `Google issues a refresh token to the preset, and none without it`() async throws {
        try await World.run(.google) { world in
            var signIn = try signIn(world, google(world))
            let leftOut = LockedValue<[Scope]>([])
            signIn.observe = { if case .scopesLeftOut(let scopes) = $0 { leftOut.withLock { $0 = scopes } } }
            let state = try await signIn.run(store: MemoryTokenStore())
            #expect(await state.record.hasRefreshToken)
            #expect(leftOut.withLock { $0 } == [.offlineAccess])
            let sent = try #require(world.provider.log(.authorization).first?.query)
            #expect(sent["access_type"] == "offline" && sent["prompt"] == "consent")
            #expect(sent["scope"] == "openid profile")
            _ = try await state.freshAccessToken(forceRefresh: true)
            signIn.options = .init()
            #expect(try await !signIn.run(store: MemoryTokenStore()).record.hasRefreshToken)
        }
    }

    @Test func `a scope that the app names at Google is sent, and never silently dropped`() async throws {
        try await World.run(.google) { world in
            var signIn = try signIn(world, google(world))
            signIn.scope = [.openID, .offlineAccess]
            // The browser stays on the provider's own page.
            let run = Task { [signIn] in _ = try await signIn.run(store: MemoryTokenStore()) }
            try await world.provider.requests(1, at: .authorization)
            run.cancel()
            await #expect(throws: CancellationError.self) { try await run.value }
            #expect(world.provider.log(.authorization).first?.query["scope"] == "openid offline_access")
        }
    }

    @Test func `GitHub signs in without discovery and without an ID token`() async throws {
        try await World.run(.gitHub) { world in
            let state = try await signIn(world, gitHub(world)).run(store: MemoryTokenStore())
            let record = await state.record
            #expect(record.scope == [.profile, .email] && record.idToken == nil && record.hasRefreshToken)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.scope == [.profile, .email])
            #expect(world.provider.count(.openIDConfiguration) == 0 && world.provider.count(.oauthMetadata) == 0)
        }
    }

    @Test func `GitHub's commas separate scopes only with its dialect`() async throws {
        try await World.run(.gitHub) { world in
            var preset = try gitHub(world)
            preset.dialect = .standard
            let state = try await signIn(world, preset).run(store: MemoryTokenStore())
            #expect(await state.record.scope == ["profile,email"])
        }
    }

    /// Entra's double: users of one tenant, whose ID the template stands for.
    private static let entra: LocalProvider.Configuration = {
        var configuration = LocalProvider.Configuration.demo
        (configuration.issuerPath, configuration.tenant) = ("/common/v2.0", "31537af4-6d77-4bb9-a681-d2394888ea26")
        return configuration
    }()

    @Test func `Entra's preset has the host localhost, no prompt, and the issuer of each tenant`() async throws {
        try await World.run(Self.entra) { world in
            var preset = try ProviderPreset.entra(tenant: "common")
            preset.issuer = try Issuer(world.provider.issuer)
            preset.issuerPolicy = .template(world.provider.issuer.replacing("common", with: "{tenantid}"))
            let state = try await signIn(world, preset).run(store: MemoryTokenStore())
            #expect(await state.record.idToken?.issuer.contains("/31537af4-") == true)
            let sent = try #require(world.provider.log(.authorization).first?.query)
            #expect(sent["redirect_uri"]?.hasPrefix("http://localhost:") == true && sent["prompt"] == nil)
            preset.issuerPolicy = .exact
            let error = await authError { _ = try await signIn(world, preset).run(store: MemoryTokenStore()) }
            #expect(error?.code == .issuerMismatch)
        }
    }

    @Test(arguments: [
        ("31537af4-6d77-4bb9-a681-d2394888ea26", "31537af4-6d77-4bb9-a681-d2394888ea26", false),
        ("31537AF4-6D77-4BB9-A681-D2394888EA26", "31537af4-6d77-4bb9-a681-d2394888ea26", false),
        ("consumers", "9188040d-6c67-4c5b-b112-36a304b66dad", false), ("organizations", "organizations", true),
        ("common", "common", true),
    ])
    func `a tenant of Entra has an issuer`(tenant: String, path: String, isOfMany: Bool) throws {
        let preset = try ProviderPreset.entra(tenant: tenant)
        #expect(preset.issuer.string == "https://login.microsoftonline.com/\(path)/v2.0")
        let template = IssuerPolicy.template("https://login.microsoftonline.com/{tenantid}/v2.0")
        #expect(preset.issuerPolicy == (isOfMany ? template : .exact))
    }

    @Test(arguments: [
        "", "contoso.onmicrosoft.com", "31537af4-6d77-4bb9-a681-d2394888ea2", "common/../x", "{tenantid}",
    ])
    func `what is no tenant of Entra is refused`(tenant: String) async {
        let error = await authError { _ = try ProviderPreset.entra(tenant: tenant) }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("a UUID") == true)
    }

    @Test func `a preset without a dialect keeps the app's own`() throws {
        var environment = Environment.live
        environment.dialect.refusesToken = { $0.status == .forbidden }
        var preset = ProviderPreset(issuer: "https://op.example")
        func refuses() throws -> Bool {
            try ClientConfiguration(preset, clientID: "demo", environment: environment).environment.dialect
                .refusesToken(TransportResponse(.init(status: .forbidden), body: []))
        }
        #expect(try refuses())
        preset.dialect = .standard
        #expect(try !refuses())
    }

    @Test func `a refresh token that GitHub rejects with the status 200 ends the session`() async throws {
        try await World.run(.gitHub) { world in
            let state = try await signIn(world, gitHub(world)).run(store: MemoryTokenStore())
            world.provider.revokeGrant(of: try await state.freshAccessToken().value.reveal())
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired)
            #expect(await state.record.end != nil)
        }
    }

    @Test func `GitHub's device flow goes on after an error with the status 200`() async throws {
        try await World.run(.gitHub) { world in
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 2) { try await $0.decide() }
            var signIn = try fixture.signIn()
            signIn.configuration = try ClientConfiguration(
                gitHub(world), clientID: "demo", environment: signIn.environment)
            let state = try await signIn.run(store: MemoryTokenStore())
            #expect(await state.record.scope == [.profile, .email])
            #expect(world.provider.log(.token).map(\.status) == [200, 200])
        }
    }
}
