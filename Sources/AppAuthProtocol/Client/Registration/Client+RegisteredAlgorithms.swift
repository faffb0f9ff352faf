internal import JOSE

/// The accepted signature algorithms of a provider's tokens and responses: the one that the client registered (OpenID
/// Connect Core §3.1.3.7 step 7), otherwise those that the provider lists (RFC 8725 §3.1).
///
/// If a token does not come from the provider over TLS, an HMAC is accepted only if the client registered it.
/// Otherwise, as soon as the provider lists HS256, anyone with the client's secret could forge such tokens.
extension Client {
    /// For ID tokens from the token endpoint; RS256 if neither is known.
    var idTokenAlgorithms: [String] { chosenForIDTokens ?? provider.idTokenSigningAlgorithms }

    /// For ID tokens from the browser (Core §3.3.2.12) and logout tokens (Back-Channel Logout §2.6 step 2).
    package var deliveredIDTokenAlgorithms: [String] {
        chosenForIDTokens ?? provider.idTokenSigningAlgorithms.withoutHMAC
    }

    /// For userinfo responses (OpenID Connect Core §5.3.2).
    package var userInfoAlgorithms: [String] {
        registered("userinfo_signed_response_alg") ?? provider.userInfoSigningAlgorithms
            ?? provider.idTokenSigningAlgorithms
    }

    /// For authorization responses (JARM §3, §4).
    var authorizationResponseAlgorithms: [String] {
        registered("authorization_signed_response_alg")
            ?? (provider.authorizationSigningAlgorithms ?? provider.idTokenSigningAlgorithms).withoutHMAC
    }

    /// For introspection responses (RFC 9701 §6, §7).
    package var introspectionAlgorithms: [String] {
        registered("introspection_signed_response_alg")
            ?? provider.document["introspection_signing_alg_values_supported"]?.strings
            ?? provider.idTokenSigningAlgorithms
    }

    private var chosenForIDTokens: [String]? {
        idTokenRules.signedResponseAlgorithm.map { [$0] } ?? registered("id_token_signed_response_alg")
    }

    private func registered(_ member: String) -> [String]? {
        registration?.metadata.members[nonEmpty: member]?.string.map { [$0] }
    }
}

extension [String] {
    fileprivate var withoutHMAC: [String] { filter { MACAlgorithm(rawValue: $0) == nil } }
}
