internal import JOSE

/// Where claims are that others than the provider make about a person (OpenID Connect Core §5.6.2): with it, or elsewhere.
public struct ClaimSource: Sendable, Hashable {
    /// The provider's name for it.
    public let name: String
    /// The claims that are taken from it, and no others.
    public let claimNames: Set<String>
    /// The claims themselves, or where they are.
    public let content: Content

    /// What a source has.
    public enum Content: Sendable, Hashable {
        /// The claims, as a JWT (Core §5.6.2.1).
        case aggregated(Secret)
        /// Where the claims are, as a JWT, and what they are got with (Core §5.6.2.2): a token of that place's own.
        case distributed(SecureURL, accessToken: Secret?)
    }

    init(name: String, claimNames: Set<String>, source: JSON?) throws {
        @Sendable func refusal(_ message: String) -> AuthError {
            AuthError(.invalidResponse, .userInfo, "the claim source '\(name.prefix(64))' is refused: \(message)")
        }
        let object = try ResponseObject(source, refuse: refusal)
        (self.name, self.claimNames) = (name, claimNames)
        let (jwt, endpoint) = (try object.secret("JWT"), try object.url("endpoint", namedBy: nil))
        switch (jwt, endpoint) {
        case (let jwt?, nil): content = .aggregated(jwt)
        case (nil, let endpoint?):
            content = .distributed(endpoint, accessToken: try object.secret("access_token"))
        default: throw refusal("expected either 'JWT' or 'endpoint', found \(jwt == nil ? "neither" : "both")")
        }
    }
}

extension Claims {
    private static let mostSources = 16

    /// The sources of claims that the provider does not make itself (Core §5.6.2), by name; none if all are its own.
    ///
    /// Nothing of a source counts yet: ``ClaimSourceReader`` gets it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` for a list that is not as it should be: a source that
    ///   is missing or is of no known kind, an endpoint that is not https (or http on loopback), more than 16.
    public var sources: [ClaimSource] {
        get throws {
            @Sendable func refusal(_ message: String) -> AuthError {
                AuthError(.invalidResponse, .userInfo, "the claim sources are refused: \(message)")
            }
            guard let value = self["_claim_names"], value != .null else { return [] }
            let names = try ResponseObject(value, refuse: refusal)
            let sources = try ResponseObject(self["_claim_sources"], refuse: refusal)
            var claimNames: [ExactText: Set<String>] = [:]
            for claim in names.members.names {
                claimNames[ExactText(try names.required(claim) { try names.string($0) }), default: []].insert(claim)
            }
            guard claimNames.count <= Self.mostSources else {
                throw refusal("expected at most \(Self.mostSources) sources, found \(claimNames.count)")
            }
            return try claimNames.map { ($0.text, $1) }.sorted { $0.0 < $1.0 }.map { name, claims in
                try ClaimSource(name: name, claimNames: claims, source: sources.value(name))
            }
        }
    }
}
