public import AppAuth
internal import HTTPTypes

/// A client for the calls that need no user: checks of an email address or a password, and a registration.
///
/// ```swift
/// let credentials = try await SevenPassCredentialsClient(configuration)
/// try await credentials.checkMail("jane@example.com")
/// try await credentials.checkPassword(password)
/// let jane = try await credentials.registration(email: "jane@example.com", password: password)
/// ```
/// The calls are below `/api/client/`, carry `X-Service-Id`, and send forms. A failure is in `data.error` or
/// `data.errors` of a response, even of one with status 200, beside `flags`. The names of the parameters and the codes of
/// the errors are assumed: only the paths, the header field and the place of the failures are known.
///
/// Its token comes from the client credentials grant (RFC 6749 §4.4). It is valid for 15 minutes and has no refresh
/// token. The client requests a new one automatically.
public struct SevenPassCredentialsClient: Sendable {
    private let client: SevenPassClient

    /// A user that 7Pass has registered.
    public struct Registration: Sendable, Hashable, Decodable {
        /// The user's id, which is the `sub` of later ID tokens.
        public let sub: String
        /// The address with which the user signs in.
        public let email: String
    }

    /// Restores the token from the store, or requests one if the store has none of this client, as
    /// ``AuthState/restoreOrPresent(_:as:store:)`` does.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of a client with a secret. Its scope is not requested, since there is no
    ///     user.
    ///   - store: The store for the token; by default in memory.
    /// - Throws: ``AuthError``: ``AuthError/Code/invalidClient``, and the errors of ``Discovery`` and the store.
    public init(
        _ configuration: SevenPassConfiguration, store: any TokenStore = MemoryTokenStore(),
        environment: Environment = .live
    ) async throws {
        let state = try await AuthState.restoreOrPresent(
            .clientCredentials(), as: configuration.client(environment), store: store)
        client = try SevenPassClient(
            state, configuration, base: configuration.clientBase(),
            configuration.serviceID ?? configuration.clientID)
    }

    /// Checks that an address is well formed and has no account yet.
    ///
    /// - Throws: ``SevenPassError`` with the code `email_taken` or `email_invalid`; as
    ///   ``SevenPassClient/send(_:_:_:query:headers:)``.
    public func checkMail(_ email: String) async throws {
        _ = try await call("checkMail", ["email": email])
    }

    /// Checks that 7Pass accepts a password.
    ///
    /// - Throws: ``SevenPassError`` with the code `password_weak`; as ``SevenPassClient/send(_:_:_:query:headers:)``.
    public func checkPassword(_ password: Secret) async throws {
        _ = try await call("checkPassword", ["password": password.reveal()], hiding: password)
    }

    /// Creates an account. The user can sign in at once.
    ///
    /// - Throws: ``SevenPassError`` with the code `email_taken`, `email_invalid` or `password_weak`; as
    ///   ``SevenPassClient/send(_:_:_:query:headers:)``.
    public func registration(
        email: String, password: Secret, givenName: String? = nil, familyName: String? = nil
    ) async throws -> Registration {
        var account = ["email": email, "password": password.reveal()]
        account["given_name"] = givenName
        account["family_name"] = familyName
        return try SevenPassClient.decode(
            RegistrationResponse.self, try await call("registration", account, hiding: password)
        ).data
    }

    private struct RegistrationResponse: Decodable { let data: Registration }

    private func call(
        _ path: String, _ form: [String: String], hiding password: Secret? = nil
    ) async throws -> TransportResponse {
        let secrets = [password].compactMap(\.self)
        let response = try await client.exchange(
            SevenPassCall(.post, path, body: .form(FormParameters(form))), hiding: secrets)
        // The failure is in the body even if the status is 200.
        guard !response.hasFailedData else { throw SevenPassError(response, hiding: secrets) }
        return response
    }
}
