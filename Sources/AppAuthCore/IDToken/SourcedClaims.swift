internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// Claims that somebody else than the provider makes about a person (OpenID Connect Core §5.6.2).
public struct SourcedClaims: Sendable, Hashable {
    /// The source that they are from.
    public let source: String
    /// Who makes them, by their own word unless ``isVerified``; nil if they do not say.
    public let issuer: String?
    /// Whether their signature is that of an issuer that the app trusts. If not, they are worth as much as the word of
    /// the provider that named the source: whoever answers there can have made them.
    public let isVerified: Bool
    /// The claims, of those that the provider takes from this source.
    public let claims: Claims
}

extension ClaimSource {
    /// A JWT of claims may take as much.
    private static let limits = HTTPLimits(
        bodyBytes: 64 << 10, headerBytes: 16 << 10, total: .seconds(10), connect: .seconds(5))

    /// Gets the claims of this source.
    ///
    /// A source that has them elsewhere is asked with one GET, with its own access token and never the session's; no
    /// redirect is followed, and the answer is small. Claims of an issuer among `issuers` are verified with its keys, and
    /// refused if they are not signed by them: TLS alone is not taken for a signature. Of any other issuer they come as
    /// they are, with ``SourcedClaims/isVerified`` false; nobody's keys are looked for at a place that the claims
    /// themselves name.
    ///
    /// - Parameters:
    ///   - environment: The HTTP client and the clock.
    ///   - issuers: Whose claims the app trusts, with their metadata: by ``Discovery``, from a list of the app's own.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func fetch(in environment: Environment, trusting issuers: [ProviderMetadata] = []) async throws
        -> SourcedClaims
    {
        let token: String
        switch content {
        case .aggregated(let jwt): token = jwt.reveal()
        case .distributed(let url, let accessToken): token = try await get(url, accessToken, environment)
        }
        let jws: JWS
        do { jws = try JWS(compact: token) } catch { throw refusal("\(error)") }
        // RFC 8725 §3.11: a token of another kind says who somebody is, or lets somebody in.
        if let typ = jws.header.typ?.lowercased(), typ.hasSuffix("+jwt") {
            throw refusal("expected a JWT of claims, found one of type '\(typ.prefix(64))'")
        }
        let object = try AnswerObject(try? JSON(parsing: jws.payload), refuse: refusal)
        let issuer = try object.string("iss")
        let trusted = issuer.flatMap { issuer in issuers.first { $0.issuer.string.isExactly(issuer) } }
        if let trusted {
            let verification = IDTokenVerification(
                client: Client(id: "", provider: trusted), environment: environment)
            try await verification.checkSignature(
                of: jws, listed: trusted.idTokenSigningAlgorithms, refusal: refusal)
        }
        try checkTimes(object, environment.now().wall.timeIntervalSince1970)
        let members = object.members.members.filter { claimNames.contains($0.name) }
        return SourcedClaims(
            source: name, issuer: issuer, isVerified: trusted != nil,
            claims: Claims(JSON.Object(members.map { ($0.name, $0.value) })))
    }

    private func get(_ url: SecureURL, _ accessToken: Secret?, _ environment: Environment) async throws -> String {
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = "application/jwt"
        // Core §5.6.2.2, RFC 6750 §2.1.
        request.headerFields[.authorization] = accessToken.map { "Bearer \($0.reveal())" }
        let answer = try await environment.send(HTTPExchange(request, limits: Self.limits), stage: .userInfo)
        guard answer.response.status == .ok else {
            throw answer.oauthError(from: url, stage: .userInfo, hiding: [accessToken].compactMap(\.self))
        }
        guard answer.mediaType == "application/jwt" else {
            throw refusal("expected content of type application/jwt, found \(answer.mediaType ?? "none")")
        }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// Where they say when they end, or begin (RFC 7519 §4.1.4, §4.1.5), that counts.
    private func checkTimes(_ object: AnswerObject, _ now: Double) throws {
        let leeway = 60.0
        if let end = try object.time("exp"), end.timeIntervalSince1970 + leeway <= now {
            throw refusal("they ended \(Int(now - end.timeIntervalSince1970)) s ago by this machine's clock")
        }
        if let begin = try object.time("nbf"), begin.timeIntervalSince1970 > now + leeway {
            throw refusal("they begin only in \(Int(begin.timeIntervalSince1970 - now)) s by this machine's clock")
        }
    }

    @Sendable private func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidResponse, .userInfo, "the claims of the source '\(name.prefix(64))' are refused: \(message)")
    }
}
