internal import JOSE

/// An authorization response that was checked against its request: it can be made in no other way.
public struct AuthorizationResponse: Sendable {
    /// The request that it answers.
    public let request: AuthorizationRequest
    package let content: Content

    package enum Content: Sendable {
        /// What the response brings.
        case open(AuthorizationGrant)
        /// A token that holds the answer: that it is this request's is known, and no more. It is verified before anything
        /// of it is used.
        case signed(Secret)
    }
}

/// What an authorization response brings.
package struct AuthorizationGrant: Sendable {
    /// Good for one exchange, soon.
    package let code: Secret
    /// Vouches for the code, with the response type `code id_token`. Not verified yet.
    package let idToken: Secret?
}

extension AuthorizationRequest {
    /// Checks what the browser came back with (RFC 6749 §4.1.2, RFC 9207 §2.4, RFC 9700 §4.7).
    ///
    /// Nothing of it is looked at before the state has matched, in constant time: not `error`, not `iss`, not `code`. What
    /// the provider has signed (JARM, or an ID token beside the code) is verified by
    /// ``AuthState/init(exchanging:store:environment:)``, before the code is sent.
    ///
    /// - Parameter query: The query as it came, without `?`, still encoded; or the body of a form post, which is written
    ///   the same way (OAuth 2.0 Form Post Response Mode §2).
    /// - Returns: nil if it does not belong to this request (its state is missing or another one): whatever came, the
    ///   answer is still to come.
    /// - Throws: ``AuthError``, which ends this request: ``AuthError/Code/invalidRedirect`` for a repeated parameter, a
    ///   wrong or missing `iss`, or no code; the provider's own code (``AuthError/Code/accessDenied``, …) if it said no.
    public func response(fromQuery query: String) throws -> AuthorizationResponse? {
        guard let parameters = FormParameters(decoding: query) else {
            // One piece that cannot be read (an explanation in Latin-1, say) must not make the person wait for ever.
            let pieces = query.split(separator: "&").compactMap { FormParameters(decoding: $0) }
            guard pieces.contains(where: isAnswered) else { return nil }
            throw refusal("expected parameters in UTF-8 with complete escapes, found others")
        }
        if options.responseMode?.isSigned == true, let token = signedResponse(in: parameters) {
            return AuthorizationResponse(request: self, content: .signed(token))
        }
        guard isAnswered(by: parameters) else { return nil }
        // JARM §2.3: where a signed response was asked for, nothing else is one.
        guard options.responseMode?.isSigned != true else {
            throw refusal("expected a signed response in 'response', found an open one")
        }
        return AuthorizationResponse(request: self, content: .open(try grant(in: parameters)))
    }

    /// What the parameters of a response to this request bring.
    func grant(in parameters: FormParameters) throws -> AuthorizationGrant {
        // RFC 6749 §3.1: parameters are not repeated.
        if let name = parameters.repeatedName { throw refusal("expected each parameter once, found '\(name)' twice") }
        try checkIssuer(parameters.values("iss").first)
        // RFC 6749 §3.1: a parameter without a value is as good as missing.
        if let error = parameters.values("error").first, !error.isEmpty {
            let server = OAuthError(
                error: error, errorDescription: parameters.values("error_description").first,
                errorURI: parameters.values("error_uri").first, hiding: [state, nonce].compactMap(\.self))
            throw AuthError(
                AuthError.Code(server: server.error), .authorization, "the provider answered \(server.summary)",
                isTemporary: ["temporarily_unavailable", "server_error"].contains(server.error), server: server)
        }
        guard let code = parameters.values("code").first, !code.isEmpty else {
            throw refusal("expected a 'code', found none")
        }
        guard options.responseType == .codeIDToken else { return AuthorizationGrant(code: Secret(code), idToken: nil) }
        guard let idToken = parameters.values("id_token").first, !idToken.isEmpty else {
            throw refusal("expected an 'id_token', found none")
        }
        return AuthorizationGrant(code: Secret(code), idToken: Secret(idToken))
    }

    private func isAnswered(by parameters: FormParameters) -> Bool {
        parameters.values("state").contains { constantTimeEqual($0, state.reveal()) }
    }

    /// RFC 9207 §2.4: an `iss` is compared exactly, and missing where the provider promised it the response is refused:
    /// it may come from another provider that this app uses (RFC 9700 §4.4).
    private func checkIssuer(_ iss: String?) throws {
        let expected = client.provider.issuer.string
        if let iss {
            guard constantTimeEqual(iss, expected) else {
                throw refusal("expected 'iss' to be '\(expected)', found '\(iss.prefix(200))'")
            }
        } else if client.provider.authorizationResponseIssParameterSupported {
            throw refusal("expected 'iss', which the provider promises, found none")
        }
    }

    func refusal(_ message: String) -> AuthError {
        AuthError(.invalidRedirect, .redirect, "the redirect is refused: \(message)")
    }
}
