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
    /// - Returns: One entry for each token that there was; none if the provider has no revocation endpoint, or if another
    ///   sign-in has taken the session's place in the store.
    public func revokeTokens() async -> [Revocation] {
        // Another process may have refreshed since: its tokens are the ones to revoke. If it has signed in anew, nothing is:
        // at several providers a revocation ends all grants of the client, the new one among them.
        guard await !synchronise() else { return [] }
        let record = record
        let tokens = record.revocable
        revoked.formUnion(tokens.map(\.value))
        return await revoke(tokens)
    }

    private func revoke(_ tokens: [AuthStateRecord.Revocable]) async -> [Revocation] {
        await TokenRevocation(client: record.client, environment: environment).revoke(tokens)
    }

    /// A refresh may have ended between the revocation and the removal: what it has brought is live.
    func revokeRest(of removed: AuthStateRecord) async {
        guard !revoked.isEmpty else { return }
        let tokens = removed.revocable.filter { !revoked.contains($0.value) }
        revoked.formUnion(tokens.map(\.value))
        _ = await revoke(tokens)
    }

    /// Tokens that came after the session had ended are of no use to anybody.
    func revoke(_ orphan: TokenResponse) async {
        environment.logger.notice("session: an answer came after its end, and is dropped")
        let refreshToken = orphan.refreshToken.map { AuthStateRecord.Revocable(name: "refresh_token", value: $0) }
        _ = await revoke(
            [refreshToken, .init(name: "access_token", value: orphan.accessToken)].compactMap(\.self))
    }
}

/// Revokes tokens of a client (RFC 7009).
struct TokenRevocation: Sendable {
    let client: Client
    let environment: Environment

    /// Revokes one token after the other; nothing where the provider has no revocation endpoint.
    func revoke(_ tokens: [AuthStateRecord.Revocable]) async -> [AuthState.Revocation] {
        guard !tokens.isEmpty, let url = await revocationEndpoint() else { return [] }
        var revocations: [AuthState.Revocation] = []
        for token in tokens {
            let error = await revoke(token.value, token.name, url)
            revocations.append(AuthState.Revocation(token: token.name, error: error))
        }
        return revocations
    }

    /// Several providers name their revocation endpoint in the RFC 8414 document alone.
    private func revocationEndpoint() async -> SecureURL? {
        var client = client
        let discovery = Discovery(environment: environment)
        if let found = try? await discovery.complete(client.provider, with: .revocation) { client.provider = found }
        return client[.revocation]
    }

    private func revoke(_ token: Secret, _ hint: String, _ url: SecureURL) async -> AuthError? {
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        let endpoint = TokenEndpoint(client: client, environment: environment)
        do {
            let response = try await endpoint.post(form, to: url, stage: .revocation)
            // RFC 7009 §2.2: 200, also for a token that the server does not know.
            guard response.status == .ok else {
                throw response.oauthError(from: url, stage: .revocation)
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

extension AuthStateRecord {
    /// A token that can be revoked, and what RFC 7009 §2.1 calls its kind.
    struct Revocable {
        let name: String
        let value: Secret
    }

    var revocable: [Revocable] {
        [
            refreshToken.map { Revocable(name: "refresh_token", value: $0) },
            accessToken.map { Revocable(name: "access_token", value: $0.value) },
        ].compactMap(\.self)
    }
}
