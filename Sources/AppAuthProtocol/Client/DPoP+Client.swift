internal import JOSE

extension DPoP {
    /// Creates a new key for a session of the client; returns nil if the client uses bearer tokens.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider lists its algorithms without
    ///   this one (RFC 9449 §5.1).
    package convenience init?(for client: Client) throws {
        guard let algorithm = client.dpop else { return nil }
        if let known = client.provider.dpopSigningAlgorithms, !known.contains(algorithm.rawValue) {
            throw AuthError(
                .invalidMetadata, .configuration,
                "expected the provider to support DPoP with \(algorithm.rawValue), found "
                    + known.joined(separator: ", "),
                outcome: .notSent)
        }
        self.init(key: try DPoPKey(algorithm))
    }
}
