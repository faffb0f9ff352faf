internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// What a step is for, where it is specified, and what is checked.
struct ExplainedStep: Sendable {
    let purpose: String
    let section: String
    /// What is checked in the response. If it is not so, the command fails with an error that says it.
    var checks: String?

    private init(_ purpose: String, _ section: String, _ checks: String? = nil) {
        (self.purpose, self.section, self.checks) = (purpose, section, checks)
    }

    /// Creates the explanation of an exchange with a server.
    init?(_ exchange: ObservedExchange) {
        let request = exchange.request
        let form = HiddenValues.form(of: request)
        switch exchange.stage {
        case _ where request.head.method == .head:
            self = .init("Asks for the head of an endpoint, to find out whether it responds.", "RFC 9110 §9.3.2")
        case .authorization where request.head.method == .get:
            self = .init(
                "Asks whether the provider knows the client, because it would say so only in the browser.",
                "RFC 6749 §4.1.2.1")
        case .authorization
        where form?.values("redirect_uri").isEmpty == false || form?.values("request").isEmpty == false:
            self = .init(
                "Sends the authorization request to the provider directly, so that the browser carries only a reference.",
                "RFC 9126 §2", "The response must have a reference, and for how long it is valid.")
        case .resource where request.head.headerFields[.authorization] == nil:
            self = .init("Asks the resource where to sign in.", "RFC 9728 §5")
        case .registration where request.head.method != .post:
            self = .init(
                "Reads or changes the registration of the client.", "RFC 7592 §2",
                "The response must be about this client.")
        case .token, .refresh, .authorization:
            guard let form else { return nil }
            self = Self.token(form)
        default:
            guard let step = Self.steps[exchange.stage] else { return nil }
            self = step
        }
    }

    /// The section for a step that is logged.
    static func section(_ stage: AuthError.Stage) -> String? {
        switch stage {
        case .redirect: "RFC 6749 §4.1.2, §10.12"
        case .idToken: "OpenID Connect Core §3.1.3.7"
        case .browser, .authorization: "RFC 8252 §7.3"
        case .logout: "OpenID Connect RP-Initiated Logout §3"
        default: nil
        }
    }

    private static let binding = """
        The state binds the response to it, the nonce the ID token, and the challenge the code: only this program has the \
        verifier.
        """

    static let authorizationRequest = ExplainedStep(
        "The browser takes this request to the provider, where the user signs in. " + binding,
        "RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1")
    static let pushedRequest = ExplainedStep(
        "The provider gets this request directly, and the browser takes only the reference to it there. " + binding,
        "RFC 9126 §4, RFC 7636 §4.3, OpenID Connect Core §3.1.2.1")
    static let endSession = ExplainedStep(
        """
        The browser asks the provider to end the session there too. The state binds the response to this sign-out.
        """, "OpenID Connect RP-Initiated Logout §2")

    private static let steps: [AuthError.Stage: ExplainedStep] = [
        .discovery: .init(
            "Asks the provider where its endpoints are, and what it supports.",
            "OpenID Connect Discovery §4, RFC 8414 §3",
            "The document must name exactly the requested issuer, and only URLs that this issuer may name."),
        .keys: .init(
            "Gets the public keys with which the provider signs.", "RFC 7517 §5, OpenID Connect Core §10.1.1",
            "Keys that are too weak, or of an unknown type, are not used."),
        .userInfo: .init(
            "Gets the user’s claims with the access token.", "OpenID Connect Core §5.3",
            "The 'sub' must be that of the ID token (§5.3.2)."),
        .resource: .init("Sends the request to the API with the access token.", "RFC 6750 §2.1, RFC 9449 §7.1"),
        .revocation: .init(
            "Tells the provider that the token is no longer needed.", "RFC 7009 §2.1",
            "With this status, the token is not valid any more, or never was (§2.2)."),
        .registration: .init(
            "Registers this program as a client at the provider.", "RFC 7591 §3.1",
            "The response must have a client ID."),
        .introspection: .init(
            "Asks the provider about a token.", "RFC 7662 §2.1", "The response must say whether the token is active."),
    ]

    private static func token(_ form: FormParameters) -> ExplainedStep {
        let type = "The response must have a token of the expected type."
        return switch form.values("grant_type").first.map(GrantType.init(rawValue:)) {
        case .authorizationCode?:
            .init(
                "Exchanges the code for tokens, once. The verifier proves that this program has made the request.",
                "RFC 6749 §4.1.3, RFC 7636 §4.5",
                type + " The ID token, if one was requested, must come with it, and is verified next.")
        case .refreshToken?:
            .init(
                "Exchanges the refresh token for a new access token. It is sent once: the provider may replace it.",
                "RFC 6749 §6", type + " An ID token must be the same user’s (OpenID Connect Core §12.2).")
        case .deviceCode?: .init("Asks whether the user has agreed on the other device.", "RFC 8628 §3.4", type)
        case .clientCredentials?: .init("Gets a token for the client itself.", "RFC 6749 §4.4.2", type)
        case .tokenExchange?: .init("Exchanges the token for one of another service.", "RFC 8693 §2.1", type)
        case nil:
            .init(
                "Gets a code that the user enters in a browser on another device.", "RFC 8628 §3.1",
                "The response must have both codes, the page, and for how long they are valid.")
        case .jwtBearer?: .init("Exchanges a signed statement about the user for a token.", "RFC 7523 §2.1", type)
        case .password?: .init("Exchanges the user’s name and password for a token.", "RFC 6749 §4.3.2", type)
        default: .init("Gets a token with another grant.", "RFC 6749 §4.5", type)
        }
    }
}

extension GrantType {
    /// RFC 9700 §2.4 forbids it, and old servers need it.
    fileprivate static let password = GrantType(rawValue: "password")
}
