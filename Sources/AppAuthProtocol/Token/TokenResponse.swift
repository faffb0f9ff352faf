internal import HTTPTypes
internal import JOSE

/// A successful response of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3).
package struct TokenResponse: Sendable {
    package let accessToken: Secret
    package let tokenType: TokenType
    /// The lifetime from receipt; nil if the server did not say.
    package let lifetime: Duration?
    /// When the server wants the token to be refreshed, from receipt (`refresh_in`, in no RFC); nil if it did not say.
    package let refreshIn: Duration?
    package let refreshToken: Secret?
    /// When the refresh token or the user's grant will end, if the server says so.
    package let announced: AnnouncedLifetimes
    /// The granted scopes, if the response lists them.
    package let scope: [Scope]?
    /// The permissions granted in detail (RFC 9396 §7), if the response lists them.
    package let authorizationDetails: [AuthorizationDetail]?
    /// The ID token. Not verified yet.
    package let idToken: Secret?
    /// The other members, for the app: a JSON object.
    package let additionalParameters: Secret?
    /// What the server wants of later refreshes; nil if nothing is new.
    package var refreshForm: RefreshForm?
    /// The server's latest nonce for DPoP proofs (RFC 9449 §8.1).
    package var proofNonce: String?
    /// When the request was sent, and when the response was received. The server has written it between the two.
    package let sent, received: Timestamp
    /// The server's clock, if the response has a `Date`.
    package let serverClock: ServerClock?

    private static let known = [
        "access_token", "token_type", "expires_in", "refresh_in", "refresh_token", "scope", "id_token",
        "authorization_details",
    ]

    package init(
        accessToken: Secret, tokenType: TokenType = .bearer, lifetime: Duration?, refreshToken: Secret?,
        scope: [Scope]? = nil, idToken: Secret? = nil, received: Timestamp, serverClock: ServerClock? = nil
    ) {
        (self.accessToken, self.tokenType, self.lifetime) = (accessToken, tokenType, lifetime)
        (self.refreshToken, self.scope, self.idToken) = (refreshToken, scope, idToken)
        (refreshIn, authorizationDetails, additionalParameters) = (nil, nil, nil)
        (sent, self.received, self.serverClock) = (received, received, serverClock)
        announced = AnnouncedLifetimes()
    }

    package init(
        _ response: TransportResponse, expecting expectedType: TokenType = .bearer, sent: Timestamp? = nil,
        received: Timestamp, stage: AuthError.Stage
    ) throws {
        let object = try ResponseObject(response) { message in
            var error = AuthError(
                .invalidResponse, stage, "invalid token response: \(message)", outcome: .perhapsProcessed,
                isTemporary: response.isFromBetween, httpStatus: response.status.code)
            error.rotatedRefreshToken = Self.refreshToken(of: response)
            return error
        }
        // Azure AD B2C issues one only for a scope of an API.
        if object.members[nonEmpty: "access_token"] == nil, object.members[nonEmpty: "id_token"] != nil {
            throw object.refusal("expected 'access_token', found only an ID token")
        }
        accessToken = try object.required("access_token", object.secret)
        let type = try object.string("token_type")
        // RFC 6749 §7.1: a token of an unknown type must not be used. RFC 9449 §5: nor one that is not bound to the
        // key, if the request asked for that. Several servers leave the type out, although it is required (RFC 6749 §5.1).
        guard let known = type.map(TokenType.init(wire:)) ?? .bearer, known == expectedType else {
            throw object.refusal("expected the token type \(expectedType.rawValue), found \(type?.foundText ?? "none")")
        }
        tokenType = known
        refreshToken = try object.secret("refresh_token")
        idToken = try object.secret("id_token")
        scope = try object.scope()
        authorizationDetails = try object.members["authorization_details"].map { value in
            guard let array = value.array else {
                throw object.refusal("expected 'authorization_details' to be an array, found \(value.kind)")
            }
            do { return try array.map(AuthorizationDetail.init) } catch let error as AuthError {
                throw object.refusal(error.message)
            }
        }
        // Some servers send 0 or less for a token that is to be used once, and others milliseconds, or the largest number for
        // a token without an end. Whoever counts on a long life loses nothing: a refused token is refreshed.
        lifetime = try object.seconds("expires_in", clamped: true).map { .seconds($0) }
        // Only advice: a value that cannot be read must not make the token unusable.
        refreshIn = ((try? object.seconds("refresh_in")) ?? nil).map { .seconds($0) }
        announced = AnnouncedLifetimes(object)
        var additional = object.members
        for name in Self.known { additional[name] = nil }
        additionalParameters = additional.names.isEmpty ? nil : Secret(JSON.object(additional).serialized())
        (self.sent, self.received) = (sent ?? received, received)
        serverClock = ServerClock(response, received: received)
    }

    /// Returns the refresh token of a response, even if the rest is invalid.
    static func refreshToken(of response: TransportResponse) -> Secret? {
        let json = try? response.parsedBody
        // The error is dropped: the caller throws its own.
        return try? ResponseObject(json) { AuthError(.invalidResponse, .token, $0) }.secret("refresh_token")
    }

    /// The access token with its type and lifetime.
    package var token: AccessToken {
        AccessToken(
            value: accessToken, type: tokenType, received: received, lifetime: lifetime, refreshIn: refreshIn,
            serverDate: serverClock.flatMap { $0.isPlausible ? $0.date : nil })
    }
}
