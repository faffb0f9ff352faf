public import AppAuth

/// An app as 7Pass knows it: whom to ask, and what for.
///
/// ```swift
/// let configuration = SevenPassConfiguration.qa(clientID: "my-client")
/// let state = try await SignIn(configuration, appName: "My App").resume(store: FileTokenStore(path: path))
/// let me = try await SevenPassClient(state, configuration).get("me")
/// let report = try await SignOut(appName: "My App").run(state)
/// ```
/// ``SignOut`` revokes both tokens, removes the session and ends the one in the browser. What the older SDK called its
/// token cache is a ``TokenStore``: it loads, saves and deletes by itself, in a file or in the desktop's keyring.
public struct SevenPassConfiguration: Sendable, Hashable {
    /// The issuer, from which everything else is discovered.
    public var issuer: String
    /// The client id.
    public var clientID: String
    /// The secret of an older registration; newer ones are public clients, and have none.
    public var clientSecret: Secret?
    /// Where the accounts API begins; nil means at the issuer.
    public var apiBase: String?
    /// What is asked for. 7Pass gives a refresh token for `offline_access`, and only with `prompt=consent`, which the
    /// sign-in asks for by itself.
    public var scope: [Scope] = [.openID, .profile, .email, .offlineAccess]
    /// What else travels with the authorization request, for example `utm_campaign`.
    public var parameters: [AuthorizationRequest.Options.Parameter] = []
    /// The app that 7Pass has at Facebook; nil for an app that does not take part in a sign-in there.
    public var facebook: Facebook?

    /// What takes part in a sign-in through Facebook.
    public struct Facebook: Sendable, Hashable {
        /// The id of 7Pass's app at Facebook: digits. Facebook answers to a URL of the scheme `fb<appID>`.
        public let appID: String
        /// Where 7Pass takes that response.
        public let externalCallback: String

        /// Puts it together; ``FacebookDelivery`` checks it.
        public init(appID: String, externalCallback: String) {
            (self.appID, self.externalCallback) = (appID, externalCallback)
        }

        /// That of the QA system.
        public static let qa = Facebook(
            appID: "734789116545825",
            externalCallback: "https://interaction.qa.7pass.ctf.prosiebensat1.com/externals/callback")
    }

    /// The issuer of the QA system.
    public static let qaIssuer = "https://op.qa.7pass.ctf.prosiebensat1.com"
    /// The issuer of the QA system that older apps know.
    public static let formerQAIssuer = "https://sso.qa.7pass.ctf.prosiebensat1.com"
    /// Where the accounts API of the QA system begins.
    public static let qaAPIBase = "https://sso.qa.7pass.ctf.prosiebensat1.com/api/accounts/"

    /// Any system of 7Pass.
    public init(issuer: String, clientID: String, clientSecret: Secret? = nil, apiBase: String? = nil) {
        (self.issuer, self.clientID, self.clientSecret, self.apiBase) = (issuer, clientID, clientSecret, apiBase)
    }

    /// The QA system, with its accounts API and its app at Facebook.
    public static func qa(clientID: String, clientSecret: Secret? = nil) -> SevenPassConfiguration {
        var configuration = SevenPassConfiguration(
            issuer: qaIssuer, clientID: clientID, clientSecret: clientSecret, apiBase: qaAPIBase)
        configuration.facebook = .qa
        return configuration
    }

    /// The production system. Its issuer is none of QA's; 7Pass names it, and the API base, at registration.
    public static func production(
        issuer: String, clientID: String, clientSecret: Secret? = nil, apiBase: String? = nil
    ) -> SevenPassConfiguration {
        SevenPassConfiguration(issuer: issuer, clientID: clientID, clientSecret: clientSecret, apiBase: apiBase)
    }

    /// The client, with the provider's metadata: one request.
    ///
    /// - Throws: As ``Discovery/metadata(for:)-(String)``.
    func client(_ environment: Environment) async throws -> Client {
        let provider = try await Discovery(environment: environment).metadata(for: issuer)
        let authentication = clientSecret.map { ClientAuthentication.secret($0, for: provider) } ?? .none
        return Client(id: clientID, authentication: authentication, provider: provider)
    }
}
