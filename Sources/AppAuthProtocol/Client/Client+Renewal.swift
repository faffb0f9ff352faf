/// The provider's metadata, which may change while a client has tokens.
extension Client {
    /// Returns the client with the provider's metadata of today; itself if an app has put the metadata together.
    ///
    /// - Returns: nil if the metadata cannot be fetched now.
    package func renewed(in environment: Environment) async -> Client? {
        guard provider.isDiscovered else { return self }
        let discovery = Discovery(environment: environment)
        guard
            let found = try? await discovery.metadata(
                for: provider.issuer, at: provider.location, policy: idTokenRules.issuer)
        else { return nil }
        var client = self
        client.provider = provider.renewed(by: found)
        return client
    }

    /// Whether the error of a request shows that it had no effect, and the endpoint may be somewhere else by now.
    ///
    /// - Parameter url: Where the request was sent.
    package func mayFindElsewhere(_ url: SecureURL, since error: AuthError) -> Bool {
        // While the issuer's own host cannot be reached, nor can its metadata.
        let isAtIssuer = url.origin == provider.issuer.url.origin
        let isUnreachable = [.nameUnresolved, .unreachable].contains(error.connectionProblem)
        return error.saysNotHere || !isAtIssuer && isUnreachable
    }
}

extension AuthError {
    /// Whether the server says that nothing is at this URL: it has no error of OAuth.
    fileprivate var saysNotHere: Bool {
        server == nil && httpStatus.map { (300..<400).contains($0) || [404, 405, 410].contains($0) } == true
    }
}
