internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

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
    private let trusted: [IDTokenVerification]

    /// The limits for a JWT of claims.
    fileprivate static let limits = HTTPLimits(
        bodyBytes: 64 << 10, headerBytes: 16 << 10, total: .seconds(10), connect: .seconds(5))

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
            IDTokenVerification(client: Client(id: client.id, provider: issuer), environment: environment)
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
        let jws: JWS
        do { jws = try JWS(compact: token) } catch { throw source.refusal("\(error)") }
        // RFC 8725 §3.11: a token of another type identifies a user or grants access.
        if let typ = jws.header.typ?.lowercasedASCII, typ.hasSuffix("+jwt") {
            throw source.refusal("expected a JWT of claims, found one of type '\(typ.prefix(64))'")
        }
        let object = try ResponseObject(try? JSON(parsing: jws.payload), refuse: source.refusal)
        // RFC 7519 §4.1.3: a token for another audience must be rejected.
        if let audience = try object.stringOrStrings("aud"), !audience.contains(where: client.id.isExactly) {
            let found = audience.joined(separator: " ").prefix(200)
            throw source.refusal("expected 'aud' to contain '\(client.id)', found '\(found)'")
        }
        let issuer = try object.string("iss")
        let verification = issuer.flatMap { issuer in
            trusted.first { $0.client.provider.issuer.string.isExactly(issuer) }
        }
        if let verification {
            try await verification.checkSignature(
                of: jws, listed: verification.client.provider.idTokenSigningAlgorithms, refusal: source.refusal)
        }
        try source.checkTimes(
            object,
            verification.map { environment.time(of: $0.client) } ?? (environment.now().wall, "this machine's clock"))
        let members = object.members.members.filter { source.claimNames.contains(where: $0.name.isExactly) }
        return SourcedClaims(
            source: source.name, issuer: issuer, isVerified: verification != nil,
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
            throw refusal("expected content of type application/jwt, found \(response.mediaType ?? "none")")
        }
        return String(decoding: response.body, as: UTF8.self)
    }

    /// Checks the times of the claims, if present (RFC 7519 §4.1.4, §4.1.5).
    fileprivate func checkTimes(_ object: ResponseObject, _ time: (date: Date, clock: String)) throws {
        let (now, leeway) = (time.date.timeIntervalSince1970, 60.0)
        if let end = try object.time("exp"), end.timeIntervalSince1970 + leeway <= now {
            throw refusal("they ended \(Int(now - end.timeIntervalSince1970)) s ago by \(time.clock)")
        }
        if let begin = try object.time("nbf"), begin.timeIntervalSince1970 > now + leeway {
            throw refusal("they begin only in \(Int(begin.timeIntervalSince1970 - now)) s by \(time.clock)")
        }
    }

    @Sendable fileprivate func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidResponse, .userInfo, "the claims of the source '\(name.prefix(64))' are refused: \(message)")
    }
}
