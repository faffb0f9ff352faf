import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import CShims
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Pages on loopback of another user's server, which may have taken the port of the provider.
@Suite(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0, "only root can start a server as another user"))
struct ForeignPageTests {
    enum Page: CaseIterable { case authorization, endSession, device, deviceWithCode }

    /// A flow, until it has opened or shown a page, or until its end.
    private struct Flow: Sendable {
        private let shown: AsyncStream<String>
        private let pages: AsyncStream<String>.Continuation
        /// The response to the browser's request for the page, if it makes one.
        let response = LockedValue<TransportResponse?>(nil)
        /// Called while the browser starts; it then opens the page. If nil, the browser opens nothing.
        var starting: (@Sendable () throws -> Void)?

        init() { (shown, pages) = AsyncStream.makeStream() }

        private var browser: Browser {
            Browser { url in
                if let starting {
                    try starting()
                    let page = try SecureURL(url)
                    let request = HTTPRequest(method: .get, scheme: "http", authority: page.authority, path: page.path)
                    let found = try await CurlTransport(.init(proxy: .none)).send(TransportRequest(request))
                    response.withLock { $0 = found }
                    // The browser is refused: the flow ends by itself.
                    if found.status == .forbidden { return }
                }
                pages.yield(url)
            }
        }

        /// Returns the pages and the error.
        func run(
            _ page: Page, at url: String, _ world: World, _ environment: Environment
        ) async throws -> (pages: [String], error: AuthError?) {
            let running = Task {
                defer { pages.finish() }
                return try await error(page, at: url, world, environment)
            }
            var found: [String] = []
            for await page in shown {
                found.append(page)
                running.cancel()
            }
            do { return (found, try await running.value) } catch is CancellationError { return (found, nil) }
        }

        private func error(
            _ page: Page, at url: String, _ world: World, _ environment: Environment
        ) async throws -> AuthError? {
            let issuer = try Issuer(world.provider.issuer)
            do {
                switch page {
                case .authorization:
                    world.provider.fault(
                        .editDocument { $0["authorization_endpoint"] = .string(url) }, at: .openIDConfiguration)
                    var signIn = SignIn(issuer: issuer, clientID: "demo", appName: "Test", environment: environment)
                    signIn.browser = browser
                    signIn.observe = { event in
                        // The flow with a browser that opens the page goes on.
                        if case .authorization(let url) = event, starting == nil { pages.yield(url) }
                    }
                    _ = try await signIn.run(store: MemoryTokenStore())
                case .endSession:
                    world.provider.fault(
                        .editDocument { $0["end_session_endpoint"] = .string(url) }, at: .openIDConfiguration)
                    let state = try await world.signIn()
                    var signOut = SignOut(appName: "Test")
                    signOut.browser = browser
                    let session = try await AuthState(
                        record: await state.record, store: MemoryTokenStore(), environment: environment)
                    return try await signOut.run(session).endSessionError
                case .device, .deviceWithCode:
                    let name = page == .device ? "verification_uri" : "verification_uri_complete"
                    world.provider.fault(.editDocument { $0[name] = .string(url) }, at: .deviceAuthorization)
                    var signIn = DeviceSignIn(issuer: issuer, clientID: "demo", environment: environment)
                    signIn.observe = { event in
                        if case .code(let code) = event { pages.yield(code.verificationURI.string) }
                    }
                    _ = try await signIn.run(store: MemoryTokenStore())
                }
            } catch let error as AuthError { return error }
            return nil
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
                let (pages, error) = try await Flow().run(
                    page, at: "http://\(authority)/page", world, world.environment)
                #expect(error?.code == .transport && error?.outcome == .notSent && error?.isTemporary == false)
                for word in [authority, "number 1999", "Expected a server of this program’s user"] {
                    #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
                }
                #expect(pages == [])
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
            let (pages, error) = try await Flow().run(page, at: "http://\(server.authority)/page", world, environment)
            #expect(!pages.isEmpty && error == nil)
        }
    }

