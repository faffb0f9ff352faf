internal import FoundationEssentials
internal import HTTPTypes
package import JOSE

/// The demo of oPRO, a Rails OAuth provider with a dialect of its own: no `grant_type`, errors as sentences, tokens
/// that never expire, one grant per user, and `Authorization: Token token="…"`.
package final class OPro: VendorDouble {
    package struct Configuration: Sendable {
        /// The apps that are registered at the start. The first one is in ``demo``.
        package var clients = [(id: "opro-demo", secret: "opro-demo-secret")]
        /// The users at the start.
        var users = [OProUser.ruby]
        /// The lifetime in seconds; nil for tokens that never expire. oPRO's own demo has 10,000 years, about 3.2e11.
        package var tokenLifetime: Int?
        /// The `expires_in` of tokens that never expire: false, as from a real server, or null.
        package var endlessLifetime: JSON = false
        /// Whether token responses have a `token_type`. Servers before version 0.5.0 send none.
        package var hasTokenType = true
        /// Whether a token may delete its user. oPRO's own demo excludes that action from OAuth.
        package var deletesUsers = true
        package var options = DoubleOptions()

        package init() {}

        /// Replaces the users, unless there are none. A name that is no email address gets one at example.com.
        package mutating func register(_ own: [User]) {
            guard !own.isEmpty else { return }
            users = own.enumerated().map { index, user in
                let email = user.name.contains("@") ? user.name : user.name + "@example.com"
                return OProUser(id: index + 1, username: user.name, email: email, password: user.password)
            }
        }
    }

    package let clock: MovableClock
    let server: DoubleServer
    let records: OProRecords
    let configuration: Configuration
    private let demoCode: String

    package static func start(_ configuration: Configuration = .init()) async throws -> OPro {
        let clock = MovableClock(configuration.options.clock)
        let records = OProRecords(
            users: configuration.users, clients: configuration.clients, lifetime: configuration.tokenLifetime,
            clock: clock)
        let authorization = OProAuthorizationEndpoint(records: records)
        let pages = OProPages(records: records)
        let token = OProTokenEndpoint(configuration: configuration, records: records)
        let users = OProUserEndpoints(deletesUsers: configuration.deletesUsers, records: records)
        let server = try await DoubleServer.start(configuration.options, clock, locations: locations) {
            request, endpoint in
            switch endpoint {
            case .authorization: try authorization.respond(to: request)
            case .token: try token.respond(to: request)
            case .me: users.me(request)
            case .randomUser: try users.random(request)
            case .showMeTheMoney: users.showMeTheMoney(request)
            case .signUp: try pages.signUp(request)
            case .clientApps: try pages.clientApps(request)
            default: .noRoute
            }
        }
        return OPro(configuration, clock, server, records, demoCode: try records.makeCodeOfDemo())
    }

    private static let locations: [String: Endpoint] = [
        "/oauth/new": .authorization, "/oauth/token.json": .token, "/users/me.json": .me, "/users/me": .me,
        "/users/random.json": .randomUser, "/users/sign_up": .signUp, "/users": .signUp,
        "/oauth_client_apps/new": .clientApps, "/oauth_client_apps": .clientApps,
        "/oauth_tests/show_me_the_money": .showMeTheMoney, "/oauth_tests/show_me_the_money.json": .showMeTheMoney,
    ]

    private init(
        _ configuration: Configuration, _ clock: MovableClock, _ server: DoubleServer, _ records: OProRecords,
        demoCode: String
    ) {
        (self.configuration, self.clock, self.server, self.records) = (configuration, clock, server, records)
        self.demoCode = demoCode
    }

    package var baseURL: String { server.origin }
    package var traffic: Traffic { server.traffic }

    package func stop() async { await server.stop() }

    package var demo: JSON {
        let (client, user) = (configuration.clients.first, configuration.users.first)
        func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
        return [
            "base_url": .string(baseURL), "client_id": text(client?.id), "client_secret": text(client?.secret),
            "username": text(user?.username), "email": text(user?.email), "password": text(user?.password),
            "code": .string(demoCode),
        ]
    }
}

extension Endpoint {
    /// The endpoint `/users/random.json`.
    package static let randomUser = Endpoint(rawValue: "randomUser")
    /// The endpoint `/oauth_tests/show_me_the_money`.
    package static let showMeTheMoney = Endpoint(rawValue: "showMeTheMoney")
    /// The page `/users/sign_up`, and its form's target `/users`.
    static let signUp = Endpoint(rawValue: "signUp")
    /// The page `/oauth_client_apps/new`, and its form's target `/oauth_client_apps`.
    static let clientApps = Endpoint(rawValue: "clientApps")
}

extension Reply {
    /// Rails' response to a path or a method that it does not know.
    static let noRoute = Reply.json(["status": "404", "error": "Not Found"], .notFound)
}

extension OPro {
    /// Returns the code of the demo user's consent in the browser. It is valid until the user's next token request.
    package func makeCode() throws -> String { try records.makeCodeOfDemo() }

    /// Invalidates every access token. Refresh tokens stay valid.
    package func killAccessTokens() { records.killAccessTokens() }
}
