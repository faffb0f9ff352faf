internal import HTTPTypes
internal import Logging

/// The result of revoking a token.
public struct TokenRevocation: Sendable {
    /// The type of the token, `refresh_token` or `access_token` (RFC 7009 §2.1, `token_type_hint`).
    public let tokenTypeHint: String
    /// Why the token was not revoked; nil if the provider confirmed the revocation.
    public let error: AuthError?

    package init(tokenTypeHint: String, error: AuthError?) { (self.tokenTypeHint, self.error) = (tokenTypeHint, error) }
}

/// A token that can be revoked, with its type by RFC 7009 §2.1.
package struct RevocableToken: Sendable {
    package let typeHint: String
    package let value: Secret

    fileprivate var isRefreshToken: Bool { typeHint == "refresh_token" }

    package init(typeHint: String, value: Secret) { (self.typeHint, self.value) = (typeHint, value) }
}

/// Revokes a client's tokens (RFC 7009).
package struct RevocationEndpoint: Sendable {
    let client: Client
    let environment: Environment

    package init(client: Client, environment: Environment) { (self.client, self.environment) = (client, environment) }

    /// Revokes the tokens, also if the endpoint has moved since the client got its metadata. Does nothing if the provider has
    /// no revocation endpoint. If that cannot be looked up, each result has the error.
    package func revoke(_ tokens: [RevocableToken]) async -> [TokenRevocation] {
        guard !tokens.isEmpty else { return [] }
        let url: SecureURL?
        do { url = try await revocationEndpoint() } catch {
            return tokens.map { TokenRevocation(tokenTypeHint: $0.typeHint, error: Self.authError(error, .notSent)) }
        }
        guard let url else { return [] }
        let results = await revoke(all: tokens, at: url)
        guard let error = results.lazy.compactMap(\.error).first, client.mayFindElsewhere(url, since: error),
            let renewed = await client.renewed(in: environment),
            let new = try? renewed.url(of: .revocation), new != url
        else { return results }
        return await revoke(all: tokens, at: new)
    }

    private func revoke(all tokens: [RevocableToken], at url: SecureURL) async -> [TokenRevocation] {
        // The refresh token first: most providers then end the access tokens too.
        let (refreshTokens, others) = (tokens.filter(\.isRefreshToken), tokens.filter { !$0.isRefreshToken })
        var endpoint = ClientEndpoint(client: client, environment: environment)
        endpoint.known = tokens.map(\.value)
        let first = await revoke(refreshTokens, at: url, of: endpoint)
        let isRevoked = !first.isEmpty && first.allSatisfy { $0.error == nil }
        let rest = await revoke(others, at: url, of: endpoint).map { result in
            // Ended with the refresh token. RFC 7009 §2.2 asks for a success, but Google, for one, says that it is invalid.
            let isOver = isRevoked && result.error?.code == "invalid_token"
            return isOver ? TokenRevocation(tokenTypeHint: result.tokenTypeHint, error: nil) : result
        }
        return first + rest
    }

    /// Several providers list their revocation endpoint only in the RFC 8414 document.
    private func revocationEndpoint() async throws -> SecureURL? {
        var client = client
        let discovery = Discovery(environment: environment)
        client.provider = try await discovery.complete(
            client.provider, with: .revocation, policy: client.idTokenRules.issuer)
        return try client.url(of: .revocation)
    }

    /// Revokes the tokens at the same time, so that many take no longer than one.
    private func revoke(
        _ tokens: [RevocableToken], at url: SecureURL, of endpoint: ClientEndpoint
    ) async -> [TokenRevocation] {
        await withTaskGroup { group in
            for (index, token) in tokens.enumerated() {
                group.addTask { (index, await revoke(token.value, token.typeHint, url, endpoint)) }
            }
            var errors = [AuthError?](repeating: nil, count: tokens.count)
            for await (index, error) in group { errors[index] = error }
            return zip(tokens, errors).map { TokenRevocation(tokenTypeHint: $0.typeHint, error: $1) }
        }
    }

    private func revoke(
        _ token: Secret, _ hint: String, _ url: SecureURL, _ endpoint: ClientEndpoint
    ) async -> AuthError? {
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        do {
            let response = try await endpoint.post(form, to: url, stage: .revocation)
            // RFC 7009 §2.2: a success, even for a token that the server does not know.
            guard response.isAccepted else { throw response.oauthError(from: url, stage: .revocation) }
            // A network's log-in page, for example, revokes nothing.
            guard !response.isPage else {
                throw AuthError(
                    .invalidResponse, .revocation,
                    "expected a response of the revocation endpoint \(url), found a page",
                    outcome: .perhapsProcessed, isTemporary: true, httpStatus: response.status.code)
            }
            return nil
        } catch {
            let error = Self.authError(error, .perhapsProcessed)
            environment.logger.notice("revocation: \(hint): \(error)")
            return error
        }
    }

    private static func authError(_ error: any Error, _ outcome: AuthError.Outcome) -> AuthError {
        error as? AuthError ?? AuthError(.transport, .revocation, "the revocation was cancelled", outcome: outcome)
    }
}
