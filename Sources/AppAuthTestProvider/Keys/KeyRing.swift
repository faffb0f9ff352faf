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
        private let algorithm: SignatureAlgorithm
        private var made = 0
        var entries: [Entry] = []
        var current: Int { entries.count - 1 - (isNextAnnounced ? 1 : 0) }
        var isNextAnnounced = false

        init(_ algorithm: SignatureAlgorithm) throws {
            self.algorithm = algorithm
            entries = [Entry(try newKey())]
        }

        /// Returns a key that this line does not have yet.
        mutating func newKey() throws -> SigningKey {
            defer { made += 1 }
            return try SharedKeys.key(algorithm, made)
        }
    }

    private static let usual: Set<SignatureAlgorithm> = [.rs256, .ps256, .es256, .edDSA]

    let algorithms: [SignatureAlgorithm]
    /// Made when they are needed: RSA keys would delay the provider's start.
    private let lines = LockedValue<[SignatureAlgorithm: Line]>([:])

    /// Keys for RS256, PS256, ES256 and EdDSA, and for the given algorithms.
    init(_ more: some Sequence<SignatureAlgorithm>) {
        let wanted = Self.usual.union(more)
        algorithms = SignatureAlgorithm.allCases.filter(wanted.contains)
    }

    /// Returns the current key for the algorithm, and its id.
    func signing(_ algorithm: SignatureAlgorithm) throws -> (key: SigningKey, kid: String) {
        try withLine(algorithm) { line in (line.entries[line.current].key, line.entries[line.current].kid) }
    }

    /// Returns the key for the algorithm before the last rotation, and its id. The key may be withdrawn.
    func former(_ algorithm: SignatureAlgorithm) throws -> (key: SigningKey, kid: String) {
        try withLine(algorithm) { line in
            guard line.current > 0 else {
                throw ProviderError("the keys for \(algorithm.rawValue) were never rotated")
            }
            let entry = line.entries[line.current - 1]
            return (entry.key, entry.kid)
        }
    }

    /// The JWK Set (RFC 7517 §5).
    var document: JSON {
        get throws {
            let keys = try algorithms.flatMap { algorithm in
                try withLine(algorithm) { $0.entries.filter(\.isPublished).map(\.jwk.json) }
            }
            return ["keys": .array(keys)]
        }
    }

    /// Publishes the next key of each algorithm, before it signs.
    func announce() throws {
        try update { line in
            guard !line.isNextAnnounced else { return }
            line.entries.append(Entry(try line.newKey()))
            line.isNextAnnounced = true
        }
    }

    /// Makes the next keys current: the announced ones, or new ones. The old ones stay published.
    func rotate() throws {
        try announce()
        try update { $0.isNextAnnounced = false }
    }

    /// Replaces the current keys with new ones under the same ids. No provider should do so, but some do.
    func replace() throws {
        try update { line in
            let kid = line.entries[line.current].kid
            line.entries[line.current] = Entry(try line.newKey(), kid: kid)
        }
    }

    /// Removes the former keys from the set.
    func withdrawOldKeys() throws {
        try update { line in
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

    private func update(_ body: (inout Line) throws -> Void) throws {
        for algorithm in algorithms { try withLine(algorithm, body) }
    }

    private func withLine<Value>(
        _ algorithm: SignatureAlgorithm, _ body: (inout Line) throws -> Value
    ) throws -> Value {
        guard algorithms.contains(algorithm) else { throw ProviderError("there is no key for \(algorithm.rawValue)") }
        return try lines.withLock { lines in
            var line = try lines[algorithm] ?? Line(algorithm)
            defer { lines[algorithm] = line }
            return try body(&line)
        }
    }
}
