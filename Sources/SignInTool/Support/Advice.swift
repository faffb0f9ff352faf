internal import AppAuth
internal import JOSE

/// What the user can do about an error, by the options of the command. It is part of the error's one line.
struct Advice: Sendable {
    private let authentication = LockedValue<ClientAuthentication?>(nil)

    /// Notes how the client authenticates.
    func note(_ known: ClientAuthentication) { authentication.withLock { $0 = known } }

    /// The error's message, with the advice.
    ///
    /// - Parameter arguments: Those of the command that failed.
    func message(_ error: AuthError, _ arguments: [String]) -> String {
        let message = error.message(for: arguments)
        return advice(for: error).map { "\(message); \($0)" } ?? message
    }

    private func advice(for error: AuthError) -> String? {
        let description = error.server?.errorDescription?.lowercased() ?? ""
        if error.code == .invalidClient { return authentication.withLock { $0 }.flatMap(Self.advice) }
        if error.code == "invalid_request", description.contains("pushed authorization") { return "use --par" }
        if error.message.contains("expected the token type DPoP") {
            return "the provider does not bind tokens to keys: leave out --dpop"
        }
        // The library has refreshed the token by now, if the provider says that it is no longer valid.
        if error.stage == .userInfo, error.httpStatus == 401 {
            return "the userinfo endpoint takes no such access token: sign in again with openid in --scope"
        }
        return nil
    }

    private static func advice(_ authentication: ClientAuthentication) -> String? {
        switch authentication {
        case .none: "if the client has a secret, give it by --client-secret-file"
        // RFC 7523 §3 item 3: which audiences it takes is the provider's choice.
        case .clientSecretJWT(_, let assertion) where assertion.audience == .issuer,
            .privateKeyJWT(_, let assertion) where assertion.audience == .issuer:
            "if the provider takes only its token endpoint as the audience, sign in with --assertion-audience token-endpoint"
        default: nil
        }
    }
}

extension Console {
    /// Says what of the default is not asked for.
    func sayLeftOut(_ scopes: [Scope]) {
        let names = scopes.spaceDelimited ?? ""
        say("Not asked for, since the provider does not list it: \(names). Use --scope to ask for it all the same.")
    }

    /// RFC 9449 §5.1: a provider that knows DPoP lists its algorithms, but it need not.
    func sayIfWithoutDPoP(_ provider: ProviderMetadata) {
        guard provider.document["dpop_signing_alg_values_supported"] == nil else { return }
        say("The provider's metadata does not mention DPoP. If the sign-in fails, leave out --dpop.")
    }
}
