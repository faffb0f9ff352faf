import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// Pages on loopback of another user's server, which may have taken the port of the provider.
@Suite(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0, "only root can start a server as another user"))
struct ForeignPageTests {
    enum Page: CaseIterable { case authorization, endSession, device, deviceWithCode }

    /// The pages that a flow has opened or shown, and its error.
    private struct Flow: Sendable {
        let pages = LockedValue<[String]>([])
        var browser: Browser? { Browser { url in pages.withLock { $0.append(url) } } }

        func run(_ page: Page, at url: String, _ world: World, _ environment: Environment) async throws -> AuthError? {
            let issuer = try Issuer(world.provider.issuer)
            switch page {
            case .authorization:
                world.provider.fault(
                    .editDocument { $0["authorization_endpoint"] = .string(url) }, at: .openIDConfiguration)
                var signIn = SignIn(issuer: issuer, clientID: "demo", appName: "Test", environment: environment)
                (signIn.browser, signIn.timeout) = (browser, .milliseconds(1))
                signIn.observe = { event in
                    if case .authorization(let url) = event { pages.withLock { $0.append(url) } }
                }
                return await authError { _ = try await signIn.run(store: MemoryTokenStore()) }
            case .endSession:
                world.provider.fault(
                    .editDocument { $0["end_session_endpoint"] = .string(url) }, at: .openIDConfiguration)
                let state = try await world.signIn()
                var signOut = SignOut(appName: "Test")
                (signOut.browser, signOut.timeout) = (browser, .milliseconds(500))
                signOut.observe = { event in
                    if case .endSession(let url) = event { pages.withLock { $0.append(url) } }
                }
                let session = AuthState(
                    record: await state.record, store: MemoryTokenStore(), environment: environment)
                return try await signOut.run(session).endSessionError
            case .device, .deviceWithCode:
                let name = page == .device ? "verification_uri" : "verification_uri_complete"
                world.provider.fault(.editDocument { $0[name] = .string(url) }, at: .deviceAuthorization)
                var signIn = DeviceSignIn(issuer: issuer, clientID: "demo", environment: environment)
                signIn.observe = { event in
                    if case .code(let code) = event { pages.withLock { $0.append(code.verificationURI.string) } }
                }
                return try await withTimeout(.seconds(1), .token, "still waiting") { [signIn] in
                    await authError { _ = try await signIn.run(store: MemoryTokenStore()) }
                }
            }
        }
    }

    @Test(arguments: Page.allCases, ForeignServer.Address.allCases)
    func `no page of another user's server is opened or shown`(
        page: Page, address: ForeignServer.Address
    ) async throws {
        try await World.run { world in
            let server = try ForeignServer(as: 1999, at: address)
            let port = server.authority.split(separator: ":").last ?? ""
            for authority in [server.authority, "localhost:\(port)"] {
                let flow = Flow()
                let error = try await flow.run(page, at: "http://\(authority)/page", world, world.environment)
                #expect(error?.code == .transport && error?.outcome == .notSent && error?.isTemporary == false)
                for word in [authority, "number 1999", "Expected a server of this program's user"] {
                    #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
                }
                #expect(flow.pages.withLock { $0 } == [])
            }
        }
    }

    @Test(arguments: Page.allCases)
    func `pages of all users are opened if the transport trusts their servers`(page: Page) async throws {
        try await World.run { world in
            let server = try ForeignServer(as: 1999)
            var (configuration, environment) = (CurlTransport.Configuration(proxy: .none), world.environment)
            configuration.loopbackServers = .ofAllUsers
            environment.transport = CurlTransport(configuration)
            let flow = Flow()
            _ = try? await flow.run(page, at: "http://\(server.authority)/page", world, environment)
            #expect(flow.pages.withLock { !$0.isEmpty })
        }
    }
}
