internal import HTTPTypes

/// Asks a provider to have somebody approve a sign-in on their own device (OpenID Connect Client-Initiated Backchannel
/// Authentication §7.1), in poll mode: for a till, a call centre, a terminal that somebody else stands at.
///
/// ```swift
/// var request = try BackchannelAuthenticationRequest(client: client, hint: .login("jane@example.org"))
/// let authentication = try await request.send(in: environment)
/// print("Confirm \(request.bindingMessage ?? "") on your phone")
/// let state = try await AuthState(awaiting: authentication, store: store, environment: environment)
/// ```
public struct BackchannelAuthenticationRequest: Sendable {
    /// The client that asks.
    public let client: Client
    /// Who is to approve.
    public let hint: Hint
    /// What is asked for, with `openid`.
    public let scope: [Scope]
    /// What else is asked.
    public let options: Options
    private let endpoint: SecureURL

    /// Who is to approve: exactly one hint (§7.1).
    public enum Hint: Sendable, Hashable {
        /// What the person calls themselves there: a name, an e-mail address, a telephone number.
        case login(String)
        /// What somebody else says about who it is.
        case loginToken(Secret)
        /// Whoever an earlier ID token is about.
        case idToken(IDToken)
    }

    /// What may be asked beyond the scope.
    public struct Options: Sendable, Hashable {
        /// What both devices show, so that the person sees that the two belong together: short, and without secrets.
        public var bindingMessage: String?
        /// What only the person knows, where the provider wants to be sure that they are asked on their own wish.
        public var userCode: Secret?
        /// For how many seconds the person may decide; nil leaves it to the provider.
        public var requestedExpiry: Int?
        /// The authentication contexts that would do, the best first.
        public var acrValues: [String] = []
        /// What a provider wants beyond the specification.
        public var additionalParameters: [AuthorizationRequest.Options.Parameter] = []

        /// Nothing more.
        public init() {}
    }

    /// What an extra parameter may not be, since the library answers for it.
    public static let reservedParameters: Set<String> = [
        "scope", "login_hint", "login_hint_token", "id_token_hint", "binding_message", "user_code", "requested_expiry",
        "acr_values", "client_notification_token", "request", "client_id", "client_secret", "client_assertion",
        "client_assertion_type",
    ]

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - client: A client that authenticates (§7.1), with a provider that has the endpoint.
    ///   - hint: Who is to approve.
    ///   - scope: What is asked for; has to hold `openid`.
    ///   - options: What else.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no such endpoint or no poll
    ///   mode, ``AuthError/Code/invalidConfiguration`` for a scope without `openid`, an expiry below a second, an empty
    ///   hint, and for an extra parameter that the library sets itself, or one given twice.
    public init(
        client: Client, hint: Hint, scope: [Scope] = [.openID, .profile, .offlineAccess], options: Options = .init()
    ) throws {
        endpoint = try client.require(.backchannelAuthentication)
        // CIBA Core §4: the delivery modes are REQUIRED in the metadata of a provider that has the endpoint.
        let modes = client.provider.document["backchannel_token_delivery_modes_supported"]?.strings
        guard modes?.contains("poll") ?? true else {
            throw AuthError(
                .invalidMetadata, .authorization,
                "expected the provider to support the delivery mode poll, found \(modes?.joined(separator: ", ") ?? "")",
                outcome: .notSent)
        }
        // §7.1: openid is REQUIRED.
        guard scope.contains(.openID) else {
            throw Self.refusal("expected the scope to contain openid, found '\(scope.spaceDelimited ?? "")'")
        }
        if let value = scope.first(where: { !$0.isWellFormed }) {
            throw Self.refusal(
                "expected a scope value in visible ASCII without space, quote and backslash, found '\(value.rawValue)'")
        }
        guard hint.parameter.value?.isEmpty == false else { throw Self.refusal("expected a hint, found an empty one") }
        guard options.requestedExpiry.map({ $0 > 0 }) ?? true else {
            throw Self.refusal("expected an expiry of at least a second, found \(options.requestedExpiry ?? 0)")
        }
        if let name = options.additionalParameters.map(\.name).first(where: Self.reservedParameters.contains) {
            throw Self.refusal("the parameter '\(name)' is the library's own")
        }
        (self.client, self.hint, self.scope, self.options) = (client, hint, scope, options)
        if let name = form.repeatedName { throw Self.refusal("the parameter '\(name)' is given twice") }
    }

    /// Sends the request, authenticated as at the token endpoint (§7.1), and reads the response strictly.
    ///
    /// One POST, not repeated: each asks the person.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error (§13: `unknown_user_id`,
    ///   `missing_user_code`, `invalid_user_code`, `invalid_binding_message`, `expired_login_hint_token`, …),
    ///   ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``, ``AuthError/Code/timeout``;
    ///   `CancellationError`.
    public func send(in environment: Environment) async throws -> BackchannelAuthentication {
        let clientEndpoint = ClientEndpoint(client: client, environment: environment)
        let response = try await clientEndpoint.post(form, to: endpoint, stage: .authorization)
        guard response.status == .ok else {
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
        AuthError(.invalidConfiguration, .authorization, message, outcome: .notSent)
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
    /// CIBA Core §10.1.
    public static let ciba = GrantType(rawValue: "urn:openid:params:grant-type:ciba")
}
