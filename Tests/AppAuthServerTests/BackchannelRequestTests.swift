import AppAuthServer
import AppAuthProtocol
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The request and its response (CIBA Core §7).
struct BackchannelRequestTests {
    private static func client(_ more: JSON.Object = .init()) throws -> Client {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.backchannelAuthentication: "https://op.example/bc"], more: more)
        return Client(id: "till", authentication: .clientSecretBasic(Secret("s")), provider: provider)
    }

    @Test func `a request that cannot be is refused before anything is sent`() throws {
        let client = try Self.client(["backchannel_token_delivery_modes_supported": ["poll", "ping"]])
        typealias Options = BackchannelAuthenticationRequest.Options
        func code(
            _ hint: BackchannelAuthenticationRequest.Hint = .login("jane"), scope: [Scope] = [.openID],
            _ options: Options = .init()
        ) -> AuthError.Code? {
            refusal {
                try BackchannelAuthenticationRequest(client: client, hint: hint, scope: scope, options: options)
            }?
            .code
        }
        #expect(code() == nil)
        #expect(code(.login("")) == .invalidConfiguration && code(.loginToken(Secret(""))) == .invalidConfiguration)
        #expect(code(scope: [.profile]) == .invalidConfiguration)
        #expect(code(scope: [.openID, "a b"]) == .invalidConfiguration)
        var options = Options()
        options.requestedExpiry = 0
        #expect(code(.login("jane"), options) == .invalidConfiguration)
        options.requestedExpiry = 1
        options.additionalParameters = [.init("audience", "a")]
        #expect(code(.login("jane"), options) == nil)
        options.additionalParameters.append(.init("audience", "b"))
        #expect(code(.login("jane"), options) == .invalidConfiguration)
        for name in BackchannelAuthenticationRequest.reservedParameters {
            options.additionalParameters = [.init(name, "x")]
            #expect(code(.login("jane"), options) == .invalidConfiguration, "\(name)")
        }
    }

    @Test func `a provider without the endpoint, or without poll mode, is named`() throws {
        let pushing = try Self.client(["backchannel_token_delivery_modes_supported": ["push"]])
        let error = refusal { try BackchannelAuthenticationRequest(client: pushing, hint: .login("jane")) }
        #expect(error?.code == .invalidMetadata && error?.message.contains("found 'push'") == true)
        let without = Client(id: "a", provider: try ProviderMetadata(issuer: "https://op.example", endpoints: [:]))
        #expect(
            refusal { try BackchannelAuthenticationRequest(client: without, hint: .login("jane")) }?.code
                == .invalidMetadata)
    }

    @Test(
        arguments: [
            ("auth_req_id", nil), ("auth_req_id", 1), ("auth_req_id", ""), ("auth_req_id", "a b"),
            ("auth_req_id", "a+b"),
            ("expires_in", nil), ("expires_in", 0), ("expires_in", "soon"),
        ] as [(String, JSON?)])
    func `a response that is wrong in one respect is refused`(name: String, value: JSON?) async throws {
        try await World.run { world in
            let fixture = BackchannelFixture(world)
            world.provider.fault(.editDocument { $0[name] = value }, at: .backchannelAuthentication)
            let error = await authError { try await fixture.begin() }
            #expect(error?.code == .invalidResponse && error?.message.contains("'\(name)'") == true)
        }
    }

    @Test(arguments: [(nil, 5), (0, 1), (30, 30), (-1, 5), ("often", 5)] as [(JSON?, Int)])
    func `the interval is five seconds by default`(interval: JSON?, seconds: Int) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["interval"] = interval }, at: .backchannelAuthentication)
            let found = try await BackchannelFixture(world).begin().interval
            #expect(found == .seconds(seconds))
        }
    }

    @Test func `a refusal is the server's own error, without the user code`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users[0].backchannelCode = "open-sesame"
        try await World.run(configuration) { world in
            let fixture = BackchannelFixture(world)
            #expect(await authError { try await fixture.begin(.login("nobody")) }?.code == "unknown_user_id")
            #expect(await authError { try await fixture.begin() }?.code == "missing_user_code")
            var options = BackchannelAuthenticationRequest.Options()
            options.userCode = Secret("open-rye-bread")
            let error = try #require(await authError { try await fixture.begin(.login("alice"), options) })
            #expect(error.code == "invalid_user_code" && !"\(error)".contains("open-rye-bread"))
            options.userCode = Secret("open-sesame")
            let authentication = try await fixture.begin(.login("alice"), options)
            var text = "\(authentication)"
            dump(authentication, to: &text)
            #expect(!text.contains(authentication.authReqID.reveal()) && !text.contains("open-sesame"))
        }
    }
}
