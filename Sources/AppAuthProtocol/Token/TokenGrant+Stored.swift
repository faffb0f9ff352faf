package import JOSE

extension TokenGrant {
    package var stored: JSON {
        var parameters = JSON.Object()
        for (name, value) in self.parameters { parameters[name] = JSON(storing: value) }
        var json: JSON.Object = [
            "type": .string(type.rawValue), "scope": .array(scope.map { .string($0.rawValue) }),
            "resources": .array(resources.map(JSON.string)), "parameters": .object(parameters),
        ]
        json["assertionName"] = assertionName.map(JSON.string)
        json["assertionUser"] = assertionUser.map { ["issuer": .string($0.issuer), "subject": .string($0.subject)] }
        return .object(json)
    }

    package init(stored json: StoredObject) throws {
        let parameters = try json.object("parameters")
        try self.init(
            GrantType(rawValue: json.string("type")), scope: json.strings("scope").map(Scope.init(rawValue:)),
            resources: json.strings("resources"),
            parameters: json.unambiguous(parameters.names) { try parameters.secret($0) },
            assertionNamed: json.optional("assertionName") { try $0.string($1) },
            about: json.optional("assertionUser") { json, name in
                let user = try json.object(name)
                return try AssertionDemand.User(issuer: user.string("issuer"), subject: user.string("subject"))
            })
    }
}

extension TokenParameters {
    package func stored(with token: AccessToken) throws -> JSON {
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

    package init(stored json: StoredObject) throws {
        let others = try json.object("others")
        self.init(
            scope: try json.optional("scope") { try $0.strings($1).map(Scope.init(rawValue:)) },
            resources: try json.strings("resources"),
            others: try json.unambiguous(others.names) { try others.string($0) })
    }
}
