internal import FoundationEssentials
package import JOSE

extension ClientRegistration {
    package var stored: JSON {
        get throws {
            var json: JSON.Object = [
                "clientID": .string(clientID), "metadata": .object(metadata.members),
                "revision": .number(.init(revision)),
            ]
            json["clientSecret"] = clientSecret.map(JSON.init(storing:))
            json["clientIDIssuedAt"] = try clientIDIssuedAt.map { try JSON(storing: $0) }
            json["clientSecretExpiresAt"] = try clientSecretExpiresAt.map { try JSON(storing: $0) }
            json["accessToken"] = accessToken.map(JSON.init(storing:))
            json["configurationEndpoint"] = configurationEndpoint.map { .string($0.string) }
            return .object(json)
        }
    }

    package init(stored json: StoredObject) throws {
        guard let members = try json.value("metadata").object else { throw StoredObject.Damage() }
        metadata = ClientMetadata(members)
        clientID = try json.string("clientID")
        clientSecret = try json.optional("clientSecret") { try $0.secret($1) }
        clientIDIssuedAt = try json.optional("clientIDIssuedAt") { try $0.date($1) }
        clientSecretExpiresAt = try json.optional("clientSecretExpiresAt") { try $0.date($1) }
        accessToken = try json.optional("accessToken") { try $0.secret($1) }
        configurationEndpoint = try json.optional("configurationEndpoint") { try SecureURL($0.string($1)) }
        // Older records have no revision.
        revision = try json.optional("revision") { try $0.int($1) } ?? 0
    }
}

extension Client {
    /// Returns this client with the credentials of a newer registration. Values that a registration does not contain
    /// are kept: the name of the key, the audience of assertions, and the binding of tokens.
    ///
    /// - Parameter name: The new name of the key; nil keeps the current one, if there is one.
    package func registered(as registration: ClientRegistration, keyNamed name: String?) throws -> Client {
        var client = self
        client.registration = registration
        client.authentication =
            switch authentication {
            case .privateKeyJWT(let known, let audience):
                try registration.authentication(keyNamed: name ?? known, audience: audience)
            case .clientSecretJWT(_, let audience):
                try registration.authentication(keyNamed: name, audience: audience)
            default: try registration.authentication(keyNamed: name)
            }
        return client
    }

    /// Returns this client, unless the stored one has a later registration.
    ///
    /// The provider changes the tokens and secrets of registered clients, and the process that received the latest has
    /// stored them. The revision decides which is later, not a clock, which can be set back.
    package func unless(registeredLater stored: Client) -> Client {
        guard let theirs = stored.registration, stored.id.isExactly(id) else { return self }
        // The rules are the app's choice, and not part of the registration.
        var stored = stored
        stored.idTokenRules = idTokenRules
        if let ours = registration { return theirs.revision > ours.revision ? stored : self }
        // If the app created the client anew, without the registration, the session's registration is kept. Its
        // authentication is kept too, unless the app names another.
        stored.provider = provider
        guard authentication != .none else { return stored }
        var client = self
        client.registration = theirs
        return client
    }
}
