internal import JOSE

extension ClientMetadata {
    /// Returns the client ID metadata document of an app. Its developer publishes it at the URL that is the client ID
    /// (draft-ietf-oauth-client-id-metadata-document). It takes the place of a registration at each provider with
    /// ``ProviderMetadata/supportsClientIDMetadataDocuments``.
    ///
    /// ```swift
    /// let metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "My App")
    /// let document = try metadata.document(at: "https://app.example.org/client.json")
    /// ```
    /// - Parameter clientID: The https URL at which the document will be, with a path. The server responds there with
    ///   the status 200 and the type `application/json`, and does not redirect.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for another URL, for an authentication with a
    ///   secret, and for members that are credentials.
    public func document(at clientID: String) throws -> JSON {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .registration, message)
        }
        // Draft §3: https, with a path, which has no dot segments; without user information and fragment.
        let url = try SecureURL(clientID)
        let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
        guard url.scheme == "https", url.path != "/", !segments.contains("."), !segments.contains("..") else {
            throw refusal(
                "expected an https URL with a path and without dots as segments, found \(url.description.foundText)")
        }
        // Draft §4.1: the client shares no secret with a provider. If no method is named, the default has a secret.
        guard let method = tokenEndpointAuthMethod, !method.hasPrefix("client_secret_") else {
            throw refusal("expected 'token_endpoint_auth_method' without a secret, for example none")
        }
        if let name = members.names.first(where: Self.credentials.contains) {
            throw refusal("a published document has no \(name.foundText). Remove it from the metadata")
        }
        var document = members
        document["client_id"] = .string(clientID)
        return .object(document)
    }
}
