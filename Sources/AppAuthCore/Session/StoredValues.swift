internal import FoundationEssentials
internal import JOSE

extension JSON {
    init(storing secret: Secret) { self = .string(secret.reveal()) }

    /// Seconds; what is longer than anybody lives is cut, and read again.
    init(storing duration: Duration) {
        let longest = Duration.longest
        self = .number(Number(validated: "\(max(-longest, min(longest, duration.seconds)))"))
    }

    /// Seconds since 1970.
    init(storing date: Date) throws {
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite else {
            throw AuthError(.store, .store, "expected a date to store, found \(seconds) seconds", outcome: .notSent)
        }
        self = .number(Number(validated: "\(seconds)"))
    }
}

extension Client {
    var stored: JSON {
        var authentication: JSON.Object = ["method": .string(self.authentication.method)]
        authentication["secret"] = self.authentication.secret.map(JSON.init(storing:))
        switch self.authentication {
        case .privateKeyJWT(let name, let assertion):
            authentication["key"] = .string(name)
            authentication["audience"] = assertion.audience.stored
        case .clientSecretJWT(_, let assertion): authentication["audience"] = assertion.audience.stored
        default: break
        }
        var json: JSON.Object = [
            "id": .string(id), "authentication": .object(authentication), "provider": .object(provider.document),
        ]
        if provider.isDiscovered { json["isDiscovered"] = true }
        if bindsTokensToCertificate { json["bindsTokensToCertificate"] = true }
        json["dpop"] = dpop.map { .string($0.rawValue) }
        json["idTokenSignedResponseAlgorithm"] = idTokenSignedResponseAlgorithm.map(JSON.string)
        return .object(json)
    }

    init(stored json: StoredObject) throws {
        let authentication = try json.object("authentication")
        var provider = try ProviderMetadata(document: json.value("provider"))
        provider.isDiscovered = try json.optional("isDiscovered") { try $0.bool($1) } ?? false
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
            bindsTokensToCertificate: try json.optional("bindsTokensToCertificate") { try $0.bool($1) } ?? false,
            idTokenSignedResponseAlgorithm: try json.optional("idTokenSignedResponseAlgorithm") { try $0.string($1) })
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
        case ("client_secret_jwt", let secret?, nil): self = .clientSecretJWT(secret, Assertion(audience: audience))
        case ("private_key_jwt", nil, let key?): self = .privateKeyJWT(keyNamed: key, Assertion(audience: audience))
        default: throw StoredObject.Damage()
        }
    }
}

extension ClientAuthentication.Audience {
    /// The name of somebody else as it is, `true` for whom it is sent to, and an object for the token endpoint; nil for
    /// the issuer.
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

extension Timestamp {
    var stored: JSON {
        get throws {
            var json: JSON.Object = ["wall": try JSON(storing: wall)]
            if !boot.isEmpty { json["boot"] = .string(boot) }
            if sinceBoot != .zero { json["sinceBoot"] = JSON(storing: sinceBoot) }
            return .object(json)
        }
    }

    init(stored json: StoredObject) throws {
        self.init(
            wall: try json.date("wall"), sinceBoot: try json.optional("sinceBoot") { try $0.duration($1) } ?? .zero,
            boot: try json.optional("boot") { try $0.string($1) } ?? "")
    }
}

extension Term {
    var stored: JSON { get throws { ["begin": try begin.stored, "length": JSON(storing: length)] } }

    init(stored json: StoredObject) throws {
        self.init(from: try Timestamp(stored: json.object("begin")), for: try json.duration("length"))
    }
}

extension AccessToken {
    var stored: JSON {
        get throws {
            var json: JSON.Object = [
                "value": JSON(storing: value), "type": .string(type.rawValue), "received": try received.stored,
            ]
            json["lifetime"] = lifetime.map(JSON.init(storing:))
            json["serverDate"] = try serverDate.map(JSON.init(storing:))
            return .object(json)
        }
    }

    init(stored json: StoredObject) throws {
        guard let type = TokenType(rawValue: try json.string("type")) else { throw StoredObject.Damage() }
        self.init(
            value: try json.secret("value"), type: type, received: try Timestamp(stored: json.object("received")),
            lifetime: try json.optional("lifetime") { try $0.duration($1) },
            serverDate: try json.optional("serverDate") { try $0.date($1) })
    }
}

extension TokenGrant {
    var stored: JSON {
        var parameters = JSON.Object()
        for (name, value) in self.parameters { parameters[name] = JSON(storing: value) }
        return [
            "type": .string(type.rawValue), "scope": .array(scope.map { .string($0.rawValue) }),
            "resources": .array(resources.map(JSON.string)), "parameters": .object(parameters),
        ]
    }

    init(stored json: StoredObject) throws {
        let parameters = try json.object("parameters")
        try self.init(
            GrantType(rawValue: json.string("type")), scope: json.strings("scope").map(Scope.init(rawValue:)),
            resources: json.strings("resources"),
            parameters: json.unambiguous(parameters.names) { try parameters.secret($0) })
    }
}

extension TokenParameters {
    func stored(with token: AccessToken) throws -> JSON {
        var json: JSON.Object = [
            "resources": .array(resources.map(JSON.string)),
            "token": try token.stored,
        ]
        var others = JSON.Object()
        for (name, value) in self.others { others[name] = .string(value) }
        json["others"] = .object(others)
        json["scope"] = scope.map { .array($0.map { .string($0.rawValue) }) }
        return .object(json)
    }

    init(stored json: StoredObject) throws {
        let others = try json.object("others")
        self.init(
            scope: try json.optional("scope") { try $0.strings($1).map(Scope.init(rawValue:)) },
            resources: try json.strings("resources"),
            others: try json.unambiguous(others.names) { try others.string($0) })
    }
}
