internal import FoundationEssentials
package import JOSE

/// A server for apps of FFSAuthenticator: a token endpoint with the password grant, whose client authenticates by HTTP
/// Basic, and an API that takes bearer tokens. It is the local provider.
package final class FFSAuthenticator: VendorDouble {
    package struct Configuration: Sendable {
        package var clientID = "ffs-demo"
        /// Contains characters that the form encoding of RFC 6749 §2.3.1 changes.
        package var clientSecret = "ffs-demo secret: /+= and thirty-two"
        /// The users who can sign in.
        package var users = [User.alice]
        /// The lifetime in seconds.
        package var tokenLifetime = 3600
        package var options = DoubleOptions()

        package init() {}
    }

    package let clock: MovableClock
    private let provider: LocalProvider
    private let configuration: Configuration

    package static func start(_ configuration: Configuration = .init()) async throws -> FFSAuthenticator {
        let options = configuration.options
        let clock = MovableClock(options.clock)
        let client = RegisteredClient(
            id: configuration.clientID, secret: configuration.clientSecret,
            grantTypes: ["password", "refresh_token"], authentication: [.basic])
        var setup = LocalProvider.Configuration(clients: [client], users: configuration.users)
        setup.accessTokenLifetime = configuration.tokenLifetime
        // The password request has no scope, and its response has a refresh token.
        setup.givesRefreshTokensUnasked = true
        (setup.keepsLog, setup.observer, setup.clock) = (options.keepsLog, options.observer, { clock.now })
        let provider = try await LocalProvider.start(setup, host: options.host, port: options.port)
        return FFSAuthenticator(provider, clock, configuration)
    }

    private init(_ provider: LocalProvider, _ clock: MovableClock, _ configuration: Configuration) {
        (self.provider, self.clock, self.configuration) = (provider, clock, configuration)
    }

    package var baseURL: String { provider.issuer }
    package var traffic: Traffic { provider.traffic }

    package func stop() async { await provider.stop() }

    package var demo: JSON {
        [
            "base_url": .string(baseURL), "client_id": .string(configuration.clientID),
            "client_secret": .string(configuration.clientSecret),
            "username": (configuration.users.first?.name).map(JSON.string) ?? .null,
            "password": (configuration.users.first?.password).map(JSON.string) ?? .null,
        ]
    }
}
