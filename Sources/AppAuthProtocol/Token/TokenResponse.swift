internal import HTTPTypes

/// A successful response of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3).
package struct TokenResponse: Sendable {
    package let accessToken: Secret
    package let tokenType: TokenType
    /// The lifetime from receipt; nil if the server did not say.
    package let lifetime: Duration?
    package let refreshToken: Secret?
    /// The granted scopes, if the response lists them.
    package let scope: [Scope]?
    /// The permissions granted in detail (RFC 9396 §7), if the response lists them.
    package let authorizationDetails: [AuthorizationDetail]?
    /// The ID token. Not verified yet.
    package let idToken: Secret?
    /// The other members, for the app: a JSON object.
    package let additionalParameters: Secret?
    package let received: Timestamp
    /// The server's clock, if the response has a `Date`.
    package let serverClock: ServerClock?

    private static let known = [
        "access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token", "authorization_details",
    ]
    /// A hundred years. A longer lifetime is a mistake of the server.
    private static let longestLifetime = 3_155_760_000

    package init(
        accessToken: Secret, tokenType: TokenType = .bearer, lifetime: Duration?, refreshToken: Secret?,
        scope: [Scope]? = nil, idToken: Secret? = nil, received: Timestamp, serverClock: ServerClock? = nil
    ) {
        (self.accessToken, self.tokenType, self.lifetime) = (accessToken, tokenType, lifetime)
        (self.refreshToken, self.scope, self.idToken) = (refreshToken, scope, idToken)
        (authorizationDetails, additionalParameters) = (nil, nil)
        (self.received, self.serverClock) = (received, serverClock)
    }

    package init(
        _ response: TransportResponse, expecting expectedType: TokenType = .bearer, received: Timestamp,
        stage: AuthError.Stage
    ) throws {
        func refusal(_ message: String) -> AuthError {
            var error = AuthError(
                .invalidResponse, stage, "invalid token response: \(message)", outcome: .perhapsProcessed,
                httpStatus: response.status.code)
            error.rotatedRefreshToken = Self.refreshToken(of: response)
            return error
        }
        guard response.mediaType == "application/json" else {
            throw refusal("expected content of type application/json, found \(response.mediaType ?? "none")")
        }
        let json: JSON
        do { json = try JSON(parsing: response.body) } catch { throw refusal("\(error)") }
        guard let members = json.object else { throw refusal("expected a JSON object, found \(json.kind)") }
        func text(_ name: String) throws -> String? {
            guard let value = members[name], value != .null else { return nil }
            guard let text = value.string else {
                throw refusal("expected '\(name)' to be a string, found \(value.kind)")
            }
            return text
        }
        func token(_ name: String) throws -> Secret? {
            guard let token = try text(name) else { return nil }
            guard Self.isToken(token) else {
                let found = token.isEmpty ? "none" : "other characters"
                throw refusal("expected '\(name)' in visible ASCII characters, found \(found)")
            }
            return Secret(token)
        }
        guard let accessToken = try token("access_token") else { throw refusal("expected 'access_token', found none") }
        guard let tokenType = try text("token_type") else { throw refusal("expected 'token_type', found none") }
        // RFC 6749 §7.1: a token of an unknown type must not be used. RFC 9449 §5: nor one that is not bound to the
        // key, if the request asked for that.
        guard let type = TokenType(wire: tokenType), type == expectedType else {
            throw refusal("expected the token type \(expectedType.rawValue), found '\(tokenType.prefix(64))'")
        }
        self.accessToken = accessToken
        self.tokenType = type
        refreshToken = try token("refresh_token")
        idToken = try token("id_token")
        scope = try text("scope").map([Scope].init(spaceDelimited:))
        authorizationDetails = try members["authorization_details"].flatMap { value in
            guard value != .null else { return nil }
            guard let array = value.array else {
                throw refusal("expected 'authorization_details' to be an array, found \(value.kind)")
            }
            do { return try array.map(AuthorizationDetail.init) } catch let error as AuthError {
                throw refusal(error.message)
            }
        }
        lifetime = try members["expires_in"].flatMap { value in
            guard value != .null else { return nil }
            guard let seconds = Self.seconds(value) else {
                let found = members["expires_in"].foundNumber
                throw refusal("expected 'expires_in' to be 0 to \(Self.longestLifetime) seconds, found \(found)")
            }
            return .seconds(seconds)
        }
        var additional = members
        for name in Self.known { additional[name] = nil }
        additionalParameters = additional.names.isEmpty ? nil : Secret(JSON.object(additional).serialized())
        self.received = received
        serverClock = ServerClock(response, received: received)
    }

    /// RFC 6749 appendix A.12, A.17: visible ASCII, so that no token can break out of a header field.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// Returns the refresh token of a response, even if the rest is invalid.
    private static func refreshToken(of response: TransportResponse) -> Secret? {
        guard let text = (try? JSON(parsing: response.body))?["refresh_token"]?.string, isToken(text) else {
            return nil
        }
        return Secret(text)
    }

    /// The access token with its type and lifetime.
    package var token: AccessToken {
        AccessToken(
            value: accessToken, type: tokenType, received: received, lifetime: lifetime,
            serverDate: serverClock.flatMap { $0.isPlausible ? $0.date : nil })
    }

    /// Reads a number, or a string with one, as several servers send it. A fraction is cut off.
    private static func seconds(_ value: JSON) -> Int? {
        let number = value.double ?? value.string.flatMap { try? JSON(parsing: Array($0.utf8)) }?.double
        guard let number, (0...Double(longestLifetime)).contains(number) else { return nil }
        return Int(number)
    }
}
