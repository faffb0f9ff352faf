internal import HTTPTypes
internal import JOSE

/// A request to have a user approve a sign-in on their own device, in poll mode (OpenID Connect Client-Initiated
/// Backchannel Authentication §7.1). For a till, a call centre, or a terminal that another user operates.
///
/// ```swift
/// let request = try BackchannelAuthenticationRequest(client: client, hint: .login("jane@example.org"))
/// let authentication = try await request.send(in: environment)
/// print("Confirm \(request.options.bindingMessage ?? "") on your phone")
/// let state = try await AuthState.awaitApproval(of: authentication, store: store, environment: environment)
/// ```
public struct BackchannelAuthenticationRequest: Sendable {
    /// The client.
    public let client: Client
    /// The user who should approve.
    public let hint: Hint
    /// The requested scopes, including `openid`.
    public let scope: [Scope]
    /// The other options.
    public let options: Options
    private let endpoint: SecureURL

    /// The user who should approve: exactly one hint (§7.1).
    public enum Hint: Sendable, Hashable {
        /// The user's identifier at the provider: a name, an email address, a telephone number.
        case login(String)
        /// A token that identifies the user.
        case loginToken(Secret)
        /// An earlier ID token of the user.
        case idToken(IDToken)
    }

    /// The optional parts of the request.
    public struct Options: Sendable, Hashable {
        /// A short text that both devices show, so that the user can match them. It must not contain secrets.
        public var bindingMessage: String?
        /// A code that only the user knows. Some providers require it, so that only the user can start a request.
        public var userCode: Secret?
        /// How long the user may decide, in seconds; nil leaves it to the provider.
        public var requestedExpiry: Int?
        /// The acceptable authentication contexts, in order of preference.
        public var acrValues: [String] = []
        /// The user's agreement to what ``AuthError/confirmation`` asks. It is not sent.
        public var confirmed: SignInConfirmation?
        /// Parameters that a provider defines beyond the specification.
        public var additionalParameters: [AuthorizationRequest.Options.Parameter] = []

        /// Creates options that request nothing.
        public init() {}
    }

    /// The names that an additional parameter must not have, because the library sets them.
    public static let reservedParameters: Set<String> = [
        "scope", "login_hint", "login_hint_token", "id_token_hint", "binding_message", "user_code", "requested_expiry",
        "acr_values", "client_notification_token", "request", "client_id", "client_secret", "client_assertion",
        "client_assertion_type",
    ]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - client: A client that authenticates (§7.1), of a provider with the endpoint.
    ///   - hint: The user who should approve.
    ///   - scope: The scopes, which must include `openid`.
    ///   - options: The other options.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no such endpoint or no poll
    ///   mode, ``AuthError/Code/invalidConfiguration`` for a scope without `openid`, a scope value with an invalid
    ///   character, an expiry below a second, an empty hint, and for an additional parameter that the library sets
    ///   itself or that is given twice; ``AuthError/Code/confirmationRequired`` if a resource named the issuer and the
    ///   user must agree first.
    public init(
        client: Client, hint: Hint, scope: [Scope] = [.openID, .profile, .offlineAccess], options: Options = .init()
    ) throws {
        endpoint = try client.require(.backchannelAuthentication)
        // CIBA Core §4: a provider with the endpoint MUST list its delivery modes.
        let modes = client.provider.document["backchannel_token_delivery_modes_supported"]?.strings
        guard modes?.contains("poll") ?? true else {
            throw AuthError(
                .invalidMetadata, .authorization,
                "expected the provider to support the delivery mode poll, found \((modes ?? []).joined(separator: ", ").foundText)",
                outcome: .notSent)
        }
        // §7.1: openid is REQUIRED.
        guard scope.contains(.openID) else {
            throw Self.refusal("expected the scope to contain openid, found \((scope.spaceDelimited ?? "").foundText)")
        }
        try scope.check(for: .authorization)
        guard hint.parameter.value?.isEmpty == false else { throw Self.refusal("expected a hint, found an empty one") }
        guard options.requestedExpiry.map({ $0 > 0 }) ?? true else {
            throw Self.refusal("expected an expiry of at least a second, found \(options.requestedExpiry ?? 0)")
        }
        try FormParameters.check(
            options.additionalParameters.map(\.name), reserved: Self.reservedParameters, for: .authorization)
        self.client = try client.confirmed(options.confirmed, for: [.backchannelAuthentication, .token])
        (self.hint, self.scope, self.options) = (hint, scope, options)
        try form.requireEachOnce(for: .authorization)
    }

    /// Sends the request with the authentication of the token endpoint (§7.1), and checks the response strictly.
    ///
    /// Sends one POST and never repeats it: each one asks the user.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error (§13: `unknown_user_id`,
    ///   `missing_user_code`, `invalid_user_code`, `invalid_binding_message`, `expired_login_hint_token`, …),
    ///   ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``, ``AuthError/Code/timeout``;
    ///   `CancellationError`.
    public func send(in environment: Environment) async throws -> BackchannelAuthentication {
        let clientEndpoint = ClientEndpoint(client: client, environment: environment)
        let response = try await clientEndpoint.post(form, to: endpoint, stage: .authorization)
        guard response.isAccepted else {
            throw response.oauthError(from: endpoint, stage: .authorization)
        }
        return try BackchannelAuthentication(response, to: self, received: environment.now())
    }

    private var form: FormParameters {
        var form = FormParameters()
        form.append("scope", scope.spaceDelimited)
        form.append(hint.parameter.name, hint.parameter.value)
        form.append("binding_message", options.bindingMessage)
        form.append("user_code", options.userCode?.reveal())
        form.append("requested_expiry", options.requestedExpiry.map(String.init))
        form.append("acr_values", options.acrValues.isEmpty ? nil : options.acrValues.joined(separator: " "))
        for parameter in options.additionalParameters { form.append(parameter.name, parameter.value) }
        return form
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .authorization, message)
    }
}

extension BackchannelAuthenticationRequest.Hint {
    fileprivate var parameter: (name: String, value: String?) {
        switch self {
        case .login(let name): ("login_hint", name)
        case .loginToken(let token): ("login_hint_token", token.reveal())
        case .idToken(let token): ("id_token_hint", token.rawValue.reveal())
        }
    }
}

extension GrantType {
    /// The CIBA grant (CIBA Core §10.1).
    public static let ciba = GrantType(rawValue: "urn:openid:params:grant-type:ciba")
}
