internal import JOSE

/// An authorization response that has been checked against its request. Only that check creates one.
public struct AuthorizationResponse: Sendable {
    /// The request.
    public let request: AuthorizationRequest
    package let content: Content

    package enum Content: Sendable {
        /// The contents of the response.
        case open(AuthorizationGrant)
        /// A token with the contents. Only its state has been checked; it is verified before anything else is used.
        case signed(Secret)
    }
}

/// The contents of an authorization response.
package struct AuthorizationGrant: Sendable {
    /// The code, valid for one exchange and for a short time.
    package let code: Secret
    /// The ID token of the response type `code id_token`, which confirms the code. Not verified yet.
    package let idToken: Secret?
}

extension AuthorizationRequest {
    /// Checks the response that the browser returned with (RFC 6749 §4.1.2, RFC 9207 §2.4, RFC 9700 §4.7).
    ///
    /// Compares the state in constant time before it reads anything else: not `error`, not `iss`, not `code`. Signed
    /// contents (JARM, or an ID token with the code) are verified by ``AuthState/exchange(_:store:environment:confirm:)``
    /// before it sends the code.
    ///
    /// - Parameter query: The encoded query without `?`, or the body of a form post, which has the same encoding (OAuth
    ///   2.0 Form Post Response Mode §2).
    /// - Returns: The response; nil if the query does not belong to this request, because its state is missing or
    ///   differs. Keep waiting then.
    /// - Throws: ``AuthError``, which ends this request: ``AuthError/Code/invalidRedirect`` for a repeated parameter, a
    ///   wrong or missing `iss`, or no code; the provider's own code (``AuthError/Code/accessDenied``, …) if it denied
    ///   the request.
    public func response(fromQuery query: String) throws -> AuthorizationResponse? {
        let parameters = try parameters(in: query)
        if options.responseMode?.isSigned == true, let token = signedResponse(in: parameters) {
            return AuthorizationResponse(request: self, content: .signed(token))
        }
        guard isAnswered(by: parameters) else { return nil }
        // JARM §2.3: if a signed response was requested, an unsigned one does not count.
        guard options.responseMode?.isSigned != true else {
            throw refusal("expected a signed response in 'response', found an unsigned one")
        }
        return AuthorizationResponse(request: self, content: .open(try grant(in: parameters)))
    }

    /// Returns the contents of a response to this request.
    func grant(in parameters: FormParameters) throws -> AuthorizationGrant {
        // RFC 6749 §3.1: parameters are not repeated. If one that only explains an error is, the user still learns of it.
        let explanation = ["error_description", "error_uri"]
        var compared = parameters
        if !parameters.values("error").allSatisfy(\.isEmpty) { explanation.forEach { compared.remove($0) } }
        if let name = compared.repeatedName {
            throw refusal("expected each parameter once, found \(name.foundText) twice")
        }
        // RFC 6749 §3.1: a parameter without a value counts as absent.
        var server: OAuthError?
        if let error = parameters.values("error").first, !error.isEmpty {
            server = OAuthError(
                error: error, errorDescription: parameters.values("error_description").first,
                errorURI: parameters.values("error_uri").first, hiding: [state, nonce].compactMap(\.self))
        }
        do { try checkIssuer(parameters.values("iss").first) } catch var error as AuthError {
            // Another provider may have sent it, so it is only shown. If none is named, the app can tell what the request lacks.
            if let server { error.message += ". The response says: \(server.summary)" }
            if parameters.values("iss").isEmpty { error.server = server }
            throw error
        }
        if let server {
            let code = AuthError.Code(server: server.error)
            throw AuthError(
                code, .authorization,
                code == .accessDenied ? server.denial : "the provider returned \(server.summary)",
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

    /// Decodes a response. A parameter that is not in UTF-8, such as a description in Latin-1, counts as absent, unless
    /// something depends on it.
    func parameters(in query: String) throws -> FormParameters {
        var (parameters, unreadable) = (FormParameters(), false)
        for piece in query.split(separator: "&") {
            if let item = FormParameters(decoding: piece)?.items.first {
                parameters.append(item.name, item.value)
            } else if ["code", "error", "id_token", "iss", "response", "state"].contains(piece.prefix { $0 != "=" }) {
                unreadable = true
            }
        }
        guard !unreadable || !isAnswered(by: parameters) else {
            throw refusal("expected parameters in UTF-8 with complete escapes, found others")
        }
        return parameters
    }

    /// Returns the error of a query without any `state`, if it is a code of RFC 6749 §4.1.2.1, Core §3.1.2.6 or RFC 8707 §2.
    ///
    /// Several servers leave out the state beside an error. Anybody may have sent it, so it ends nothing, and words of the
    /// sender's own are not shown.
    package static func unattributedError(inQuery query: String) -> AuthError.Code? {
        guard let parameters = FormParameters(decoding: query), parameters.values("state").isEmpty,
            let error = parameters.values("error").first, errorCodes.contains(error)
        else { return nil }
        return AuthError.Code(server: error)
    }

    private static let errorCodes: Set<String> = [
        "invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope",
        "server_error", "temporarily_unavailable", "interaction_required", "login_required",
        "account_selection_required", "consent_required", "invalid_request_uri", "invalid_request_object",
        "request_not_supported", "request_uri_not_supported", "registration_not_supported", "invalid_target",
    ]

    private func isAnswered(by parameters: FormParameters) -> Bool {
        parameters.values("state").contains { constantTimeEqual($0, state.reveal()) }
    }

    /// RFC 9207 §2.4: an `iss` is the provider's exactly, or that of an accepted tenant. If it is missing although the
    /// provider promises it, the response is rejected: it may come from another provider that this app uses (RFC 9700
    /// §4.4).
    private func checkIssuer(_ iss: String?) throws {
        let expected = client.provider.issuer.string
        if let iss {
            guard iss.isExactly(expected) || client.idTokenRules.issuer.accepts(iss, as: expected) else {
                throw refusal("expected 'iss' to be \(expected.foundText), found \(iss.foundText)")
            }
        } else if client.provider.authorizationResponseIssParameterSupported {
            throw refusal("expected 'iss', which the provider’s metadata announces, found none")
        }
    }

    func refusal(_ message: String) -> AuthError {
        AuthError(.invalidRedirect, .redirect, "invalid redirect: \(message)")
    }
}
