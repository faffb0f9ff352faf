/// How the provider registers clients that ask for it (RFC 7591, RFC 7592).
package struct DynamicRegistration: Sendable {
    /// What lets a client register; nil lets everybody.
    package var initialAccessToken: String?
    /// Who may say what software is (RFC 7591 §2.3).
    package var statementIssuers: [TrustedIssuer] = []
    /// Whether nobody registers without a software statement.
    package var requiresSoftwareStatement = false
    /// A new registration access token with each response (RFC 7592 §3).
    package var rotatesAccessTokens = true
    /// How long a client secret is good, in seconds; nil for ever. Once it is over, reading or changing the registration
    /// brings a new one (RFC 7592 §2.1, §2.2).
    package var secretLifetime: Int?

    package init(initialAccessToken: String? = nil) { self.initialAccessToken = initialAccessToken }
}

extension Endpoint {
    /// RFC 7591 §3.
    package static let clientRegistration = Endpoint(rawValue: "clientRegistration")
    /// A place for each client (RFC 7592 §2).
    package static let clientConfiguration = Endpoint(rawValue: "clientConfiguration")
}
