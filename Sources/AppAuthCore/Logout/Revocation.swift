internal import HTTPTypes
internal import Logging

extension AuthState {
    /// A token that was, or was not, revoked.
    public struct Revocation: Sendable {
        /// `refresh_token` or `access_token` (RFC 7009 §2.1).
        public let token: String
        /// Why it was not revoked; nil if the provider confirmed it.
        public let error: AuthError?

        package init(token: String, error: AuthError?) { (self.token, self.error) = (token, error) }
    }

    /// Tells the provider that the tokens will not be used again (RFC 7009): the refresh token, then the access token.
    ///
    /// The session here stays as it is; ``forget()`` ends it. Nothing is thrown: a sign-out goes on whatever the provider
    /// says.
    ///
    /// - Returns: One entry for each token that there was; none if the provider has no revocation endpoint.
    public func revokeTokens() async -> [Revocation] {
        // Another process may have refreshed since: its tokens are the ones to revoke.
        await synchronise()
        let record = record
        guard let url = await revocationEndpoint() else { return [] }
        let tokens = [
            record.refreshToken.map { ("refresh_token", $0) }, record.accessToken.map { ("access_token", $0.value) },
        ]
        var revocations: [Revocation] = []
        for (name, token) in tokens.compactMap({ $0 }) {
            revocations.append(Revocation(token: name, error: await revoke(token, name, record.client, url)))
        }
        return revocations
    }

    /// Tokens that came after the session had ended are of no use to anybody.
    func revoke(_ orphan: TokenResponse) async {
        environment.logger.notice("session: an answer came after its end, and is dropped")
        guard let url = await revocationEndpoint() else { return }
        if let token = orphan.refreshToken { _ = await revoke(token, "refresh_token", record.client, url) }
        _ = await revoke(orphan.accessToken, "access_token", record.client, url)
    }

    /// Several providers name their revocation endpoint in the RFC 8414 document alone.
    private func revocationEndpoint() async -> SecureURL? {
        var client = record.client
        let discovery = Discovery(environment: environment)
        if let found = try? await discovery.complete(client.provider, with: .revocation) { client.provider = found }
        return client[.revocation]
    }

    private func revoke(_ token: Secret, _ hint: String, _ client: Client, _ url: SecureURL) async -> AuthError? {
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        let endpoint = TokenEndpoint(client: client, environment: environment)
        do {
            let answer = try await endpoint.post(form, to: url, stage: .revocation)
            // RFC 7009 §2.2: 200, also for a token that the server does not know.
            guard answer.response.status == .ok else {
                throw answer.oauthError(from: url, stage: .revocation)
            }
            return nil
        } catch let error as AuthError {
            environment.logger.notice("revocation: \(hint): \(error)")
            return error
        } catch {
            return AuthError(.transport, .revocation, "the revocation was cancelled", outcome: .perhapsProcessed)
        }
    }
}
