internal import AppAuthProtocol
internal import Logging

/// The provider's metadata, which may change during a session of months.
extension AuthState {
    /// Fetches the metadata again: the stored one may be as old as the session. Metadata that an app has put together stays.
    ///
    /// - Returns: Whether the metadata has changed; nil if it cannot be fetched now.
    func renewMetadata() async -> Bool? {
        let old = record.client.provider
        guard old.isDiscovered else { return false }
        let policy = record.client.idTokenRules.issuer
        let discovery = Discovery(environment: environment)
        guard let found = try? await discovery.metadata(for: old.issuer, at: old.location, policy: policy) else {
            return nil
        }
        // Another task may have adopted newer metadata meanwhile.
        let new = record.client.provider.renewed(by: found)
        guard new != old, record.end == nil else { return false }
        environment.logger.info("session: the provider’s metadata has changed")
        var client = record.client
        client.provider = new
        record.change(client)
        show()
        return true
    }

    /// Whether an endpoint is not where a request was sent, and the provider's metadata names another place for it. Only an error
    /// counts that shows that the request had no effect.
    ///
    /// - Parameters:
    ///   - url: Where the endpoint was when the request was made.
    ///   - stage: The stage of such requests. The error may be another request's.
    func hasMoved(
        _ endpoint: ProviderMetadata.Endpoint, from url: SecureURL?, since error: AuthError, _ stage: AuthError.Stage
    ) async -> Bool {
        guard let url, error.stage == stage else { return false }
        // While the issuer's own host cannot be reached, nor can its metadata.
        let isElsewhere = url.origin != record.client.provider.issuer.url.origin
        let isUnreachable = [.nameUnresolved, .unreachable].contains(error.connectionProblem)
        guard error.saysNotHere || isElsewhere && isUnreachable else { return false }
        // Another request may have found out.
        if self.url(of: endpoint) == url { _ = await renewMetadata() }
        return self.url(of: endpoint) != url
    }

    func url(of endpoint: ProviderMetadata.Endpoint) -> SecureURL? { (try? record.client.url(of: endpoint)) ?? nil }
}

extension AuthError {
    /// Whether the server says that nothing is at this URL: it has no error of OAuth.
    fileprivate var saysNotHere: Bool {
        server == nil && httpStatus.map { (300..<400).contains($0) || [404, 405, 410].contains($0) } == true
    }
}
