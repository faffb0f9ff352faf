internal import FoundationEssentials
package import JOSE

/// 7Pass: the local provider with the accounts API, the sign-in through Facebook and the grants of the older SDK.
///
/// Its issuer, its API, its pages and its Facebook are at origins of their own, and their cookies are separate.
package final class SevenPass: VendorDouble {
    /// The underlying provider, for tests that mint sessions, edit tokens and rotate keys.
    package let provider: LocalProvider
    package let clock: MovableClock
    let facebook: Facebook
    private let configuration: Configuration

    package static func start(_ configuration: Configuration = .init()) async throws -> SevenPass {
        let options = configuration.options
        let clock = MovableClock(options.clock)
        let facebook = Facebook(appID: configuration.facebookAppID, accessToken: configuration.facebookAccessToken)
        var setup = LocalProvider.Configuration(clients: configuration.clients, users: configuration.users)
        setup.accessTokenLifetime = configuration.accessTokenLifetime
        setup.rotatesRefreshTokens = configuration.rotatesRefreshTokens
        (setup.keepsLog, setup.observer) = (options.keepsLog, options.observer)
        setup.clock = { clock.now }
        setup.addition = SevenPassAddition(facebook: facebook)
        let provider = try await LocalProvider.start(setup, host: options.host, port: options.port)
        return SevenPass(provider, clock, facebook, configuration)
    }

    private init(
        _ provider: LocalProvider, _ clock: MovableClock, _ facebook: Facebook, _ configuration: Configuration
    ) {
        (self.provider, self.clock, self.facebook, self.configuration) = (provider, clock, facebook, configuration)
    }

    package func stop() async { await provider.stop() }

    package var issuer: String { provider.issuer }
    package var baseURL: String { provider.issuer }
    package var traffic: Traffic { provider.traffic }
    /// The base of the accounts API, with a slash at its end. Its paths exist only here, not below the issuer.
    package var apiBase: String { origin(of: .api) + "/api/accounts/" }
    /// The base of the calls without a user, with a slash at its end.
    package var clientAPIBase: String { origin(of: .api) + "/api/client/" }
    package var externalCallback: String { origin(of: .interaction) + "/externals/callback" }
    /// The origin of the double's Facebook.
    package var facebookURL: String { origin(of: .external) }

    /// Returns the scheme, host and port of a part.
    package func origin(of role: Role) -> String { provider.context.origin(of: role) }

    /// Returns the Facebook app's response to an `fbauth2` URL.
    ///
    /// - Returns: A URL of the scheme `fb<APP_ID>` with code and state in the fragment.
    /// - Throws: ``ProviderError`` if Facebook would not know the app or the redirect.
    package func facebookAppResponse(to url: String) throws -> String {
        guard url.hasPrefix("fbauth2://authorize?"),
            let query = FormCoding.decode(String(url.dropFirst("fbauth2://authorize?".count)))
        else { throw ProviderError("expected a URL of the scheme fbauth2") }
        return try facebook.respond(to: query, .native, clock.now)
    }

    package var demo: JSON {
        let clients = configuration.clients.map { client in
            let secret: JSON = client.secret.map(JSON.string) ?? .null
            return JSON.object(["client_id": .string(client.id), "client_secret": secret])
        }
        let person = configuration.users.first
        return [
            "base_url": .string(baseURL), "issuer": .string(issuer), "api_base": .string(apiBase),
            "client_api_base": .string(clientAPIBase),
            "client_id": configuration.clients.first.map { .string($0.id) } ?? .null,
            "external_callback": .string(externalCallback), "facebook_url": .string(facebookURL),
            "facebook_app_id": .string(facebook.appID),
            "facebook_access_token": .string(configuration.facebookAccessToken), "clients": .array(clients),
            "username": person.map { .string($0.name) } ?? .null,
            "password": person.map { .string($0.password) } ?? .null,
        ]
    }
}
