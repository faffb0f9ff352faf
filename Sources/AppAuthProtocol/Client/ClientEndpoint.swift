package import HTTPTypes

/// An endpoint at which a client authenticates (RFC 6749 §2.3): the token endpoint and those that work the same way
/// (revocation, introspection, device authorization, pushed authorization requests).
package struct ClientEndpoint: Sendable {
    package let client: Client
    package let environment: Environment
    /// The key that tokens are bound to; nil for bearer tokens.
    package let proof: DPoP?
    /// Secrets that the server knows, in addition to those that are sent to it: no error may repeat them either.
    package var known: [Secret] = []

    package init(client: Client, environment: Environment, proof: DPoP? = nil) {
        (self.client, self.environment, self.proof) = (client, environment, proof)
    }

    /// Returns the secrets of a form and of the client, which no error may repeat.
    package func secrets(in form: FormParameters) -> [Secret] {
        let open = [
            "grant_type", "redirect_uri", "client_id", "scope", "resource", "token_type_hint", "client_assertion_type",
            "response_type", "response_mode", "prompt", "acr_values", "code_challenge_method", "audience",
            "subject_token_type", "actor_token_type", "requested_token_type",
        ]
        let values = form.items.filter { !open.contains($0.name) }.map { Secret($0.value) }
        return values + [client.authentication.secret].compactMap(\.self)
    }

    /// Posts a form with the client's authentication, and returns the response, even with an error status.
    ///
    /// - Parameter adjust: Changes the complete form and header fields before they are sent.
    package func post(
        _ form: FormParameters, to url: SecureURL, stage: AuthError.Stage, accepting type: String = "application/json",
        adjust: (inout FormParameters, inout HTTPFields) -> Void = { _, _ in }
    ) async throws -> TransportResponse {
        var secrets = known
        func request() async throws -> TransportRequest {
            var form = form
            var request = HTTPRequest(method: .post, url: url)
            request.headerFields[.accept] = type
            do { try await client.authenticate(&form, &request.headerFields, at: url, in: environment) } catch {
                throw try AuthError(
                    beforeSending: error, stage, "the client could not authenticate", mayEndSession: false)
            }
            adjust(&form, &request.headerFields)
            // RFC 6749 §4, §6: the body is a form, even if `adjust` has changed the field.
            request.headerFields[.contentType] = "application/x-www-form-urlencoded"
            // What the authentication adds is secret as well, also as a header has it (RFC 7617 §2).
            let credentials = request.headerFields[.authorization]?.split(separator: " ").last.map {
                Secret(String($0))
            }
            secrets += self.secrets(in: form) + [credentials].compactMap(\.self)
            return TransportRequest(request, body: Array(form.encoded.utf8))
        }
        var response =
            if let proof { try await environment.send(provenBy: proof, stage: stage, request) } else {
                try await environment.send(request(), stage: stage)
            }
        response.secrets = secrets
        return response
    }
}

extension AuthError {
    /// Creates the error of a request that was not sent, because a key or an assertion could not be obtained.
    ///
    /// The app may request an assertion from another server (``Environment/clientAssertion``), even with a session of
    /// its own. So it takes over no OAuth error, no end of a session and no refresh token from the cause. Only where that
    /// session stands for the user (``Environment/grantAssertion``), its end is the end of this one.
    ///
    /// - Parameter what: What is missing.
    /// - Throws: The cause, if the task is cancelled.
    init(beforeSending cause: any Error, _ stage: Stage, _ what: String, mayEndSession: Bool = true) throws {
        if cause is CancellationError, Task.isCancelled { throw cause }
        let known = cause as? AuthError
        let kept: [Code] = [.invalidConfiguration, .invalidMetadata, .transport, .timeout]
        let isEnd = mayEndSession && known?.needsSignIn == true
        let code = isEnd ? .signInRequired : known.flatMap { kept.contains($0.code) ? $0.code : nil } ?? .unavailable
        let message = known?.message ?? AuthError.summary(of: cause)
        // A mistake in the configuration is described by its own message.
        let reason = code == .invalidConfiguration ? "" : "not sent, because \(what): "
        self.init(
            code, stage, reason + message, outcome: .notSent, isTemporary: known?.isTemporary ?? true,
            retryAfter: known?.retryAfter)
    }
}
