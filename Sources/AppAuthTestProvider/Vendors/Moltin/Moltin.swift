internal import FoundationEssentials
internal import HTTPTypes
package import JOSE

/// Moltin's first API: OAuth 2.0 with token responses, errors and a response to invalid tokens of its own.
package final class Moltin: VendorDouble {
    package struct Configuration: Sendable {
        package var clientID = "moltin-demo"
        package var clientSecret = "moltin-demo-secret"
        /// The redirect URI that the exchange of an authorization code must repeat.
        package var redirectURI = "http://127.0.0.1/callback"
        /// The lifetime in seconds.
        package var tokenLifetime = 3600
        /// Whether client_credentials has a refresh token too, which RFC 6749 §4.4.3 advises against.
        package var refreshesClientCredentials = false
        /// How an error response has its sentence.
        package var errorForm = ErrorForm.error
        /// The sentence of every refusal of the token endpoint; nil for one that names the reason.
        package var tokenRefusal: String?
        package var options = DoubleOptions()

        package init() {}
    }

    /// The member of an error response that has the sentence.
    package enum ErrorForm: Sendable, CaseIterable {
        case error
        /// `errors`, a string, as in some of Moltin's responses.
        case errors
        /// `errors`, a list of strings.
        case errorList
        /// No sentence.
        case none
    }

    package let clock: MovableClock
    let server: DoubleServer
    let tokens: MoltinTokens
    let configuration: Configuration
    private let demoCode: String

    package static func start(_ configuration: Configuration = .init()) async throws -> Moltin {
        let clock = MovableClock(configuration.options.clock)
        let tokens = MoltinTokens(lifetime: configuration.tokenLifetime, clock: clock)
        let token = MoltinTokenEndpoint(configuration: configuration, tokens: tokens)
        let products = MoltinProducts(tokens: tokens)
        let server = try await DoubleServer.start(
            configuration.options, clock, locations: ["/oauth/access_token": .token, "/v1/products": .products]
        ) { request, endpoint in
            do throws(MoltinFailure) {
                switch endpoint {
                case .token:
                    do throws(MoltinFailure) { return try token.respond(to: request) } catch {
                        throw MoltinFailure(error.status, configuration.tokenRefusal ?? error.sentence)
                    }
                case .products: return try products.respond(to: request)
                default: throw MoltinFailure(.notFound, "There is nothing at this address")
                }
            } catch {
                return error.reply(in: configuration.errorForm)
            }
        }
        return Moltin(configuration, clock, server, tokens, demoCode: try tokens.makeCode())
    }

    private init(
        _ configuration: Configuration, _ clock: MovableClock, _ server: DoubleServer, _ tokens: MoltinTokens,
        demoCode: String
    ) {
        (self.configuration, self.clock, self.server, self.tokens) = (configuration, clock, server, tokens)
        self.demoCode = demoCode
    }

    package var baseURL: String { server.origin }
    package var traffic: Traffic { server.traffic }

    package func stop() async { await server.stop() }

    package var demo: JSON {
        [
            "base_url": .string(baseURL), "client_id": .string(configuration.clientID),
            "client_secret": .string(configuration.clientSecret), "redirect_uri": .string(configuration.redirectURI),
            "code": .string(demoCode),
        ]
    }
}

extension Endpoint {
    /// The endpoint `/v1/products`.
    package static let products = Endpoint(rawValue: "products")
}

extension Moltin {
    /// Returns the code of a user's consent in the browser. It is valid once, for the configured redirect URI.
    package func makeCode() throws -> String { try tokens.makeCode() }

    /// Invalidates every access token. Refresh tokens stay valid.
    package func killAccessTokens() { tokens.killAccessTokens() }
}
