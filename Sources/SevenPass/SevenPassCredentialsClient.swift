public import AppAuth
internal import HTTPTypes
internal import JOSE

/// What an app may ask 7Pass for itself, before anybody has an account: whether an address is free, whether a password is
/// good enough, and a registration.
///
/// ```swift
/// let credentials = try await SevenPassCredentialsClient(configuration)
/// try await credentials.checkMail("jane@example.com")
/// try await credentials.checkPassword(password)
/// let jane = try await credentials.registration(email: "jane@example.com", password: password)
/// ```
/// Its token is one of client credentials (RFC 6749 §4.4), good for 15 minutes and without a refresh token: a new one is
/// asked for by itself when it is needed.
public struct SevenPassCredentialsClient: Sendable {
    private let client: SevenPassClient

    /// Whom 7Pass has registered.
    public struct Registration: Sendable, Hashable, Decodable {
        /// The person's id, as the `sub` of later ID tokens has it.
        public let sub: String
        /// The address that the person signs in with.
        public let email: String
    }

    /// Takes up the token in the store, or asks for one.
    ///
    /// - Parameters:
    ///   - configuration: That of a client with a secret; its scope is not asked for, since there is no person.
    ///   - store: Where the token is kept: by default in memory.
    /// - Throws: ``AuthError``: ``AuthError/Code/invalidClient``, and as ``Discovery`` and the store do.
    public init(
        _ configuration: SevenPassConfiguration, store: any TokenStore = MemoryTokenStore(),
        environment: Environment = .live
    ) async throws {
        let state: AuthState
        if let stored = try await AuthState(restoring: store, environment: environment),
            await Self.isOf(configuration, stored.record)
        {
            state = stored
        } else {
            state = try await AuthState(
                presenting: .clientCredentials(), as: configuration.client(environment), store: store,
                environment: environment)
        }
        client = try SevenPassClient(state, configuration)
    }

    private static func isOf(_ configuration: SevenPassConfiguration, _ record: AuthStateRecord) -> Bool {
        record.end == nil && record.client.id == configuration.clientID
            && record.client.provider.issuer.string == configuration.issuer
            && record.client.authentication.secret == configuration.clientSecret
    }

    /// Succeeds if an address is well formed and nobody has an account with it.
    ///
    /// - Throws: ``SevenPassError`` with the code `email_taken` or `email_invalid`; as ``SevenPassClient/send(_:_:_:)``.
    public func checkMail(_ email: String) async throws {
        try await client.post("checkMail", ["email": .string(email)])
    }

    /// Succeeds if 7Pass takes a password.
    ///
    /// - Throws: ``SevenPassError`` with the code `password_weak`; as ``SevenPassClient/send(_:_:_:)``.
    public func checkPassword(_ password: Secret) async throws {
        _ = try await call("checkPassword", ["password": .string(password.reveal())], hiding: password)
    }

    /// Makes an account. The person can sign in at once.
    ///
    /// - Throws: ``SevenPassError`` with the code `email_taken`, `email_invalid` or `password_weak`; as
    ///   ``SevenPassClient/send(_:_:_:)``.
    public func registration(
        email: String, password: Secret, givenName: String? = nil, familyName: String? = nil
    ) async throws -> Registration {
        var account: JSON.Object = ["email": .string(email), "password": .string(password.reveal())]
        account["given_name"] = givenName.map(JSON.string)
        account["family_name"] = familyName.map(JSON.string)
        return try SevenPassClient.decode(
            Registration.self, try await call("registration", account, hiding: password))
    }

    private func call(_ path: String, _ object: JSON.Object, hiding password: Secret) async throws -> TransportResponse
    {
        let body = Array(JSON.object(object).serialized().utf8)
        return try await client.exchange(.post, path, body, hiding: [password])
    }
}
