internal import AppAuthConcurrency
public import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE

/// Verifies logout tokens by OpenID Connect Back-Channel Logout §2.6. For apps with a server part that receives the
/// requests to ``ClientMetadata/backchannelLogoutURI``.
///
/// ```swift
/// let verifier = LogoutTokenVerifier(client: client, environment: .live)
/// let token = try await verifier.verify(fromForm: body)
/// for state in sessions { try await state.end(by: token) }
/// ```
/// Respond with 200 when the sessions have ended, and with 400 if either call throws, both with
/// `Cache-Control: no-store` (§2.8).
///
/// Safe to share. Use one for each client: it keeps the provider's keys and the IDs of accepted tokens. A token is
/// accepted once, unless ``AuthState/end(by:)-(LogoutToken)`` fails with it: if the provider repeats the request, the
/// session can still end. An app that ends sessions in another way calls ``LogoutToken/release()`` instead.
public struct LogoutTokenVerifier: Sendable {
    /// How far the two clocks may differ.
    public var leeway: Duration = .seconds(60)
    /// The maximum age of a token that was just received, by its `iat`. Two minutes by default, the lifetime that §2.4
    /// recommends. The leeway is added.
    public var maximumAge: Duration = .seconds(120)
    private let verifier: JWTVerifier
    private let seen = SeenTokens()

    /// The event of a logout token (§2.4).
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    /// Creates a verifier for one client, with the keys of its provider.
    public init(client: Client, environment: Environment) {
        verifier = JWTVerifier(client: client, environment: environment)
    }

    /// Verifies a posted form with one `logout_token` (§2.5).
    ///
    /// - Throws: As ``verify(_:)``.
    public func verify(fromForm body: String) async throws -> LogoutToken {
        let values = FormParameters(decoding: body)?.values("logout_token") ?? []
        guard values.count == 1, let token = values.first else {
            throw Self.refusal("expected a form with one 'logout_token', found \(values.count)")
        }
        return try await verify(Secret(token))
    }

    /// Verifies a token, which may be encrypted like ID tokens (``Environment/decryptionKey``,
    /// ``Environment/requiredEncryption``).
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidLogoutToken`` that says what was expected and found,
    ///   temporary if a newer key of the provider may fit; while fetching the provider's keys,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``, ``AuthError/Code/invalidResponse``; what
    ///   ``Environment/decryptionKey`` throws; `CancellationError`.
    public func verify(_ token: Secret) async throws -> LogoutToken {
        // §2.4, §2.6 step 1: a logout token is encrypted like ID tokens. If those must be encrypted, so must this.
        let signed: Secret
        do { signed = try await verifier.environment.signedToken(in: token) } catch let error as JOSEError {
            throw Self.refusal("\(error)")
        }
        // Step 2: the signature, by an algorithm for ID tokens. Anyone can post here: `none` is never accepted, and an
        // HMAC only if the client is registered for it.
        let claims = try await verifier.claims(
            in: signed.reveal(), signedBy: verifier.client.deliveredIDTokenAlgorithms, expected)
        let logout = try logout(ResponseObject(.object(claims), refuse: Self.refusal))
        // Step 8: a token is accepted only once. One that was issued ahead of this clock, by up to the leeway, stays
        // acceptable for that much longer.
        guard seen.isNew(logout.tokenID, at: verifier.environment.now(), for: maximumAge + leeway * 2) else {
            throw Self.refusal("expected a new token, found a 'jti' that was received before")
        }
        return logout
    }

    /// Step 3: iss, aud, iat and exp, as in an ID token. §2.4: the type, if present, is logout+jwt; older providers send
    /// JWT or none. Those of before December 2023 have no exp, which drafts and errata did not ask for: then iat ends the
    /// term.
    private var expected: ClaimsVerifier {
        var expected = ClaimsVerifier(client: verifier.client, refusal: Self.refusal)
        expected.type = .optional("logout+jwt")
        // Back-Channel Logout §2.6: aud as in an ID token.
        expected.trustedAudiences = verifier.client.idTokenRules.trustedAudiences
        (expected.exp, expected.iat) = (.optional, .required)
        (expected.leeway, expected.maximumAge) = (leeway, maximumAge)
        return expected
    }

    private func logout(_ claims: ResponseObject) throws -> LogoutToken {
        let refusal = Self.refusal
        // Step 4: a session, a user, or both.
        let (subject, sessionID) = (try claims.string("sub"), try claims.string("sid"))
        guard subject != nil || sessionID != nil else { throw refusal("expected 'sub' or 'sid', found neither") }
        guard subject?.isEmpty != true, sessionID?.isEmpty != true else {
            throw refusal("expected 'sub' and 'sid' not to be empty, found an empty one")
        }
        // Step 5, §2.4: the event is an object, which SHOULD be empty.
        guard let events = claims.members["events"]?.object else {
            throw refusal("expected 'events' to be an object, found \(claims.members["events"].foundKind)")
        }
        guard let event = events[Self.event] else {
            throw refusal("expected the event \(Self.event.foundText), found none")
        }
        guard event.object != nil else { throw refusal("expected the event to be an object, found \(event.kind)") }
        // Step 6: a token with a nonce is an ID token.
        guard claims.members["nonce"] == nil else { throw refusal("expected no 'nonce', found one") }
        return LogoutToken(
            issuer: try claims.required("iss") { try claims.string($0) }, subject: subject, sessionID: sessionID,
            tokenID: try claims.required("jti") { try claims.text($0) },
            issuedAt: try claims.required("iat") { try claims.time($0) },
            expiration: try claims.time("exp"), claims: Claims(claims.members),
            seen: seen)
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidLogoutToken, .logout, "invalid logout token: \(message)")
    }
}

extension AuthError.Code {
    /// A logout token or a front-channel logout request did not pass verification.
    public static let invalidLogoutToken: AuthError.Code = "invalid_logout_token"
}

/// The IDs of the accepted tokens, kept for as long as a token could be accepted again.
final class SeenTokens: Sendable {
    private let tokens = LockedValue<[String: Term]>([:])
    /// The limit, which real sign-outs within a few minutes do not reach. Beyond it, the oldest IDs are dropped.
    private static let most = 100_000

    func isNew(_ id: String, at now: Timestamp, for length: Duration) -> Bool {
        tokens.withLock { tokens in
            // If a clock was set back, so that the time since then is unknown, the token may be valid again.
            tokens = tokens.filter { _, term in term.begin.elapsed(until: now).map { $0 <= term.length } ?? true }
            guard tokens[id] == nil else { return false }
            if tokens.count >= Self.most, let oldest = tokens.min(by: { $0.value.begin.wall < $1.value.begin.wall }) {
                tokens[oldest.key] = nil
            }
            tokens[id] = Term(from: now, for: length)
            return true
        }
    }

    func forget(_ id: String) { tokens.withLock { $0[id] = nil } }
}
