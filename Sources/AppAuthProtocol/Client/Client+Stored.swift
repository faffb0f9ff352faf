package import JOSE

extension Client {
    package var stored: JSON {
        var authentication: JSON.Object = ["method": .string(self.authentication.method)]
        authentication["secret"] = self.authentication.secret.map(JSON.init(storing:))
        switch self.authentication {
        case .privateKeyJWT(let name, let audience):
            authentication["key"] = .string(name)
            authentication["audience"] = audience.stored
        case .clientSecretJWT(_, let audience): authentication["audience"] = audience.stored
        case .assertion(let name): authentication["key"] = .string(name)
        default: break
        }
        var json: JSON.Object = [
            "id": .string(id), "authentication": .object(authentication), "provider": .object(provider.document),
        ]
        if provider.isDiscovered { json["isDiscovered"] = true }
        json["metadataURL"] = provider.location.map { .string($0.string) }
        json["namedBy"] = provider.resource.map { .string($0.string) }
        if provider.servesResource { json["servesResource"] = true }
        json["agreedTo"] = (provider.agreement?.elsewhere).map { .array($0.map { .string($0.string) }) }
        if provider.agreement?.isClientShared == true { json["agreedToShare"] = true }
        if bindsTokensToCertificate { json["bindsTokensToCertificate"] = true }
        json["dpop"] = dpop.map { .string($0.rawValue) }
        json["dpopKeyProvider"] = dpopKeyProvider.map { .string($0.rawValue) }
        if idTokenRules != IDTokenRules() { json["idTokenRules"] = idTokenRules.stored }
        return .object(json)
    }

    package init(stored json: StoredObject) throws {
        let authentication = try json.object("authentication")
        var provider = try ProviderMetadata(document: json.value("provider"))
        provider.isDiscovered = try json.optional("isDiscovered") { try $0.bool($1) } ?? false
        provider.location = try json.optional("metadataURL") { try SecureURL($0.string($1)) }
        provider.resource = try json.optional("namedBy") { try SecureURL($0.string($1)) }
        provider.servesResource = try json.optional("servesResource") { try $0.bool($1) } ?? false
        provider.agreement = try provider.resource.flatMap { resource in
            try json.optional("agreedTo") { json, name in
                let endpoints = try json.strings(name).map { try SecureURL($0) }
                // Until it had a member of its own, this was the only reason to ask if there were no endpoints elsewhere.
                let isShared = try json.optional("agreedToShare") { try $0.bool($1) } ?? endpoints.isEmpty
                return SignInConfirmation(
                    resource: resource, issuer: provider.issuer.url, endpoints: endpoints, isClientShared: isShared)
            }
        }
        self.init(
            id: try json.string("id"),
            authentication: try ClientAuthentication(
                method: authentication.string("method"),
                secret: authentication.optional("secret") { try $0.secret($1) },
                key: authentication.optional("key") { try $0.string($1) },
                audience: ClientAuthentication.Audience(stored: authentication)),
            provider: provider,
            dpop: try json.optional("dpop") {
                guard let algorithm = DPoPAlgorithm(rawValue: try $0.string($1)) else { throw StoredObject.Damage() }
                return algorithm
            },
            bindsTokensToCertificate: try json.optional("bindsTokensToCertificate") { try $0.bool($1) } ?? false)
        dpopKeyProvider = try json.optional("dpopKeyProvider") { KeyProvider(rawValue: try $0.string($1)) }
        idTokenRules = try json.optional("idTokenRules") { try IDTokenRules(stored: $0.object($1)) } ?? IDTokenRules()
    }
}

extension IDTokenRules {
    fileprivate var stored: JSON {
        var json: JSON.Object = [
            "trustedAudiences": .array(trustedAudiences.sorted().map(JSON.string)), "leeway": JSON(storing: leeway),
            "maximumAge": JSON(storing: maximumAge),
        ]
        json["signedResponseAlgorithm"] = signedResponseAlgorithm.map(JSON.string)
        json["issuer"] = issuer.stored
        if areIgnored { json["areIgnored"] = true }
        return .object(json)
    }

    fileprivate init(stored json: StoredObject) throws {
        trustedAudiences = Set(try json.strings("trustedAudiences"))
        (leeway, maximumAge) = (try json.duration("leeway"), try json.duration("maximumAge"))
        signedResponseAlgorithm = try json.optional("signedResponseAlgorithm") { try $0.string($1) }
        areIgnored = try json.optional("areIgnored") { try $0.bool($1) } ?? false
        issuer = try json.optional("issuer") { try IssuerPolicy(stored: $0.object($1)) } ?? .exact
    }
}

extension IssuerPolicy {
    fileprivate var stored: JSON? {
        guard case .template(let template, let tenants) = self else { return nil }
        var json: JSON.Object = ["template": .string(template)]
        json["tenants"] = tenants.map { .array($0.sorted().map(JSON.string)) }
        return .object(json)
    }

    fileprivate init(stored json: StoredObject) throws {
        self = .template(
            try json.string("template"), tenants: try json.optional("tenants") { Set(try $0.strings($1)) })
    }
}

extension ClientAuthentication {
    fileprivate init(method: String, secret: Secret?, key: String?, audience: Audience) throws {
        switch (method, secret, key) {
        case ("none", nil, nil): self = .none
        case ("tls_client_auth", nil, nil): self = .tlsClientAuth
        case ("self_signed_tls_client_auth", nil, nil): self = .selfSignedTLSClientAuth
        case ("client_secret_basic", let secret?, nil): self = .clientSecretBasic(secret)
        case ("client_secret_post", let secret?, nil): self = .clientSecretPost(secret)
        case ("client_secret_jwt", let secret?, nil): self = .clientSecretJWT(secret, audience: audience)
        case ("private_key_jwt", nil, let key?): self = .privateKeyJWT(keyNamed: key, audience: audience)
        case ("client_assertion", nil, let name?): self = .assertion(named: name)
        default: throw StoredObject.Damage()
        }
    }
}

extension ClientAuthentication.Audience {
    /// The stored form: nil for the issuer, an object for the token endpoint, `true` for the endpoint that receives the
    /// assertion, and the name of another audience.
    fileprivate var stored: JSON? {
        switch self {
        case .issuer: nil
        case .tokenEndpoint: ["endpoint": "token"]
        case .endpoint: true
        case .other(let name): .string(name)
        }
    }

    fileprivate init(stored authentication: StoredObject) throws {
        switch try authentication.optional("audience", { try $0.value($1) }) {
        case nil: self = .issuer
        case .some(let value) where value == ["endpoint": "token"]: self = .tokenEndpoint
        case .bool(true): self = .endpoint
        case .string(let name): self = .other(name)
        default: throw StoredObject.Damage()
        }
    }
}
