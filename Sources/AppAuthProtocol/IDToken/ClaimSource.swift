internal import JOSE

/// A source of a user's claims other than the provider (OpenID Connect Core §5.6.2): included in the response, or at
/// another endpoint.
public struct ClaimSource: Sendable, Hashable {
    /// The provider's name for the source.
    public let name: String
    /// The claims to take from the source. All others are ignored.
    public let claimNames: Set<String>
    /// The claims, or the endpoint that has them.
    public let content: Content

    /// The content of a source.
    public enum Content: Sendable, Hashable {
        /// The claims, as a JWT (Core §5.6.2.1).
        case aggregated(Secret)
        /// The endpoint that returns the claims as a JWT, and the endpoint's own access token (Core §5.6.2.2).
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

    /// The sources of claims other than the provider (Core §5.6.2), by name; empty if all claims are the provider's.
    ///
    /// Nothing of a source is verified yet: ``ClaimSourceReader`` reads it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` for a malformed list: a source that is missing
    ///   or of an unknown kind, an endpoint that is not https (or http on loopback), or more than 16 sources.
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
