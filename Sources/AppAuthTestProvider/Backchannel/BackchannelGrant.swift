internal import AppAuthConcurrency
internal import FoundationEssentials

/// The grant that issues tokens after the user has approved the sign-in on their own device (CIBA Core §10.1, §11).
struct BackchannelGrant {
    let context: Context

    func redeem(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let id = form["auth_req_id"] else { throw OAuthFailure.invalidRequest("expected an auth_req_id") }
        let now = context.now
        // A failure is returned as a value, so that its changes to the store are kept.
        let result: Result<IssuedTokens, any Error> = context.store.withLock { records in
            guard var request = records.backchannel[id], request.client.id == client.id else {
                return .failure(OAuthFailure.invalidGrant("the auth_req_id is not one of this client"))
            }
            defer { records.backchannel[id] = request }
            guard request.expiresAt > now else {
                return .failure(OAuthFailure("expired_token", "the auth_req_id has expired"))
            }
            switch request.status {
            case .pending: return .failure(request.pace.poll(now))
            case .denied: return .failure(OAuthFailure("access_denied", "the user denied the request"))
            case .used: return .failure(OAuthFailure.invalidGrant("the auth_req_id was used before"))
            case .approved(let grant):
                request.status = .used
                return Result { try TokenIssuer(context: context).issue(grant, to: client, in: &records) }
            }
        }
        return try TokenIssuer(context: context).respond(result.get(), to: client)
    }
}
