internal import JOSE

extension AuthorizationRequest {
    /// The optional parts of an authorization request.
    public struct Options: Sendable, Hashable {
        /// The pages that the provider should show.
        ///
        /// If it is nil, the request has no `prompt`, except `consent` together with the scope `offline_access`,
        /// because most providers issue a refresh token only then (Core §11). If it is empty, the request never has a
        /// `prompt`.
        public var prompt: [Prompt]?
        /// The identifier of the user who will probably sign in.
        public var loginHint: String?
        /// The maximum age of the user's sign-in at the provider, in seconds. It is checked against the ID token's
        /// `auth_time`.
        public var maxAge: Int?
        /// The authentication contexts, in order of preference. An ID token with another `acr` is refused; see
        /// ``acceptsOtherACR``. To refuse an ID token without `acr` too, request the claim as essential in ``claims``.
        public var acrValues: [String] = []
        /// Whether an ID token is accepted if its `acr` is not among ``acrValues``, because they are only a preference
        /// (Core §3.1.2.1). By default, it is refused, as Core §3.1.3.7 step 12 recommends.
        public var acceptsOtherACR = false
        /// The languages for the provider's pages (BCP 47), in order of preference.
        public var uiLocales: [String] = []
        /// How the provider shows its pages: `page`, `popup`, `touch`, `wap`.
        public var display: String?
        /// Individually requested claims (Core §5.5).
        public var claims: JSON?
        /// The resources that the access token is for (RFC 8707).
        public var resources: [String] = []
        /// The detailed permissions that the user should grant (RFC 9396).
        public var authorizationDetails: [AuthorizationDetail] = []
        /// What the response contains.
        public var responseType = ResponseType.code
        /// Whether an ID token that comes with a code must have `s_hash` (FAPI 1.0 Advanced §5.1). If present, the hash
        /// is always checked.
        public var requiresStateHash = false
        /// How the response is returned. If it is nil, the request has no `response_mode`, which means
        /// ``AuthorizationRequest/ResponseMode/query``.
        public var responseMode: ResponseMode?
        /// An ID token of the user who should sign in.
        public var idTokenHint: Secret?
        /// Whether the request is sent to the provider directly, so that the browser carries only a reference to it
        /// (RFC 9126). If the provider requires this, it always happens.
        public var isPushed = false
        /// The name of the key that signs the request (RFC 9101); ``Environment/clientKey`` finds it. If it is nil, the
        /// request is signed only if the provider requires it, with the key of the client's authentication.
        public var signingKeyName: String?
        /// The user's agreement to what ``AuthError/confirmation`` asks. It is not sent.
        public var confirmed: SignInConfirmation?
        /// Further parameters, in order. The names in ``reservedParameters`` are not allowed.
        public var additionalParameters: [Parameter] = []

        /// A parameter that the app or the provider defines.
        public struct Parameter: Sendable, Hashable {
            /// The name.
            public let name: String
            /// The value, any Unicode.
            public let value: String
            /// Creates a parameter.
            public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
        }

        /// Creates options that request nothing.
        public init() {}

        /// The names that an additional parameter must not have, because the library sets them.
        public static let reservedParameters: Set<String> = [
            "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
            "code_challenge_method", "request", "request_uri",
        ]

        /// Moves additional parameters that have a property into it. The checks of the response, and the wait for it,
        /// then apply to them too.
        package func withTypedParameters() throws -> Options {
            guard !additionalParameters.isEmpty else { return self }
            var options = self
            options.additionalParameters = []
            for parameter in additionalParameters {
                switch parameter.name {
                case "max_age" where options.maxAge == nil:
                    guard let seconds = Int(parameter.value), seconds >= 0 else {
                        throw Self.refusal(
                            "expected 'max_age' to be a number of seconds, found \(parameter.value.foundText)")
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
                            "expected 'response_mode' to be query, form_post, jwt, query.jwt or form_post.jwt, found "
                                + parameter.value.foundText)
                    }
                    options.responseMode = mode
                default: options.additionalParameters.append(parameter)
                }
            }
            return options
        }

        /// Whether the app has chosen a parameter that the provider may set too.
        package func sets(_ name: String) -> Bool {
            let isChosen = ["prompt": prompt != nil, "ui_locales": !uiLocales.isEmpty, "display": display != nil]
            return isChosen[name] == true || additionalParameters.contains { $0.name == name }
        }

        /// Whether a response without the issuer's name, or with another one, is refused before its code is sent: by the
        /// `iss` that the provider promises (RFC 9207), or because the response or its ID token is signed (JARM §2.4,
        /// RFC 9700 §4.4.2).
        package func showsIssuer(of provider: ProviderMetadata) -> Bool {
            provider.authorizationResponseIssParameterSupported || responseMode?.isSigned == true
                || responseType == .codeIDToken
        }

        /// Multiple Response Types §5: a response with an ID token is in the fragment, unless another mode is named.
        func checkResponseType(_ scope: [Scope]) throws {
            guard responseType == .codeIDToken else { return }
            guard scope.contains(.openID) else {
                throw Self.refusal(
                    "expected the scope openid for the response type code id_token, found "
                        + "\(scope.spaceDelimited?.foundText ?? "none")")
            }
            guard let responseMode, responseMode.isPosted || responseMode.isSigned, responseMode != .jwt else {
                throw Self.refusal(
                    "expected the response mode form_post, form_post.jwt or query.jwt for the response type code id_token, "
                        + "found \(responseMode?.rawValue ?? "none")")
            }
        }

        private static func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message)
        }

        func append(to parameters: inout FormParameters, scope: [Scope], at provider: ProviderMetadata) throws {
            func list(_ values: [String]) -> String? { values.isEmpty ? nil : values.joined(separator: " ") }
            let isAdditional = Set(additionalParameters.map(\.name))
            // An additional `prompt` is also the app's choice. A list of prompts is in Initiating User Registration 1.0 §4.
            let isListed = provider.document[nonEmpty: "prompt_values_supported"]?.strings?.contains("consent") ?? true
            let isDefault = scope.contains(.offlineAccess) && !isAdditional.contains("prompt") && isListed
            let defaultPrompt: [Prompt] = isDefault ? [.consent] : []
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
            try FormParameters.check(
                additionalParameters.map(\.name), reserved: Self.reservedParameters, for: .authorization)
            for parameter in additionalParameters { parameters.append(parameter.name, parameter.value) }
        }
    }
}
