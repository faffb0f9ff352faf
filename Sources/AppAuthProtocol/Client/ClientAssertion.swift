internal import FoundationEssentials
internal import JOSE

extension Environment {
    /// Returns the assertion of a client that authenticates with ``ClientAuthentication/assertion(named:)``: a JWT from
    /// another issuer. Called for each request to the token endpoint and similar endpoints, because such a JWT is often
    /// valid for only a few minutes.
    ///
    /// If it throws, the request is not sent, and a session stays as it is. The request's error is an ``AuthError`` whose
    /// ``AuthError/outcome`` is `notSent`, with ``AuthError/Code/invalidConfiguration``,
    /// ``AuthError/Code/invalidMetadata``, ``AuthError/Code/transport`` or ``AuthError/Code/timeout`` if that was
    /// thrown, and otherwise ``AuthError/Code/unavailable``. It is temporary if a temporary ``AuthError`` or an error of
    /// another type was thrown.
    public var clientAssertion: @Sendable (_ name: String) async throws -> Secret {
        get { self[ClientAssertionSource.self].find }
        set { self[ClientAssertionSource.self].find = newValue }
    }
}

private struct ClientAssertionSource: EnvironmentKey, Sendable {
    var find: @Sendable (String) async throws -> Secret

    static let defaultValue = ClientAssertionSource { name in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.clientAssertion to return the assertion \(name.foundText), found none")
    }
}

/// A signed JWT with which a client authenticates (RFC 7523 §3, OpenID Connect Core §9).
struct ClientAssertion {
    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    let clientID: String
    /// The single audience. With several, one server could use the assertion at another (RFC 7523 §3 item 3, FAPI 2.0
    /// §5.3.3.1).
    let audience: String
    /// The time by the server's clock, which decides whether the assertion has expired.
    let date: Date

    /// The claims, valid for one request and for a minute.
    private func claims() throws -> JSON {
        let now = Int(date.timeIntervalSince1970)
        return [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
            "jti": .string(try Secret(randomBytes: 16).reveal()), "iat": .number(.init(now)),
            "exp": .number(.init(now + 60)),
        ]
    }

    func signed(by key: ClientKey, algorithms: [String]?) async throws -> String {
        let token: String?
        do { token = try await key.sign(claims(), type: "JWT", algorithms: algorithms) } catch let error as JOSEError {
            throw Self.refusal("\(error)")
        }
        if let token { return token }
        throw Self.refusal(
            "expected a client key for \(algorithms?.joined(separator: ", ") ?? ""), found one for another algorithm")
    }

    func signed(by secret: Secret, algorithms: [String]?) throws -> String {
        let known = MACAlgorithm.allCases.first { algorithms?.contains($0.rawValue) ?? true }
        guard let algorithm = known else {
            throw Self.refusal(
                "expected the provider to support HS256, HS384 or HS512 for client_secret_jwt, found none")
        }
        // Core §16.19: an observer of the assertion could find a secret that is too short.
        do {
            return try JWS.sign(claims(), header: ["typ": "JWT"], secret: secret.bytes, algorithm: algorithm)
        } catch let error as JOSEError {
            throw Self.refusal("client_secret_jwt: \(error)")
        }
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message)
    }
}
