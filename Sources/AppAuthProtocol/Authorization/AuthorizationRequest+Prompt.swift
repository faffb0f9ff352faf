extension AuthorizationRequest {
    /// A value of `prompt` (Core §3.1.2.1).
    public struct Prompt: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        /// The value as it is sent.
        public let rawValue: String
        /// Creates a value.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a value.
        public init(stringLiteral value: String) { rawValue = value }

        /// Show nothing: succeed with the existing session, or fail.
        public static let none: Prompt = "none"
        /// Ask for the password again.
        public static let login: Prompt = "login"
        /// Ask for consent again.
        public static let consent: Prompt = "consent"
        /// Let the user choose an account.
        public static let selectAccount: Prompt = "select_account"
        /// Let the user create an account (OpenID Connect Prompt Create).
        public static let create: Prompt = "create"
    }
}
