internal import JOSE

extension AuthorizationRequest {
    /// What a request may ask for beyond the scope.
    public struct Options: Sendable, Hashable {
        /// What the provider should show. nil means: nothing said, except `consent` together with the scope
        /// `offline_access`, since providers give a refresh token only then (Core §11). An empty list says nothing in
        /// any case.
        public var prompt: [Prompt]?
        /// Who is probably going to sign in.
        public var loginHint: String?
        /// How many seconds ago the person may have signed in at the provider; the ID token's `auth_time` is checked.
        public var maxAge: Int?
        /// Authentication contexts, the preferred one first. If the ID token names one, it has to be among these.
        public var acrValues: [String] = []
        /// Languages for the provider's pages (BCP 47), the preferred one first.
        public var uiLocales: [String] = []
        /// How the provider shows its pages: `page`, `popup`, `touch`, `wap`.
        public var display: String?
        /// Single claims that are asked for (Core §5.5).
        public var claims: JSON?
        /// Where the access token is meant for (RFC 8707).
        public var resources: [String] = []
        /// What the person should allow in detail (RFC 9396).
        public var authorizationDetails: [AuthorizationDetail] = []
        /// What the response is to bring.
        public var responseType = ResponseType.code
        /// Whether the ID token that comes with a code has to have `s_hash` (FAPI 1.0 Advanced §5.1); where it has one, it is
        /// checked in any case.
        public var requiresStateHash = false
        /// How the response comes back; nil says nothing, which means ``AuthorizationRequest/ResponseMode/query``.
        public var responseMode: ResponseMode?
        /// An ID token of the person who should sign in.
        public var idTokenHint: Secret?
        /// Whether the request goes to the provider directly, and the browser carries no more than a reference to it (RFC
        /// 9126). Done without being asked where the provider requires it.
        public var isPushed = false
        /// The name of the key that the request is signed with (RFC 9101); ``Environment/clientKey`` finds it. nil signs
        /// only where the provider requires it, with the key that the client authenticates by.
        public var signingKeyName: String?
        /// Anything else, in order; never one of ``reservedParameters``.
        public var additionalParameters: [Parameter] = []

        /// A parameter of the app's or the provider's own.
        public struct Parameter: Sendable, Hashable {
            /// The name.
            public let name: String
            /// The value, any Unicode.
            public let value: String
            /// Puts a parameter together.
            public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
        }

        /// Asks for nothing.
        public init() {}

        /// What an extra parameter may not be, since the library answers for it.
        public static let reservedParameters: Set<String> = [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "request", "request_uri",
        ]

        /// What the response is checked against, and how it is waited for, counts wherever it was asked for, also among the
        /// extra parameters.
        package func withTypedParameters() throws -> Options {
            var options = self
            options.additionalParameters = []
            for parameter in additionalParameters {
                switch parameter.name {
                case "max_age" where options.maxAge == nil:
                    guard let seconds = Int(parameter.value), seconds >= 0 else {
                        throw Self.refusal("expected 'max_age' to be a number of seconds, found '\(parameter.value)'")
                    }
                    options.maxAge = seconds
                case "acr_values" where options.acrValues.isEmpty:
                    options.acrValues = parameter.value.split(separator: " ").map(String.init)
                case "claims" where options.claims == nil:
                    guard let claims = try? JSON(parsing: Array(parameter.value.utf8)), claims.object != nil else {
                        throw Self.refusal("expected 'claims' to be a JSON object, found something else")
                    }
                    options.claims = claims
                case "authorization_details" where options.authorizationDetails.isEmpty:
                    options.authorizationDetails = try AuthorizationDetail.list(parameter.value)
                case "response_mode" where options.responseMode == nil:
                    guard let mode = ResponseMode(rawValue: parameter.value) else {
                        throw Self.refusal(
                            "expected 'response_mode' to be query, form_post or one of their kinds with .jwt, found "
                                + "'\(parameter.value)'")
                    }
                    options.responseMode = mode
                default: options.additionalParameters.append(parameter)
                }
            }
            return options
        }

        /// Multiple Response Types §5: a response with an ID token comes in the fragment, unless another mode is named.
        func checkResponseType(_ scope: [Scope]) throws {
            guard responseType == .codeIDToken else { return }
            guard scope.contains(.openID) else {
                throw Self.refusal(
                    "expected the scope openid for the response type code id_token, found "
                        + "\(scope.spaceDelimited.map { "'\($0)'" } ?? "none")")
            }
            guard let responseMode, responseMode.isPosted || responseMode.isSigned, responseMode != .jwt else {
                throw Self.refusal(
                    "expected the response mode form_post, form_post.jwt or query.jwt for the response type code id_token, "
                        + "found \(responseMode?.rawValue ?? "none")")
            }
        }

        private static func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message, outcome: .notSent)
        }

        func append(to parameters: inout FormParameters, scope: [Scope]) throws {
            func list(_ values: [String]) -> String? { values.isEmpty ? nil : values.joined(separator: " ") }
            let isAdditional = Set(additionalParameters.map(\.name))
            // A prompt among the extra parameters is the app's own word too.
            let defaultPrompt: [Prompt] =
                scope.contains(.offlineAccess) && !isAdditional.contains("prompt") ? [.consent] : []
            parameters.append("prompt", list((prompt ?? defaultPrompt).map(\.rawValue)))
            parameters.append("login_hint", loginHint)
            parameters.append("max_age", maxAge.map(String.init))
            parameters.append("acr_values", list(acrValues))
            parameters.append("ui_locales", list(uiLocales))
            parameters.append("display", display)
            parameters.append("claims", claims?.serialized())
            if !authorizationDetails.isEmpty {
                parameters.append("authorization_details", authorizationDetails.json.serialized())
            }
            for resource in resources { parameters.append("resource", resource) }
            parameters.append("response_mode", responseMode?.rawValue)
            parameters.append("id_token_hint", idTokenHint?.reveal())
            for parameter in additionalParameters {
                guard !Self.reservedParameters.contains(parameter.name) else {
                    throw AuthError(
                        .invalidConfiguration, .authorization, "the parameter '\(parameter.name)' is the library's own",
                        outcome: .notSent)
                }
                parameters.append(parameter.name, parameter.value)
            }
        }
    }
}
