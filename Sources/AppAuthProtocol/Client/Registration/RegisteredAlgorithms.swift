internal import JOSE

/// By which algorithms what a provider says may be signed: by the one that the client registered for it, if it registered
/// one (OpenID Connect Core §3.1.3.7 step 7), otherwise by those that the provider lists (RFC 8725 §3.1).
///
/// Tokens that do not come from the provider by TLS may be signed by an HMAC only where the client is registered for it.
/// Otherwise anyone with the client's secret could forge them as soon as the provider lists HS256.
extension Client {
    /// ID tokens from the token endpoint; RS256 where neither says anything.
    var idTokenAlgorithms: [String] { chosenForIDTokens ?? provider.idTokenSigningAlgorithms }

    /// ID tokens that the browser brings (Core §3.3.2.12), and logout tokens (Back-Channel Logout §2.6 step 2).
    package var deliveredIDTokenAlgorithms: [String] {
        chosenForIDTokens ?? provider.idTokenSigningAlgorithms.withoutHMAC
    }

    /// Userinfo (OpenID Connect Core §5.3.2).
    package var userInfoAlgorithms: [String] {
        registered("userinfo_signed_response_alg") ?? provider.userInfoSigningAlgorithms
            ?? provider.idTokenSigningAlgorithms
    }

    /// Authorization responses (JARM §3, §4).
    var authorizationResponseAlgorithms: [String] {
        registered("authorization_signed_response_alg")
            ?? (provider.authorizationSigningAlgorithms ?? provider.idTokenSigningAlgorithms).withoutHMAC
    }

    /// Responses to introspection (RFC 9701 §6, §7).
    package var introspectionAlgorithms: [String] {
        registered("introspection_signed_response_alg")
            ?? provider.document["introspection_signing_alg_values_supported"]?.strings
            ?? provider.idTokenSigningAlgorithms
    }

    private var chosenForIDTokens: [String]? {
        idTokenSignedResponseAlgorithm.map { [$0] } ?? registered("id_token_signed_response_alg")
    }

    private func registered(_ member: String) -> [String]? { registration?.metadata[member]?.string.map { [$0] } }
}

extension [String] {
    fileprivate var withoutHMAC: [String] { filter { MACAlgorithm(rawValue: $0) == nil } }
}
