internal import FoundationEssentials
internal import HTTPTypes
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
            AuthError(.invalidResponse, .userInfo, "invalid claim source \(name.foundText): \(message)")
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
                AuthError(.invalidResponse, .userInfo, "invalid claim sources: \(message)")
            }
            guard let value = self["_claim_names"] else { return [] }
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
                try ClaimSource(name: name, claimNames: claims, source: sources.members[name])
            }
        }
    }
}

/// The claims about a user from a source other than the provider, read by ``ClaimSourceReader``.
public struct SourcedClaims: Sendable, Hashable {
    /// The name of the source.
    public let source: String
    /// The issuer of the claims, only alleged unless ``isVerified``; nil if they name none.
    public let issuer: String?
    /// Whether an issuer that the app trusts signed the claims. If not, they are only as trustworthy as the provider
    /// that named the source: whichever server responds there can have made them.
    public let isVerified: Bool
    /// The claims that the provider takes from this source.
    public let claims: Claims
}

/// Reads the claims of a user from sources other than the provider (OpenID Connect Core §5.6.2).
///
/// ```swift
/// let reader = ClaimSourceReader(client: client, trusting: [bank], environment: .live)
/// for source in try await state.userInfo().sources {
///     let theirs = try await reader.claims(of: source)
/// }
/// ```
/// Safe to share. Use one for each client: it keeps the keys of the issuers that the app trusts.
public struct ClaimSourceReader: Sendable {
    private let client: Client
    private let environment: Environment
    private let trusted: [JWTVerifier]

    /// The limits for a JWT of claims.
    fileprivate static let limits = HTTPLimits(
        bodyBytes: 64 << 10, headerBytes: 16 << 10, total: .seconds(10), connect: .seconds(10))

    /// Creates a reader and sends nothing.
    ///
    /// - Parameters:
    ///   - client: The client whose provider names the sources.
    ///   - issuers: The issuers whose claims the app trusts, from its own list, with metadata from ``Discovery``.
    ///   - environment: The HTTP client and the clock.
    public init(client: Client, trusting issuers: [ProviderMetadata] = [], environment: Environment) {
        (self.client, self.environment) = (client, environment)
        trusted = issuers.map { issuer in
            // Without a secret: whether the client shares one with this issuer is unknown.
            JWTVerifier(client: Client(id: client.id, provider: issuer), environment: environment)
        }
    }

    /// Returns the claims of a source.
    ///
    /// If the source is an endpoint, sends one GET with the source's own access token, never the session's. Redirects
    /// are not followed, and the response is limited to 64 KiB. Only a provider on this machine may name a source on
    /// this machine.
    ///
    /// The claims of a trusted issuer must be signed with its keys, even if they came over TLS. The claims of any other
    /// issuer are returned with ``SourcedClaims/isVerified`` false: keys are never fetched from a URL in the claims. If
    /// claims name an audience, it must include this client.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func claims(of source: ClaimSource) async throws -> SourcedClaims {
        let token: String
        switch source.content {
        case .aggregated(let jwt): token = jwt.reveal()
        case .distributed(let url, let accessToken):
            if let objection = url.objection(namedBy: client.provider.issuer.url) {
                throw source.refusal("'endpoint': \(objection)")
            }
            token = try await source.get(url, accessToken, environment)
        }
        let expected = source.expected(client)
        let (jws, claims) = try expected.parse(token)
        let issuer = try ResponseObject(.object(claims), refuse: source.refusal).string("iss")
        let signer = issuer.flatMap { issuer in
            trusted.first { $0.client.provider.issuer.string.isExactly(issuer) }
        }
        if let signer {
            try await signer.checkSignature(
                of: jws, algorithms: signer.client.provider.idTokenSigningAlgorithms, refusal: source.refusal)
        }
        let time = signer.map { environment.time(of: $0.client) } ?? (environment.now().wall, "this computer’s clock")
        try expected.checkTimes(claims, at: time, refusal: source.refusal)
        let members = claims.members.filter { source.claimNames.contains(where: $0.name.isExactly) }
        return SourcedClaims(
            source: source.name, issuer: issuer, isVerified: signer != nil,
            claims: Claims(JSON.Object(members.map { ($0.name, $0.value) })))
    }
}

extension ClaimSource {
    fileprivate func get(_ url: SecureURL, _ accessToken: Secret?, _ environment: Environment) async throws -> String {
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = "application/jwt"
        // Core §5.6.2.2, RFC 6750 §2.1.
        request.headerFields[.authorization] = accessToken.map { "Bearer \($0.reveal())" }
        let response = try await environment.send(
            TransportRequest(request, limits: ClaimSourceReader.limits), stage: .userInfo)
        guard response.status == .ok else {
            throw response.oauthError(from: url, stage: .userInfo, hiding: [accessToken].compactMap(\.self))
        }
        guard response.mediaType == "application/jwt" else {
            throw refusal("expected content of type application/jwt, found \(response.mediaType?.foundText ?? "none")")
        }
        return String(decoding: response.body, as: UTF8.self)
    }

    /// A JWT of claims by any issuer. RFC 8725 §3.11: a token of another type identifies a user or grants access.
    /// RFC 7519 §4.1.3: a token for another audience must be rejected.
    fileprivate func expected(_ client: Client) -> ClaimsVerifier {
        var expected = ClaimsVerifier(client: client, refusal: refusal)
        (expected.type, expected.iss) = (.generic, .ignored)
        (expected.aud, expected.exp, expected.nbf) = (.optional, .optional, .optional)
        return expected
    }

    @Sendable fileprivate func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidResponse, .userInfo, "invalid JWT from the claim source \(name.foundText): \(message)")
    }
}
