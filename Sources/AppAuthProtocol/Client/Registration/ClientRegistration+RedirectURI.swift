internal import JOSE

extension ClientRegistration {
    /// Throws if the provider has registered other redirect URIs, but not this one, which the app requested. A provider
    /// must not choose where the app listens. Of a loopback URI, the port may differ (RFC 8252 §7.3).
    ///
    /// ``AuthorizationRequest`` checks its redirect URI this way. Call this after the registration to learn of it sooner.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` that names both.
    public func check(redirectURI uri: String) throws {
        // RFC 7591 §3.2.1: the provider returns all registered metadata. Some servers omit what they have not changed.
        guard let listed = metadata.redirectURIs, !listed.isEmpty, !listed.contains(where: { Self.isSame($0, uri) })
        else { return }
        let found = listed.map { $0.foundText }.joined(separator: ", ")
        throw AuthError(
            .invalidResponse, .registration,
            "the provider registered the redirect URI \(found), not \(uri.foundText), which was requested",
            outcome: .notSent)
    }

    /// Returns the registration with those post-logout redirect URIs that the app requested, as it requested them, and
    /// without others: a provider must not choose where the app listens after a sign-out either.
    func keepingLogoutURIs(of requested: ClientMetadata) -> ClientRegistration {
        guard let listed = metadata.postLogoutRedirectURIs else { return self }
        return changing { metadata in
            metadata.postLogoutRedirectURIs = (requested.postLogoutRedirectURIs ?? []).filter { uri in
                listed.contains { Self.isSame($0, uri) }
            }
        }
    }

    /// Several servers treat `localhost` like the addresses of RFC 8252 §7.3. Its port makes no difference here: the app
    /// has chosen it.
    private static func isSame(_ uri: String, _ other: String) -> Bool {
        guard let url = try? SecureURL(uri), let second = try? SecureURL(other), url.isLoopback else {
            return uri.isExactly(other)
        }
        return url.scheme == second.scheme && url.host == second.host
            && url.pathAndQuery.isExactly(second.pathAndQuery)
    }
}
