internal import JOSE

extension SevenPass {
    /// The clients and users of 7Pass, and the lifetimes.
    package struct Configuration: Sendable {
        package var clients = [
            RegisteredClient.sevenPassApp, .sevenPassLegacyApp, .sevenPassCredentials,
        ]
        package var users = [User.sevenPassAlice]
        /// The lifetime in seconds: two hours. Refresh tokens are valid for 90 days from their last use.
        package var accessTokenLifetime = 7200
        /// Whether a refresh issues a new refresh token. If not, it extends the old one, and the response has none.
        package var rotatesRefreshTokens = false
        /// The app that 7Pass has at Facebook.
        package var facebookAppID = "734789116545825"
        /// The access token of the first user at the double's Facebook.
        package var facebookAccessToken = "facebook-access-token-of-alice"
        package var options = DoubleOptions()

        package init() {}

        /// Registers the developer's own clients, before the double's.
        ///
        /// - Parameter redirectURIs: Their only redirect URIs, or the double's if there are none. Without a client, they
        ///   are added to the double's clients.
        package mutating func register(_ own: [RegisteredClient], redirectURIs: [String]) {
            let uris = redirectURIs.map(RedirectURI.exact)
            for index in clients.indices where own.isEmpty && !clients[index].redirectURIs.isEmpty {
                clients[index].redirectURIs += uris
                clients[index].postLogoutRedirectURIs += uris
            }
            let added = own.map { client in
                var client = client
                client.redirectURIs = uris.isEmpty ? RegisteredClient.sevenPassRedirectURIs : uris
                client.postLogoutRedirectURIs = client.redirectURIs
                if client.secret != nil { client.grantTypes.insert(SocialGrant.type) }
                return client
            }
            clients = added + clients.filter { client in !added.contains { $0.id == client.id } }
        }

        /// Replaces the users, unless there are none. Users of 7Pass sign in with their email address.
        package mutating func register(_ own: [User]) {
            guard !own.isEmpty else { return }
            users = own.map { user in
                var user = user
                if user.name.contains("@") { user.claims["email"] = .string(user.name) }
                return user
            }
        }
    }
}

extension RegisteredClient {
    /// The redirect URIs, for sign-ins and, registered separately, for sign-outs. On loopback, any port (RFC 8252 §7.3).
    fileprivate static let sevenPassRedirectURIs: [RedirectURI] = [
        "oauthtest://oauth-callback", "de.7pass.example:/cb/authz", "http://127.0.0.1/callback",
    ]

    /// A newer registration: a public client.
    package static var sevenPassApp: RegisteredClient {
        RegisteredClient(
            id: "seven-pass-app", name: "7Pass sample", redirectURIs: sevenPassRedirectURIs,
            postLogoutRedirectURIs: sevenPassRedirectURIs)
    }

    /// An older registration, with a secret, that may use the grants of the older SDK.
    package static var sevenPassLegacyApp: RegisteredClient {
        RegisteredClient(
            id: "seven-pass-legacy", secret: "legacy-secret", name: "7Pass SDK Sample",
            redirectURIs: sevenPassRedirectURIs,
            postLogoutRedirectURIs: sevenPassRedirectURIs,
            grantTypes: ["authorization_code", "refresh_token", "password", SocialGrant.type])
    }

    /// A client for checkMail, checkPassword and registration. Its tokens are valid for 15 minutes, and there is no
    /// refresh token.
    package static var sevenPassCredentials: RegisteredClient {
        var client = RegisteredClient(
            id: "seven-pass-credentials", secret: "credentials-secret", name: "7Pass Credentials",
            grantTypes: ["client_credentials"])
        client.accessTokenLifetime = 900
        return client
    }
}

extension User {
    /// A user who signs in with her email address.
    package static var sevenPassAlice: User {
        User(
            name: "alice@example.com", password: "looking-glass", subject: "7p-248289761001",
            claims: [
                "name": "Alice Liddell", "given_name": "Alice", "family_name": "Liddell",
                "email": "alice@example.com", "email_verified": true, "locale": "en-GB", "birthdate": "1852-05-04",
            ])
    }
}
