public import AppAuth

/// An app's registration at 7Pass, and what a sign-in requests.
///
/// ```swift
/// let configuration = SevenPassConfiguration.qa(clientID: "my-client")
/// let state = try await SignIn(configuration, appName: "My App").restoreOrSignIn(store: FileTokenStore(path: path))
/// let me = try await SevenPassClient(state, configuration).get("me")
/// let report = try await SignOut(appName: "My App").run(state)
/// ```
/// ``SignOut`` revokes the refresh token and all access tokens, removes the session and ends the one in the browser.
/// The token cache of the older SDK corresponds to a ``TokenStore``, which loads, saves and deletes automatically, in a
/// file or in the desktop's keyring.
public struct SevenPassConfiguration: Sendable, Hashable {
    /// The issuer, from which everything else is discovered.
    public var issuer: Issuer
    /// The client id.
    public var clientID: String
    /// The secret of an older registration. Newer ones are public clients and have none.
    public var clientSecret: Secret?
    /// The base URL of the accounts API; nil means the issuer.
    public var apiBase: String?
    /// The base URL of the calls without a user. If nil, `/api/client/` at the server of the API base: an assumption.
    public var clientAPIBase: String?
    /// The value of `X-Service-Id` in API calls; nil sends none, except that ``SevenPassCredentialsClient`` then sends the
    /// client id, as the older SDK is assumed to do.
    public var serviceID: String?
    /// The requested scope. 7Pass issues a refresh token for `offline_access`, but only with `prompt=consent`, which
    /// the sign-in adds automatically.
    public var scope: [Scope] = [.openID, .profile, .email, .offlineAccess]
    /// Additional parameters of the authorization request, for example `utm_campaign`.
    public var parameters: [AuthorizationRequest.Options.Parameter] = []
    /// The app that 7Pass has at Facebook; nil if the app does not offer sign-in there.
    public var facebook: Facebook?

    /// The parameters of a sign-in through Facebook.
    public struct Facebook: Sendable, Hashable {
        /// The id of 7Pass's app at Facebook, in digits. Facebook responds to a URL of the scheme `fb<appID>`.
        public let appID: String
        /// The URL at which 7Pass accepts that response.
        public let externalCallback: String
        /// Facebook's "URL scheme suffix" of this app; empty if it has none.
        public var schemeSuffix = ""

        /// Creates the parameters. ``FacebookDelivery`` checks them.
        public init(appID: String, externalCallback: String) {
            (self.appID, self.externalCallback) = (appID, externalCallback)
        }

        /// Creates the redirect that Facebook responds to: every URL of the scheme `fb<appID>`, with ``schemeSuffix``.
        ///
        /// - Parameters:
        ///   - appName: The app's name in the desktop entry.
        ///   - arguments: Arguments that tell the started program to call ``PrivateUseRedirect/deliver(_:)``. The URL
        ///     follows them.
        ///   - program: The absolute path of the program, or nil for this one.
        ///   - installation: The way in which the app becomes the handler of the scheme.
        /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration``.
        public func redirect(
            appName: String, arguments: [String], program: String? = nil,
            installation: PrivateUseRedirect.Installation = .whileWaiting
        ) throws -> PrivateUseRedirect {
            try PrivateUseRedirect(
                scheme: "fb" + appID + schemeSuffix, appName: appName, arguments: arguments, program: program,
                installation: installation)
        }

        /// The app of the QA system.
        public static let qa = Facebook(
            appID: "734789116545825",
            externalCallback: "https://interaction.qa.7pass.ctf.prosiebensat1.com/externals/callback")
    }

    /// The issuer of the QA system.
    public static let qaIssuer: Issuer = "https://op.qa.7pass.ctf.prosiebensat1.com"
    /// The issuer of the QA system in older apps.
    public static let formerQAIssuer: Issuer = "https://sso.qa.7pass.ctf.prosiebensat1.com"
    /// The base URL of the QA system's accounts API.
    public static let qaAPIBase = "https://sso.qa.7pass.ctf.prosiebensat1.com/api/accounts/"

    /// Creates a configuration for any system of 7Pass.
    public init(issuer: Issuer, clientID: String, clientSecret: Secret? = nil, apiBase: String? = nil) {
        (self.issuer, self.clientID, self.clientSecret, self.apiBase) = (issuer, clientID, clientSecret, apiBase)
    }

    /// Creates a configuration for the QA system, with its accounts API and its app at Facebook.
    public static func qa(clientID: String, clientSecret: Secret? = nil) -> SevenPassConfiguration {
        var configuration = SevenPassConfiguration(
            issuer: qaIssuer, clientID: clientID, clientSecret: clientSecret, apiBase: qaAPIBase)
        configuration.facebook = .qa
        return configuration
    }

    /// Creates a configuration for the production system. 7Pass provides its issuer, which differs from QA's, and the
    /// API base at registration.
    public static func production(
        issuer: Issuer, clientID: String, clientSecret: Secret? = nil, apiBase: String? = nil
    ) -> SevenPassConfiguration {
        SevenPassConfiguration(issuer: issuer, clientID: clientID, clientSecret: clientSecret, apiBase: apiBase)
    }

    /// The base of the calls without a user.
    func clientBase() throws -> String {
        try clientAPIBase ?? (apiBase.map { try SecureURL($0) } ?? issuer.url).origin + "/api/client/"
    }

    /// Returns the configuration of the client at its issuer.
    func client(_ environment: Environment) -> ClientConfiguration {
        ClientConfiguration(
            issuer: issuer, clientID: clientID, clientSecret: clientSecret, scope: scope, environment: environment)
    }
}
