import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import JOSE
import ScriptedBrowser
import TestFixtures
import Testing

/// A provider with an issuer for each tenant, whose metadata names a template.
@Suite(.timeLimit(.minutes(1)))
struct TenantTests {
    private static let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
    private static let other = "9188040d-6c67-4c5b-b112-36a304b66dad"

    private let configuration: LocalProvider.Configuration = {
        var configuration = LocalProvider.Configuration.demo
        (configuration.issuerPath, configuration.tenant) = ("/common/v2.0", tenant)
        return configuration
    }()

    private func template(_ world: World) -> String {
        world.provider.issuer.replacing("common", with: "{tenantid}")
    }

    private func signIn(_ world: World, _ policy: IssuerPolicy) throws -> SignIn {
        var signIn = try SignIn(
            issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Test", environment: world.environment)
        signIn.browser = Browser { [browser = world.browser] url in Task { try await browser.visit(url) } }
        signIn.idTokenRules.issuer = policy
        return signIn
    }

    @Test func `by default the template is refused, and the message names the remedy`() async throws {
        try await World.run(configuration) { world in
            let error = await authError {
                _ = try await signIn(world, .exact).run(store: MemoryTokenStore())
            }
            #expect(error?.code == .issuerMismatch)
            #expect(error?.message.contains("with the ID of one tenant in place of {tenantid}") == true)
            #expect(world.provider.count(.authorization) == 0)
        }
    }

    @Test func `another template than the app's is refused`() async throws {
        try await World.run(configuration) { world in
            let error = await authError {
                _ = try await signIn(world, .template("https://evil.example/{tenantid}/v2.0"))
                    .run(store: MemoryTokenStore())
            }
            #expect(error?.code == .issuerMismatch)
        }
    }

    @Test(arguments: [nil, [tenant], [other, tenant]] as [Set<String>?])
    func `a user of an accepted tenant signs in and refreshes, also in another process`(
        tenants: Set<String>?
    ) async throws {
        try await World.run(configuration) { world in
            let (store, policy) = (TestStore(), IssuerPolicy.template(template(world), tenants: tenants))
            let state = try await signIn(world, policy).run(store: store)
            let issuer = world.provider.issuer.replacing("common", with: Self.tenant)
            #expect(await state.record.idToken?.issuer == issuer)
            #expect(await state.record.client.provider.issuer.string == world.provider.issuer)
            let stored = try AuthStateRecord(decoding: #require(await store.record).encoded(), from: "a test")
            #expect(stored.client.idTokenRules.issuer == policy)
            let copy = try #require(try await AuthState(restoring: TestStore(stored), environment: world.environment))
            _ = try await copy.freshAccessToken(forceRefresh: true)
            #expect(await copy.record.idToken?.issuer == issuer)
            #expect(try await signIn(world, policy).restore(store: store) != nil)
        }
    }

    @Test func `a user of another tenant is refused`() async throws {
        try await World.run(configuration) { world in
            let error = await authError {
                _ = try await signIn(world, .template(template(world), tenants: [Self.other]))
                    .run(store: MemoryTokenStore())
            }
            #expect(error?.code == .invalidIDToken && error?.message.contains("accepted tenant") == true)
        }
    }

    // Core §12.2: iss and sub identify the user.
    @Test func `a refresh that brings a user of another tenant ends the session`() async throws {
        try await World.run(configuration) { world in
            let state = try await signIn(world, .template(template(world))).run(store: MemoryTokenStore())
            let issuer = world.provider.issuer.replacing("common", with: Self.other)
            world.provider.fault(
                .editIDToken { ($0.claims["iss"], $0.claims["tid"]) = (.string(issuer), .string(Self.other)) },
                at: .token)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired && error?.message.contains("'iss'") == true)
        }
    }

    @Test func `newer metadata is found through the template`() async throws {
        try await World.run(configuration) { world in
            let state = try await signIn(world, .template(template(world))).run(store: MemoryTokenStore())
            world.provider.fault(
                .editDocument { $0["id_token_signing_alg_values_supported"] = ["RS256", "ES256"] },
                at: .openIDConfiguration)
            world.provider.fault(.editIDToken { $0.signature = .none }, at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(await state.record.client.provider.idTokenSigningAlgorithms == ["RS256", "ES256"])
        }
    }
}
