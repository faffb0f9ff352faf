internal import AppAuthConcurrency

extension DPoP {
    /// Creates a new key for a session of the client; returns nil if the client uses bearer tokens. A device may block the
    /// thread for a second: see ``new(for:)``.
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
        self.init(key: try DPoPKey(algorithm, in: client.dpopKeyProvider))
    }

    /// As ``init(for:)``, but a provider makes the key on a thread of its own.
    package static func new(for client: Client) async throws -> DPoP? {
        guard client.dpopKeyProvider != nil else { return try DPoP(for: client) }
        return try await OwnThread().run { try DPoP(for: client) }
    }
}
