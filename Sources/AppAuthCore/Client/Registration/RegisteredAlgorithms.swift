/// By which algorithms what a provider says may be signed: by the one that the client registered for it, if it registered
/// one (OpenID Connect Core §3.1.3.7 step 7), otherwise by those that the provider lists (RFC 8725 §3.1).
extension Client {
    /// ID tokens and logout tokens (Back-Channel Logout §2.6 step 2); RS256 where neither says anything.
    var idTokenAlgorithms: [String] { registered("id_token_signed_response_alg") ?? provider.idTokenSigningAlgorithms }

    /// Userinfo (OpenID Connect Core §5.3.2).
    var userInfoAlgorithms: [String] {
        registered("userinfo_signed_response_alg") ?? provider.userInfoSigningAlgorithms
            ?? provider.idTokenSigningAlgorithms
    }

    /// Authorization responses (JARM §3, §4).
    var authorizationResponseAlgorithms: [String] {
        registered("authorization_signed_response_alg") ?? provider.authorizationSigningAlgorithms
            ?? provider.idTokenSigningAlgorithms
    }

    /// Answers to introspection (RFC 9701 §6, §7).
    var introspectionAlgorithms: [String] {
        registered("introspection_signed_response_alg")
            ?? provider.document["introspection_signing_alg_values_supported"]?.strings
            ?? provider.idTokenSigningAlgorithms
    }

    private func registered(_ member: String) -> [String]? { registration?.metadata[member]?.string.map { [$0] } }
}
