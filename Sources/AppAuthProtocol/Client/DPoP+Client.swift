internal import AppAuthConcurrency

extension DPoP {
    /// Creates a new key for a session of the client; returns nil if the client uses bearer tokens. A device may block the
    /// thread for a second: see ``new(for:in:)``.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider lists its algorithms without
    ///   this one (RFC 9449 §5.1).
    package convenience init?(for client: Client, pin: Secret? = nil) throws {
        guard let algorithm = client.dpop else { return nil }
        if let known = client.provider.dpopSigningAlgorithms, !known.contains(algorithm.rawValue) {
            throw AuthError(
                .invalidMetadata, .configuration,
                "expected the provider to support DPoP with \(algorithm.rawValue), found "
                    + known.joined(separator: ", "),
                outcome: .notSent)
        }
        let words = "\(client.provider.issuer.string) \(client.id)"
        self.init(key: try DPoPKey(algorithm, in: client.dpopKeyProvider, for: words, pin: pin))
    }

    /// As ``init(for:pin:)``, but a provider makes the key on a thread of its own, with the PIN of ``Environment/keyPIN``.
    package static func new(for client: Client, in environment: Environment) async throws -> DPoP? {
        guard let provider = client.dpopKeyProvider else { return try DPoP(for: client) }
        return try await OwnThread().run(askingForPIN: { try await environment.keyPIN(provider.rawValue) }) {
            try DPoP(for: client, pin: $0)
        }
    }
}
