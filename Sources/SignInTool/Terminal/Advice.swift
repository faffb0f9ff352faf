internal import AppAuth
internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// Advice on an error, in terms of the command's options. It is appended to the error's message.
struct Advice: Sendable {
    private struct Known { let authentication: ClientAuthentication, methods: [String]? }

    private let known = LockedValue<Known?>(nil)

    /// Records how the client authenticates, and the methods that its provider lists; nil if the user does not decide
    /// that.
    func note(_ authentication: ClientAuthentication?, at provider: ProviderMetadata? = nil) {
        known.withLock { known in
            known = authentication.map { Known(authentication: $0, methods: provider?.tokenEndpointAuthMethods) }
        }
    }

    /// Returns the error's message with the advice.
    ///
    /// - Parameter arguments: The arguments of the command that failed.
    func message(_ error: AuthError, _ arguments: [String]) -> String {
        let message = error.message(for: arguments)
        return advice(for: error, arguments).map { "\(message); \($0)" } ?? message
    }

    private func advice(for error: AuthError, _ arguments: [String]) -> String? {
        let description = error.server?.errorDescription?.lowercased() ?? ""
        let signsIn = ["login", "device"].contains(arguments.first)
        // Keycloak’s words, with the code invalid_request. With a proof, the other code means that the proof is wrong.
        if description.contains("dpop proof is missing") || signsIn && error.code == "invalid_dpop_proof",
            !arguments.contains("--dpop")
        {
            return signsIn ? "use --dpop" : "sign in again with --dpop"
        }
        if error.mayBeAboutClient, let known = known.withLock({ $0 }) { return Self.advice(known, error) }
        if error.code == "invalid_request", description.contains("pushed authorization") { return "use --par" }
        if error.code == "invalid_scope", ["login", "device", "password"].contains(arguments.first),
            SignInLine(arguments).value(of: "--scope") == nil
        {
            return "name the scopes with --scope"
        }
        if let advice = error.adviceOnAudience { return advice }
        if error.code == .invalidResponse, error.server == nil, error.message.hasSuffix("found only an ID token") {
            return "add a scope of an API to --scope (at Azure AD B2C, the client id is one)"
        }
        if error.code == .invalidIDToken, error.message.contains("since the scope contains 'openid'") {
            let without = "if the provider issues none in this way, use --scope without openid"
            // Some servers issue an ID token only with a code from the browser.
            guard arguments.first == "device" else { return without }
            let line = SignInLine([SignInLine.commands[0]] + arguments.dropFirst()).shellLine
            return "\(without), or sign in with the browser: \(line)"
        }
        if error.stage == .discovery, error.server == nil, error.message.hasSuffix("Check the issuer"),
            ["login", "device", "discover"].contains(arguments.first)
        {
            return "if the metadata is elsewhere, name its URL with --metadata-url"
        }
        if error.stage == .registration, error.message.contains("application/json, found 'text/html'") {
            return "the address is a page: register a client in a browser, and sign in with its --client-id"
        }
        if error.stage == .registration, let status = error.httpStatus, [401, 403, 404, 405].contains(status),
            !error.message.contains(" with: ")
        {
            let option = "--initial-access-token-file"
            guard status == 401, arguments.first == "register" else {
                return "register a client with the provider, and sign in with its --client-id"
            }
            return SignInLine(arguments).value(of: option) == nil
                ? "if the provider gave you a token for registrations, pass it with \(option)"
                : "check the token in the file of \(option)"
        }
        // The end of a message, and one without a server's error, is the library's own text. A server could make this program
        // say the rest.
        if error.server == nil, error.message.hasSuffix("ame its issuer") { return "use --issuer to name it" }
        if error.server == nil, error.message.contains("expected the token type DPoP") {
            return "the provider does not support DPoP: leave out --dpop"
        }
        if error.code == .invalidMetadata, error.message.contains("no 'jwks_uri'") {
            return "if it has no OpenID Connect, use --scope without openid"
        }
        if error.code == .invalidMetadata, arguments.contains("--token-endpoint"),
            let endpoint = ["authorization", "device"].first(where: { error.message.contains("no '" + $0 + "_") })
        {
            return "name it with --\(endpoint)-endpoint"
        }
        if error.isOfClosedKeyring, let profile = SignInLine(arguments).value(of: "--profile") {
            let line = SignInLine(["logout", "--profile", profile, "--local", "--forget"]).shellLine
            return "if it no longer opens, sign in elsewhere after: \(line)"
        }
        if error.code == .unavailable, error.message.contains("$XDG_RUNTIME_DIR"), arguments.first != "proxy" {
            return "without such a login, register a loopback redirect URI, and leave out --redirect-uri"
        }
        if let problem = error.connectionProblem, let advice = Self.advice(problem, arguments) { return advice }
        let isServerTrouble = error.stage != .userInfo && error.httpStatus.map { $0 >= 500 } == true
        let isOfPage = error.stage == .authorization && error.code == "temporarily_unavailable"
        if isOfPage || error.isTemporary && (error.stage == .refresh || error.retryAfter != nil || isServerTrouble),
            !error.message.hasSuffix("Try again later")
        {
            let stays = error.stage == .refresh ? "the session stays: " : ""
            // Keycloak says so if the page was open for too long: another attempt succeeds at once.
            return stays + "try again" + (error.retryAfter.map { " in \($0) s" } ?? (isOfPage ? "" : " later"))
        }
        if error.httpStatus == 407 { return "if the proxy requires another method, use --proxy-auth" }
        if error.isRejectionOfUserInfo, !error.message.contains(". Sign in with: ") {
            guard arguments.first == SignInLine.commands[0] else {
                if error.httpStatus == 403 {
                    return "it refuses the token as it is, and another sign-in would get no other"
                }
                // A session that can refresh its token has done so.
                return "it rejects a new access token too, and another sign-in would get no other"
            }
            let scope = SignInLine(arguments).value(of: "--scope").map([Scope].init(spaceDelimited:))
            return scope?.contains(.openID) == false
                ? "the userinfo endpoint takes only tokens of a sign-in with openid in --scope"
                : "the userinfo endpoint rejects a new access token: sign in without --userinfo"
        }
        if error.stage == .userInfo, arguments.first == SignInLine.commands[0] {
            return "you are not signed in: try again later, or without --userinfo"
        }
        return nil
    }

