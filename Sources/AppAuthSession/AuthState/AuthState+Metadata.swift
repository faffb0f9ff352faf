internal import AppAuthProtocol
internal import Logging

/// The provider's metadata, which may change during a session of months.
extension AuthState {
    /// Fetches the metadata again: the stored one may be as old as the session.
    ///
    /// - Returns: Whether the metadata has changed; nil if it cannot be fetched now.
    func renewMetadata() async -> Bool? {
        guard let found = await record.client.renewed(in: environment) else { return nil }
        // Another task may have adopted newer metadata meanwhile.
        var client = record.client
        client.provider = client.provider.renewed(by: found.provider)
        guard client.provider != record.client.provider, record.end == nil else { return false }
        environment.logger.info("session: the provider’s metadata has changed")
        record.change(client)
        show()
        return true
    }

    /// Whether an endpoint is not where a request was sent, and the provider's metadata names another place for it.
    ///
    /// - Parameters:
    ///   - url: Where the endpoint was when the request was made.
    ///   - stage: The stage of such requests. The error may be another request's.
    func hasMoved(
        _ endpoint: ProviderMetadata.Endpoint, from url: SecureURL?, since error: AuthError, _ stage: AuthError.Stage
    ) async -> Bool {
        guard let url, error.stage == stage, record.client.mayFindElsewhere(url, since: error) else { return false }
        // Another request may have found out.
        if self.url(of: endpoint) == url { _ = await renewMetadata() }
        return self.url(of: endpoint) != url
    }

    func url(of endpoint: ProviderMetadata.Endpoint) -> SecureURL? { (try? record.client.url(of: endpoint)) ?? nil }
}
