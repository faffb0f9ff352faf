public import FoundationEssentials

/// Every error of this library, but `CancellationError`, which passes through.
///
/// ```swift
/// do { token = try await state.freshAccessToken() }
/// catch let error as AuthError where error.code == .signInRequired { showSignInButton() }
/// catch let error as AuthError where error.isTemporary { showOfflineBanner(error.message) }
/// ```
public struct AuthError: Error, Sendable, Hashable {
    /// What went wrong.
    public var code: Code
    /// At which step of the flow.
    public var stage: Stage
    /// What was expected and what was found, in one line for a person: no control characters, at most 1000 code points, and
    /// never a token, code, secret, verifier or whole redirect URL.
    public var message: String
    /// Whether the server may have acted on the request.
    public var outcome: Outcome
    /// Whether the same call may succeed later without anything being changed.
    public var isTemporary: Bool
    /// What the server said, if it answered with an OAuth error.
    public var server: OAuthError?
    /// The status of the HTTP response, if there was one.
    public var httpStatus: Int?
    /// How many seconds the server asked to wait, by its `Retry-After`: 0 to 86,400, whatever it is set to.
    public var retryAfter: Int? {
        get { wait }
        set { wait = Self.allowed(newValue) }
    }
    private var wait: Int?
    /// When the next attempt is made, for a refresh that failed for a reason that may go away; until then callers get the
    /// error at once, and nothing is sent.
    public var nextAttempt: Date?
    /// Why the store refused, if the code is ``Code/store`` and an app can do something about it.
    public var storeProblem: StoreProblem?
    /// Whether this call sent nothing, since refreshes before it failed and ``nextAttempt`` has not come.
    public var isHeldBack = false
    /// The refresh token of a token response that is refused otherwise: it may be the only one that is still good.
    package var rotatedRefreshToken: Secret?
    /// Whether an ID token that the provider has signed is refused since it is another person's.
    package var isForeign = false

    /// Makes an error.
    public init(
        _ code: Code, _ stage: Stage, _ message: String, outcome: Outcome = .refused, isTemporary: Bool = false,
        server: OAuthError? = nil, httpStatus: Int? = nil, retryAfter: Int? = nil
    ) {
        self.code = code
        self.stage = stage
        self.message = message.onOneLine.shortened(to: 1000)
        self.outcome = outcome
        self.isTemporary = isTemporary
        self.server = server
        self.httpStatus = httpStatus
        wait = Self.allowed(retryAfter)
    }

    /// A day at most: what an app's own HTTP client reports may be anything.
    private static func allowed(_ seconds: Int?) -> Int? { seconds.map { min(max($0, 0), 86_400) } }
}

extension AuthError {
    /// A kind of error: one for each thing that a caller can do differently. Open, so that new kinds break nobody. Where
    /// the server answered with an OAuth error, its code stands here (`access_denied`, `invalid_client`, …).
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The code as `sign-in --json` prints it, for example `sign_in_required`.
        public let rawValue: String
        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Makes a code.
        public init(stringLiteral value: String) { rawValue = value }

        /// The code that a server answered with. One that means something else here is no code of a server's.
        init(server code: String) {
            let own: [Code] = [
                .invalidConfiguration, .transport, .timeout, .invalidResponse, .invalidMetadata, .issuerMismatch,
                .invalidRedirect, .wrongPaste, .invalidIDToken, .clockSkew, .signInRequired, .sessionReplaced,
                .noRefreshToken, .store, .listener, .browser, .unavailable,
            ]
            self = own.contains(Code(rawValue: code)) ? .invalidResponse : Code(rawValue: code)
        }

        /// What was pasted is not the address that the browser came back to for this request: the message says what it is
        /// instead, as far as that can be seen, and the person can try again.
        public static let wrongPaste: Code = "wrong_paste"
        /// A parameter, an issuer or a URL of the app's own is not acceptable.
        public static let invalidConfiguration: Code = "invalid_configuration"
        /// The server could not be reached, or the connection broke.
        public static let transport: Code = "transport"
        /// The time allowed was over.
        public static let timeout: Code = "timeout"
        /// The response is not what the protocol asks for: status, content type, size, JSON or members.
        public static let invalidResponse: Code = "invalid_response"
        /// The provider's metadata is not usable, or misses something that the flow needs.
        public static let invalidMetadata: Code = "invalid_metadata"
        /// The metadata speaks for another issuer than the one asked for.
        public static let issuerMismatch: Code = "issuer_mismatch"
        /// The redirect does not belong to the request, or is not well formed.
        public static let invalidRedirect: Code = "invalid_redirect"
        /// The ID token did not pass verification.
        public static let invalidIDToken: Code = "invalid_id_token"
        /// The ID token is fine but for its times: one of the two clocks is wrong.
        public static let clockSkew: Code = "clock_skew"
        /// There is no session, or it has ended: the person has to sign in (again).
        public static let signInRequired: Code = "sign_in_required"
        /// The store has the session of another sign-in, perhaps of another account. Restore it from the store to use it.
        public static let sessionReplaced: Code = "session_replaced"
        /// The access token has expired and there is no refresh token to get another one with.
        public static let noRefreshToken: Code = "no_refresh_token"
        /// The store could not be read or written.
        public static let store: Code = "store"
        /// The redirect listener could not bind its address.
        public static let listener: Code = "listener"
        /// No browser could be started.
        public static let browser: Code = "browser"
        /// The system lacks something that is needed, for example libcurl.
        public static let unavailable: Code = "unavailable"
        /// The server's code for a grant that is no longer good (RFC 6749 §5.2).
        public static let invalidGrant: Code = "invalid_grant"
        /// The server does not know the client or its authentication (RFC 6749 §5.2).
        public static let invalidClient: Code = "invalid_client"
        /// The person or the provider said no (RFC 6749 §4.1.2.1).
        public static let accessDenied: Code = "access_denied"
    }

    /// The step of the flow at which an error arose.
    public enum Stage: String, Sendable, Hashable {
        case configuration, discovery, keys, authorization, redirect, token, idToken, refresh, userInfo, resource
        case revocation, logout, store, browser, registration, introspection
    }

    /// What the server can have made of the request: decides whether it may be sent again.
    public enum Outcome: String, Sendable, Hashable {
        /// The request did not leave: resolving, connecting or TLS failed, or it was never made.
        case notSent
        /// The request went out and no response came: the server may have acted on it.
        case perhapsProcessed
        /// The server answered, or the response was refused here.
        case refused
    }
}

extension AuthError: CustomStringConvertible {
    /// Code and message in one line.
    public var description: String { "\(code.rawValue): \(message)" }
}
