internal import AppAuthConcurrency
internal import JOSE

/// The provider's signing keys. Each algorithm has a current key, its former keys, and possibly an announced key.
final class KeyRing: Sendable {
    private struct Entry {
        let key: SigningKey
        let kid: String
        var isPublished = true

        init(_ key: SigningKey, kid: String? = nil) {
            (self.key, self.kid) = (key, kid ?? String(key.publicKey.thumbprint.prefix(16)))
        }

        var jwk: JWK {
            var jwk = key.publicKey
            jwk.kid = kid
            return jwk
        }
    }

    /// The keys of one algorithm, oldest first. The one at `current` signs.
    private struct Line {
        var entries: [Entry]
        var current: Int { entries.count - 1 - (isNextAnnounced ? 1 : 0) }
        var isNextAnnounced = false
    }

    private static let usual: Set<SignatureAlgorithm> = [.rs256, .ps256, .es256, .edDSA]

    let algorithms: [SignatureAlgorithm]
    private let lines: LockedValue<[SignatureAlgorithm: Line]>

    /// Creates keys for RS256, PS256, ES256 and EdDSA, and for the given algorithms.
    init(_ more: some Sequence<SignatureAlgorithm>) throws {
        let wanted = Self.usual.union(more)
        algorithms = SignatureAlgorithm.allCases.filter(wanted.contains)
        var lines: [SignatureAlgorithm: Line] = [:]
        for algorithm in algorithms {
            lines[algorithm] = Line(entries: [Entry(try FirstKeys.key(for: algorithm))])
        }
        self.lines = LockedValue(lines)
    }

    /// Returns the current key for the algorithm, and its id.
    func signing(_ algorithm: SignatureAlgorithm) throws -> (key: SigningKey, kid: String) {
        let entry = lines.withLock { lines in lines[algorithm].map { $0.entries[$0.current] } }
        guard let entry else { throw ProviderError("there is no key for \(algorithm.rawValue)") }
        return (entry.key, entry.kid)
    }

    /// Returns the key for the algorithm before the last rotation, and its id. The key may be withdrawn.
    func former(_ algorithm: SignatureAlgorithm) throws -> (key: SigningKey, kid: String) {
        let entry = lines.withLock { lines in
            lines[algorithm].flatMap { $0.current > 0 ? $0.entries[$0.current - 1] : nil }
        }
        guard let entry else { throw ProviderError("the keys for \(algorithm.rawValue) were never rotated") }
        return (entry.key, entry.kid)
    }

    /// The JWK Set (RFC 7517 §5).
    var document: JSON {
        let keys = lines.withLock { lines in
            algorithms.flatMap { lines[$0]?.entries ?? [] }.filter(\.isPublished).map(\.jwk.json)
        }
        return ["keys": .array(keys)]
    }

    /// Publishes the next key of each algorithm, before it signs.
    func announce() throws {
        try update { line, algorithm in
            guard !line.isNextAnnounced else { return }
            line.entries.append(Entry(try SigningKey.generate(algorithm)))
            line.isNextAnnounced = true
        }
    }

    /// Makes the next keys current: the announced ones, or new ones. The old ones stay published.
    func rotate() throws {
        try announce()
        try update { line, _ in line.isNextAnnounced = false }
    }

    /// Replaces the current keys with new ones under the same ids. No provider should do so, but some do.
    func replace() throws {
        try update { line, algorithm in
            let kid = line.entries[line.current].kid
            line.entries[line.current] = Entry(try SigningKey.generate(algorithm), kid: kid)
        }
    }

    /// Removes the former keys from the set.
    func withdrawOldKeys() throws {
        try update { line, _ in
            for index in line.entries.indices where index < line.current { line.entries[index].isPublished = false }
        }
    }

    /// Returns whether one of the provider's keys made the signature, including withdrawn ones: ID token hints may be
    /// old (OpenID Connect RP-Initiated Logout §4).
    func verifies(_ token: JWS) -> Bool {
        let entries = lines.withLock { $0.values.flatMap(\.entries) }
        return entries.contains { entry in
            guard entry.kid == token.header.kid, let key = try? VerificationKey(entry.jwk) else { return false }
            return token.isSigned(by: key, algorithm: entry.key.algorithm)
        }
    }

    private func update(_ body: (inout Line, SignatureAlgorithm) throws -> Void) throws {
        try lines.withLock { lines in
            for algorithm in lines.keys {
                guard var line = lines[algorithm] else { continue }
                try body(&line, algorithm)
                lines[algorithm] = line
            }
        }
    }
}

/// The initial keys of a provider. Generating an RSA key takes a tenth of a second, so the providers of one process
/// share their initial RSA keys. The keys of a rotation are always new.
private enum FirstKeys {
    private static let made = LockedValue<[SignatureAlgorithm: SigningKey]>([:])

    static func key(for algorithm: SignatureAlgorithm) throws -> SigningKey {
        switch algorithm.family {
        case .ecdsa, .edDSA, .mlDSA: return try SigningKey.generate(algorithm)
        case .rsaPKCS1, .rsaPSS:
            return try made.withLock { made in
                let key = try made[algorithm] ?? SigningKey.generate(algorithm)
                made[algorithm] = key
                return key
            }
        }
    }
}
