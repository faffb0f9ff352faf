internal import JOSE

/// The rules for clients that register themselves (RFC 7591, RFC 7592).
package struct DynamicRegistration: Sendable {
    /// The token that a client needs to register; nil if it needs none.
    package var initialAccessToken: String?
    /// The accepted issuers of software statements (RFC 7591 §2.3).
    package var statementIssuers: [TrustedIssuer] = []
    /// Whether a client needs a software statement to register.
    package var requiresSoftwareStatement = false
    /// Whether each response has a new registration access token (RFC 7592 §3).
    package var rotatesAccessTokens = true
    /// The lifetime of a client secret in seconds; nil if it does not expire. After it has expired, reading or changing
    /// the registration creates a new one (RFC 7592 §2.1, §2.2).
    package var secretLifetime: Int?

    package init(initialAccessToken: String? = nil) { self.initialAccessToken = initialAccessToken }

    /// Adds the metadata of RFC 8414 §2.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        guard context.configuration.registration != nil else { return }
        document["registration_endpoint"] = .string(context.issuer.url(.clientRegistration))
    }
}
