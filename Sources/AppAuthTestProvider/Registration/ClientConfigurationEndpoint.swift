internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The client configuration endpoint (RFC 7592 §2).
struct ClientConfigurationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        guard let options = context.configuration.registration else {
            return Pages(context: context).error("Clients are registered by hand here.", .notFound)
        }
        let id = String(request.path.dropFirst(context.issuer.path(of: .clientConfiguration).count + 1))
        // A failure is returned as a value, so that its changes are kept.
        let result: Result<Reply, any Error> = context.registrations.withLock { clients in
            Result {
                // §2.1: an unknown client gets the same response as a wrong token.
                guard var client = clients[id], let token = request.bearer,
                    constantTimeEqual(token, client.accessToken)
                else { throw OAuthFailure.invalidToken("expected the registration access token of this client") }
                switch request.method {
                case .get: break
                case .put: try change(&client, request.document(), options)
                case .delete:
                    clients[id] = nil
                    return Reply(.noContent)
                default: return .notAllowed("GET, PUT, DELETE")
                }
                try client.renewCredentials(options, context.now)
                if options.rotatesAccessTokens { client.accessToken = try OpaqueToken.make() }
                clients[id] = client
                return .json(context.edited(client.document(context.issuer)))
            }
        }
        do {
            let reply = try result.get()
            // §2.3: the client's tokens are deleted with it.
            if reply.status == .noContent { context.store.withLock { $0.forget(client: id) } }
            return reply.notStored
        } catch let failure as OAuthFailure {
            return failure.reply
        }
    }

    /// Replaces all metadata of the client with that of the request (§2.2).
    private func change(
        _ client: inout DynamicClient, _ sent: JSON.Object, _ options: DynamicRegistration
    ) throws(OAuthFailure) {
        let given = [
            "registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at",
        ]
        if let name = given.first(where: { sent[$0] != nil }) { throw .clientMetadata("expected no \(name)") }
        guard sent["client_id"]?.string == client.client.id else {
            throw .clientMetadata("expected the client_id of this client")
        }
        if let secret = sent["client_secret"] {
            guard let secret = secret.string, constantTimeEqual(secret, client.client.secret ?? "") else {
                throw .clientMetadata("expected the client_secret of this client, or none")
            }
        }
        let submitted = try SubmittedMetadata(sent, options, context)
        var changed = submitted.client(client.client.id)
        changed.secret = client.client.secret
        (client.client, client.metadata) = (changed, submitted.registered)
    }
}

extension Records {
    /// Revokes all grants, codes and device requests of a client.
    fileprivate mutating func forget(client id: String) {
        for grant in grants.values where grant.clientID == id { revoke(grant: grant.id) }
        codes = codes.filter { $0.value.grant.clientID != id }
        devices = devices.filter { $0.value.client.id != id }
    }
}
