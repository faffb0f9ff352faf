import Foundation
import Testing

/// A real OpenID provider that runs for one test.
struct Provider: Sendable {
    /// The report of the set-up script.
    struct Profile: Decodable {
        let issuer: String
        let user: String
        let password: String
        /// Ports of the redirect URIs `http://127.0.0.1:PORT/callback` that both clients have registered.
        let redirectPorts: [Int]
        /// The secret of each client; none for a public one.
        let clients: [String: String?]

        enum CodingKeys: String, CodingKey {
            case issuer, user, password, clients
            case redirectPorts = "redirect_ports"
        }
    }

    let profile: Profile

    /// The provider of the test that is running.
    @TaskLocal static var current: Provider?

    static func here() throws -> Provider { try #require(current) }

    func secret(of client: String) throws -> String? { try #require(profile.clients[client]) }
}

/// Starts a provider before each test of a suite and ends it afterwards. Where it cannot start, the test fails and says why.
struct RunningProvider: SuiteTrait, TestTrait, TestScoping {
    let script: String
    let options: [String]
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let helper = try HelperProcess(script: script, options)
        try await helper.beside {
            let provider = Provider(profile: try await helper.report())
            try await Provider.$current.withValue(provider, operation: body)
        }
    }
}

extension Trait where Self == RunningProvider {
    /// Runs each test with the provider that a script of `Setup` starts.
    static func provider(_ script: String, _ options: String...) -> Self {
        RunningProvider(script: script, options: options)
    }
}