    /// Programs of other users have such sockets all the time.
    @Test(arguments: [false, true]) func `another user's socket at another port is no server of the page`(
        isConnected: Bool
    ) async throws {
        let page = try RawServer { try $0.readRequest() }
        let other = try RawServer { try $0.readRequest() }
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), UInt32(0x7F00_0001).bigEndian)
        func with(port: Int, _ call: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
            address.sin_port = in_port_t(port).bigEndian
            let size = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, size) }
            }
        }
        #expect(with(port: 0, bind) == 0)
        if isConnected { #expect(with(port: Int(other.port), connect) == 0) }
        #expect(fchown(descriptor, 1999, 1999) == 0)
        let environment = Environment(transport: CurlTransport(.init(proxy: .none)))
        #expect(try environment.checkServer(ofPage: SecureURL("http://127.0.0.1:\(page.port)/"), .authorization))
    }

    /// A browser can take seconds to start. Meanwhile, another user can take a port at which no server listens.
    @Test(arguments: [Page.authorization, .endSession], ForeignServer.Address.allCases)
    func `a page of a server that another user starts before the browser opens it is not sent on`(
        page: Page, address: ForeignServer.Address
    ) async throws {
        try await World.run { world in
            // Once it is closed, the kernel could give a port of its own choice to another test.
            var port: UInt16 = 0
            let own = shims_listen_loopback(AF_INET, UInt16(freePort()), 1, &port)
            let server = LockedValue<ForeignServer?>(nil)
            var flow = Flow()
            flow.starting = { [port] in
                close(own)
                try server.withLock { $0 = try ForeignServer(as: 1999, at: address, port: Int(port)) }
            }
            let (pages, error) = try await flow.run(
                page, at: "http://localhost:\(port)/page", world, world.environment)
            #expect(pages == [])
            #expect(
                error?.code == .transport && error?.message.contains("number 1999") == true,
                "\(String(describing: error))")
            let response = try #require(flow.response.withLock { $0 })
            #expect(response.status == .forbidden && response.headerFields[.location] == nil)
            #expect(String(decoding: response.body, as: UTF8.self) == "\(error?.message ?? "")\n")
        }
    }

    /// A browser tries again by itself, until another user has started a server there.
    @Test(arguments: Page.allCases, ["127.0.0.1", "[::1]", "localhost"])
    func `no page is opened or shown where no server listens`(page: Page, host: String) async throws {
        try await World.run { world in
            let authority = "\(host):\(freePort())"
            let (pages, error) = try await Flow().run(page, at: "http://\(authority)/page", world, world.environment)
            #expect(error?.code == .transport && error?.outcome == .notSent && error?.isTemporary == true)
            #expect(error?.message.contains("no server listens at \(authority)") == true, "\(error?.message ?? "")")
            #expect(pages == [])
        }
    }

    @Test(arguments: [Page.authorization, .endSession])
    func `a page whose server ends before the browser opens it is not sent on`(page: Page) async throws {
        try await World.run { world in
            let server = try RawServer { _ in }
            var flow = Flow()
            flow.starting = { server.stop() }
            let url = "http://127.0.0.1:\(server.port)/page"
            let (pages, error) = try await flow.run(page, at: url, world, world.environment)
            #expect(error?.message.contains("no server listens at 127.0.0.1:\(server.port)") == true)
            let response = try #require(flow.response.withLock { $0 })
            #expect(pages == [] && response.status == .forbidden && response.headerFields[.location] == nil)
        }
    }

    /// Otherwise, another user could start the other one and receive it.
    @Test(arguments: [("127.0.0.1", true), ("localhost", false)])
    func `the ID token goes only to a server that listens at each address of its name`(
        host: String, hasHint: Bool
    ) async throws {
        try await World.run { world in
            var flow = Flow()
            flow.starting = {}
            let url = "http://\(host):\(world.provider.port)/end-session"
            _ = try await flow.run(.endSession, at: url, world, world.environment)
            let location = flow.response.withLock { $0 }?.headerFields[.location]
            #expect(location?.hasPrefix(url + "?client_id=") == true, "\(location ?? "none")")
            #expect(location?.contains("id_token_hint=") == hasHint)
        }
    }
}