    private static func advice(_ problem: ConnectionProblem, _ arguments: [String]) -> String? {
        // In many networks, every address leads to a page until the user has logged in there.
        let page = "if this network has a log-in page, open it in a browser first"
        switch problem {
        case .untrustedRoot where !arguments.contains("--ca-file"):
            return "\(page); if you trust its authority, name the authority’s certificate with --ca-file"
        case .untrustedRoot, .certificateHost: return page
        case .certificateDate:
            return
                "this computer’s date is \(Timestamp.current.wall.formatted(.iso8601)): if that is wrong, set it (timedatectl)"
        default: return nil
        }
    }

    private static func advice(_ known: Known, _ error: AuthError) -> String? {
        let description = error.server?.errorDescription?.lowercased() ?? ""
        // The authorization endpoint sees no credential, and a right is not one.
        if error.stage == .authorization || description.contains("grant") { return nil }
        let isListed = known.methods.map { $0.contains(known.authentication.method) }
        // RFC 6749 §5.2: that code can mean anything else.
        if error.code == "invalid_request", known.authentication == .none, isListed != false { return nil }
        return switch known.authentication {
        case .none: "if the client has a secret, pass it with --client-secret-file"
        case .clientSecretBasic where known.methods?.contains("client_secret_post") == false,
            .clientSecretBasic where description.contains("secret is wrong") || description.contains("invalid secret"),
            .clientSecretPost:
            "check the client’s secret"
        // RFC 6749 §2.3.1: both parts are form-encoded first, which several servers do not decode.
        case .clientSecretBasic: "if the provider does not read the header as it should, use --client-auth post"
        // RFC 7523 §3 item 3: the provider decides which audiences it accepts.
        // If the provider explains the refusal otherwise, this hint would contradict it.
        case .clientSecretJWT(_, let audience)
        where audience == .issuer && (description.isEmpty || description.contains("aud")),
            .privateKeyJWT(_, let audience)
        where audience == .issuer && (description.isEmpty || description.contains("aud")):
            "if the provider accepts only its token endpoint as the audience, use --assertion-audience token-endpoint, unless "
                + "another provider knows the same key"
        default: nil
        }
    }
}

extension AuthError {
    /// The advice on an ID token with another audience, whose `azp` is the client; nil for other errors.
    var adviceOnAudience: String? {
        guard code == .invalidIDToken, message.contains("expected no audience beside"), message.hasSuffix("as 'azp'")
        else { return nil }
        return "if you trust that audience, name it with --trusted-audience"
    }

    /// Whether the keyring is there, and was not opened.
    var isOfClosedKeyring: Bool { storeProblem.map { [.locked, .dismissed, .unanswered].contains($0) } ?? false }

    /// Whether the userinfo endpoint rejects the access token (RFC 6750 §3.1).
    var isRejectionOfUserInfo: Bool {
        stage == .userInfo && ([401, 403].contains(httpStatus) || server?.error == "invalid_token")
    }

    /// Whether the provider does not know the client, or rejects its authentication (RFC 6749 §5.2). Glewlwyd and Slack have
    /// other codes for it.
    var isAboutClient: Bool { [.invalidClient, "unauthorized_client", "bad_client_secret"].contains(code) }

    /// Whether the error may be one about the client. idpyoidc has a code for it that can mean anything.
    fileprivate var mayBeAboutClient: Bool {
        isAboutClient || code == "invalid_request" && [.token, .refresh].contains(stage)
    }
}

extension Console {
    /// Reports the default scopes that are not requested.
    func sayLeftOut(_ scopes: [Scope]) {
        let names = scopes.spaceDelimited ?? ""
        say(
            "Not requested, because the provider or the client’s registration does not list it: \(names). To request it "
                + "anyway, use --scope.")
    }

    /// Warns if the metadata does not mention DPoP. A provider that supports DPoP may list its algorithms, but need not
    /// (RFC 9449 §5.1).
    func sayIfWithoutDPoP(_ provider: ProviderMetadata) {
        guard provider.document["dpop_signing_alg_values_supported"] == nil else { return }
        say("The provider’s metadata does not mention DPoP. If the sign-in fails, leave out --dpop.")
    }
}
