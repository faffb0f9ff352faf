/// An error of this library. `CancellationError`, and the errors of some closures of the app, are passed through unchanged.
///
/// ```swift
/// do { token = try await state.freshAccessToken() }
/// catch let error as AuthError where error.needsSignIn { showSignInButton() }
/// catch let error as AuthError where error.isTemporary { showOfflineBanner(error.message) }
/// ```
public struct AuthError: Error, Sendable, Hashable {
    /// What went wrong.
    public var code: Code
    /// The step of the flow at which the error arose.
    public var stage: Stage
    /// What failed, and often what to do, in one line for the user. It has no control characters, at most 4000 code
    /// points, and never contains a token, code, secret, verifier or whole redirect URL.
    public var message: String
    /// Whether the server may have acted on the request.
    public var outcome: Outcome
    /// Whether the same call may succeed later without a change.
    public var isTemporary: Bool
    /// Whether only a new sign-in helps: the session has ended, it has no refresh token or ID token, or the provider needs
    /// the user (`interaction_required`, `login_required`, `consent_required`). So it is, too, if each refresh is refused:
    /// by the provider, twice in a row (`unauthorized_client`, `invalid_request`), or because of its ID token (OpenID
    /// Connect Core §12.2).
    public var needsSignIn: Bool {
        isForGood || [.signInRequired, .noRefreshToken, .noIDToken].contains(code)
            || stage == .refresh && !isTemporary && Self.needsUser.contains(code)
    }
    /// OpenID Connect Core §3.1.2.6. Some providers send these in response to a refresh.
    private static let needsUser: [Code] = [
        "interaction_required", "login_required", "consent_required", "account_selection_required",
    ]
    /// The OAuth error of the server's response, if it had one.
    public var server: OAuthError?
    /// The status of the HTTP response, if there was one. 407 is that of a proxy that did not authenticate the user.
    public var httpStatus: Int?
    /// The response of an API, if it is the error: see `AuthState.get(_:)`. Do not log its body, which may contain the
    /// user's data.
    public var response: TransportResponse?
    /// The seconds to wait: the server's `Retry-After`, or the rest of the pause after failed refreshes. Values
    /// outside 0 to 86,400 are clamped.
    public var retryAfter: Int? {
        get { wait }
        set { wait = Self.allowed(newValue) }
    }
    private var wait: Int?
    /// How long to wait from now, when the error is thrown, before the call is worth repeating:
    /// `try await Task.sleep(for: error.retryDelay ?? .seconds(10))`.
    ///
    /// For a refresh, it is the pause before the next one; zero after a first failure, which causes no pause. Until its end,
    /// a call returns the current token if it is valid (for as long as `minimumValidity`, if given), and otherwise throws
    /// the error; only `forceRefresh` sends a refresh. For another request, it is the server's `Retry-After`. If nil, neither
    /// says how long.
    public var retryDelay: Duration? { refreshPause ?? retryAfter.map { .seconds($0) } }
    /// The pause before the next refresh.
    package var refreshPause: Duration?
    /// Why the store failed, if the code is ``Code/store`` and the app can do something about it.
    public var storeProblem: StoreProblem?
    /// Why the request was not sent; nil if it may have been, or if that is unknown.
    package var connectionProblem: ConnectionProblem?
    /// What the user must agree to, if the code is ``Code/confirmationRequired``.
    public var confirmation: SignInConfirmation?
    /// Whether this call sent nothing, because earlier refreshes failed and the pause after them is not over.
    public var isHeldBack = false
    /// The refresh token of a token response that is otherwise rejected: it may be the only one that is still valid.
    package var rotatedRefreshToken: Secret?
    /// Whether a correctly signed ID token is rejected because it belongs to another user.
    package var isForeign = false
    /// Whether each later refresh is expected to fail in the same way.
    package var isForGood = false
    /// Whether a key's device has asked for a PIN, and got none.
    var needsPIN = false

    /// Creates an error.
    ///
    /// - Parameter outcome: By default ``Outcome/refused``, and ``Outcome/notSent`` for ``Code/invalidConfiguration``.
    public init(
        _ code: Code, _ stage: Stage, _ message: String, outcome: Outcome? = nil, isTemporary: Bool = false,
        server: OAuthError? = nil, httpStatus: Int? = nil, retryAfter: Int? = nil
    ) {
        self.code = code
        self.stage = stage
        // The texts of others in it have lower limits. A command line in it must not be cut, since its quotes would be open.
        self.message = message.onOneLine.shortened(to: 4000)
        self.outcome = outcome ?? (code == .invalidConfiguration ? .notSent : .refused)
        self.isTemporary = isTemporary
        self.server = server
        self.httpStatus = httpStatus
        wait = Self.allowed(retryAfter)
    }

    /// Limits the value to a day, because an app's own HTTP client may report any number.
    private static func allowed(_ seconds: Int?) -> Int? { seconds.map { min(max($0, 0), 86_400) } }
}

