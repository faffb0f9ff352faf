internal import HTTPTypes

/// A request for a code that the user enters on another device (RFC 8628 §3.1), for machines without a browser.
///
/// ```swift
/// let authorization = try await DeviceAuthorizationRequest(client: client).send(in: environment)
/// print("Open \(authorization.verificationURI) and enter \(authorization.userCode)")
/// let state = try await AuthState.awaitApproval(of: authorization, store: store, environment: environment)
/// ```
public struct DeviceAuthorizationRequest: Sendable {
    /// The client.
    public let client: Client
    /// The requested scopes.
    public let scope: [Scope]
    /// The resources that the access token is for (RFC 8707).
    public let resources: [String]
    /// The parameters, without the client's authentication.
    package let form: FormParameters
    let endpoint: SecureURL

    /// The names that an additional parameter must not have, because the library sets them.
    public static let reservedParameters: Set<String> = [
        "client_id", "scope", "client_secret", "client_assertion", "client_assertion_type",
    ]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - scope: The scopes. With `openid` the flow is OpenID Connect, otherwise only OAuth.
    ///   - resources: The resources that the access token is for (RFC 8707). The token request names them too.
    ///   - additionalParameters: Parameters that a provider defines beyond the RFC, for example `audience`.
    ///   - confirmed: The user's agreement to what ``AuthError/confirmation`` asks.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no device authorization
    ///   endpoint, ``AuthError/Code/invalidConfiguration`` for an additional parameter that the library sets itself or
    ///   that is given twice, for a scope value with an invalid character, and for an empty client ID;
    ///   ``AuthError/Code/confirmationRequired`` if a resource named the issuer and the user must agree first.
    public init(
        client: Client, scope: [Scope] = [.openID, .profile, .offlineAccess], resources: [String] = [],
        additionalParameters: [AuthorizationRequest.Options.Parameter] = [], confirmed: SignInConfirmation? = nil
    ) throws {
        endpoint = try client.require(.deviceAuthorization)
        try AuthorizationRequest.check(client, scope)
        self.client = try client.confirmed(confirmed, for: Self.endpoints)
        (self.scope, self.resources) = (scope, resources)
        var form = FormParameters()
        form.append("scope", scope.spaceDelimited)
        try FormParameters.check(
            additionalParameters.map(\.name), reserved: Self.reservedParameters, for: .authorization)
        for parameter in additionalParameters { form.append(parameter.name, parameter.value) }
        // RFC 8628 §3.1: parameters MUST NOT be included more than once.
        try form.requireEachOnce(for: .authorization)
        // RFC 8707 §2: this one may be.
        for resource in resources { form.append("resource", resource) }
        self.form = form
    }

    /// The endpoints that name the user's page, or that get a code or issue a token.
    package static let endpoints: [ProviderMetadata.Endpoint] = [.deviceAuthorization, .token]

    /// Sends the request with the authentication of the token endpoint (RFC 8628 §3.1), and strictly checks the
    /// response.
    ///
    /// Sends one POST and never repeats it.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func send(in environment: Environment) async throws -> DeviceAuthorization {
        let clientEndpoint = ClientEndpoint(client: client, environment: environment)
        let response = try await clientEndpoint.post(form, to: endpoint, stage: .authorization)
        guard response.isAccepted else {
            throw response.oauthError(from: endpoint, stage: .authorization)
        }
        return try DeviceAuthorization(response, to: self, received: environment.now())
    }
}
