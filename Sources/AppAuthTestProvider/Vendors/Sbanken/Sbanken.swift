internal import FoundationEssentials
internal import HTTPTypes
package import JOSE

/// S'banken's authorization server and a part of its API: client credentials, with the client encoded in the bank's own
/// way.
package final class Sbanken: VendorDouble {
    package struct Configuration: Sendable {
        /// Both contain characters that percent-encoding changes, some that it leaves unchanged, and the secret also a
        /// space, which form encoding turns into `+`.
        package var clientID = "demo/app+1=@bank"
        package var clientSecret = "s3cret /+=@&%:ø-_.!~*'()"
        /// The lifetime in seconds.
        package var tokenLifetime = 3600
        package var options = DoubleOptions()

        package init() {}
    }

    package let clock: MovableClock
    let server: DoubleServer
    let tokens: SbankenTokens
    let configuration: Configuration

    package static func start(_ configuration: Configuration = .init()) async throws -> Sbanken {
        let clock = MovableClock(configuration.options.clock)
        let tokens = SbankenTokens(lifetime: configuration.tokenLifetime, clock: clock)
        let token = SbankenTokenEndpoint(configuration: configuration, tokens: tokens)
        let accounts = SbankenAccounts(tokens: tokens)
        let server = try await DoubleServer.start(
            configuration.options, clock,
            locations: ["/identityserver/connect/token": .token, "/exec.bank/api/v1/Accounts": .accounts]
        ) { request, endpoint in
            switch endpoint {
            case .token: try token.respond(to: request)
            case .accounts: accounts.respond(to: request)
            default: Reply(.notFound)
            }
        }
        return Sbanken(configuration, clock, server, tokens)
    }

    private init(
        _ configuration: Configuration, _ clock: MovableClock, _ server: DoubleServer, _ tokens: SbankenTokens
    ) {
        (self.configuration, self.clock, self.server, self.tokens) = (configuration, clock, server, tokens)
    }

    package var baseURL: String { server.origin }
    package var traffic: Traffic { server.traffic }

    package func stop() async { await server.stop() }

    /// Invalidates every access token.
    package func killAccessTokens() { tokens.killAll() }

    package var demo: JSON {
        [
            "base_url": .string(baseURL), "client_id": .string(configuration.clientID),
            "client_secret": .string(configuration.clientSecret),
        ]
    }
}

extension Endpoint {
    /// The endpoint `/exec.bank/api/v1/Accounts`.
    package static let accounts = Endpoint(rawValue: "accounts")
}
