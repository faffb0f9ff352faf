internal import FoundationEssentials
internal import JOSE

/// A client that registered itself.
struct DynamicClient: Sendable {
    var client: RegisteredClient
    /// The metadata in responses, without the credentials.
    var metadata: JSON.Object
    let issuedAt: Date
    var secretExpiresAt: Date?
    /// The token that reads, changes and deletes the registration.
    var accessToken: String

    func isUsable(_ now: Date) -> Bool { client.secret == nil || secretExpiresAt.map { $0 > now } ?? true }

    /// Creates a secret if the client needs one and has none, or only an expired one (RFC 7591 §3.2.1).
    mutating func renewCredentials(_ options: DynamicRegistration, _ now: Date) throws {
        guard client.authentication.contains(where: \.needsSecret) else {
            (client.secret, secretExpiresAt) = (nil, nil)
            return
        }
        guard client.secret == nil || !isUsable(now) else { return }
        client.secret = try OpaqueToken.make()
        secretExpiresAt = options.secretLifetime.map(now.adding)
    }

    /// Returns the client information response (RFC 7591 §3.2.1, RFC 7592 §3).
    func document(_ issuer: Issuer) -> JSON {
        var document = metadata
        document["client_id"] = .string(client.id)
        document["client_id_issued_at"] = .number(.init(issuedAt.seconds))
        if let secret = client.secret {
            document["client_secret"] = .string(secret)
            document["client_secret_expires_at"] = .number(.init(secretExpiresAt?.seconds ?? 0))
        }
        document["registration_access_token"] = .string(accessToken)
        document["registration_client_uri"] = .string(issuer.url(.clientConfiguration) + "/" + client.id)
        return .object(document)
    }
}

extension RegisteredClient.Authentication {
    var needsSecret: Bool { [.basic, .post, .secretJWT].contains(self) }
}