extension AuthError {
    /// A kind of error, one for each case that a caller can handle differently. The type is open, so that new codes
    /// break no caller. If the server responded with an OAuth error, this is usually the server's code (`access_denied`,
    /// `invalid_client`, …). If a refresh ends the session, it is ``signInRequired``, and ``AuthError/server`` has the
    /// response.
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The code as `sign-in --json` prints it, for example `sign_in_required`.
        public let rawValue: String
        /// Creates a code.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a code.
        public init(stringLiteral value: String) { rawValue = value }

        /// Creates a code from a server's response. The library's own codes become ``invalidResponse``, so that no
        /// server can imitate one.
        init(server code: String) {
            let own: [Code] = [
                .invalidConfiguration, .transport, .timeout, .invalidResponse, .invalidMetadata, .issuerMismatch,
                .resourceMismatch, .invalidRedirect, .wrongPaste, .invalidIDToken, .clockSkew, .signInRequired,
                .sessionReplaced, .noRefreshToken, .noIDToken, .store, .listener, .browser, .unavailable,
                .confirmationRequired,
            ]
            self = own.contains(Code(rawValue: code)) ? .invalidResponse : Code(rawValue: code)
        }

        /// The pasted text is not the address at which the browser ended for this request. The message says what it is
        /// instead, if that can be recognized. The user can try again.
        public static let wrongPaste: Code = "wrong_paste"
        /// The app passed a parameter, an issuer or a URL that is not acceptable.
        public static let invalidConfiguration: Code = "invalid_configuration"
        /// The server could not be reached, or the connection broke.
        public static let transport: Code = "transport"
        /// The request took longer than the time allowed.
        public static let timeout: Code = "timeout"
        /// The response violates the protocol: its status, content type, size, JSON or members.
        public static let invalidResponse: Code = "invalid_response"
        /// The provider's metadata is unusable, or lacks something that the flow needs.
        public static let invalidMetadata: Code = "invalid_metadata"
        /// The metadata names another issuer than the requested one.
        public static let issuerMismatch: Code = "issuer_mismatch"
        /// The metadata is about another resource than the requested one, or the authorization server does not list the
        /// resource (RFC 9728 §3.3, §4).
        public static let resourceMismatch: Code = "resource_mismatch"
        /// The redirect does not belong to the request, or is malformed.
        public static let invalidRedirect: Code = "invalid_redirect"
        /// The ID token did not pass verification.
        public static let invalidIDToken: Code = "invalid_id_token"
        /// The ID token is valid except for its times: one of the two clocks is wrong.
        public static let clockSkew: Code = "clock_skew"
        /// There is no session, or it has ended: the user must sign in (again).
        public static let signInRequired: Code = "sign_in_required"
        /// The store holds the session of another sign-in, perhaps of another account. To use that one, restore it.
        public static let sessionReplaced: Code = "session_replaced"
        /// The access token has expired, and there is no refresh token.
        public static let noRefreshToken: Code = "no_refresh_token"
        /// The session has no ID token that is valid for long enough, and a refresh brings none.
        public static let noIDToken: Code = "no_id_token"
        /// The user must agree before the sign-in page opens: see ``AuthError/confirmation``.
        public static let confirmationRequired: Code = "confirmation_required"
        /// The store could not be read or written.
        public static let store: Code = "store"
        /// The redirect listener could not bind its address.
        public static let listener: Code = "listener"
        /// No browser could be started.
        public static let browser: Code = "browser"
        /// The system lacks something that is needed, for example libcurl.
        public static let unavailable: Code = "unavailable"
        /// The server's code for a grant that is no longer valid (RFC 6749 §5.2).
        public static let invalidGrant: Code = "invalid_grant"
        /// The server does not know the client or rejects its authentication (RFC 6749 §5.2).
        public static let invalidClient: Code = "invalid_client"
        /// The user or the provider denied the request (RFC 6749 §4.1.2.1).
        public static let accessDenied: Code = "access_denied"
    }

    /// A step of the flow.
    public enum Stage: String, Sendable, Hashable {
        case configuration, discovery, keys, authorization, redirect, token, idToken, refresh, userInfo, resource
        case revocation, logout, store, browser, registration, introspection
    }

    /// Whether the server can have processed the request, and therefore whether the request may be sent again.
    public enum Outcome: String, Sendable, Hashable {
        /// The request was not sent: it was never made, or resolving the name, connecting or TLS failed.
        case notSent
        /// The request was sent, and the server may have acted on it: no response came, or an error of the server (5xx),
        /// or a response that cannot be used.
        case perhapsProcessed
        /// The server rejected the request, or the library rejected data that is not a response to a request, such as a
        /// redirect.
        case refused
    }
}

extension AuthError: CustomStringConvertible {
    /// The code and the message in one line.
    public var description: String { "\(code.rawValue): \(message)" }
}
