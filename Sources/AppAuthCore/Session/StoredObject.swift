internal import FoundationEssentials
internal import JOSE

/// An object of a stored record, whose members have to be there and of the right kind.
///
/// By hand, since `JSONDecoder` takes longer to start than all else that handing out a stored token needs.
struct StoredObject {
    /// A member is missing, or of the wrong kind.
    struct Damage: Error {}

    private let members: JSON.Object

    init(_ json: JSON) throws {
        guard let members = json.object else { throw Damage() }
        self.members = members
    }

    func value(_ name: String) throws -> JSON {
        guard let value = members[name] else { throw Damage() }
        return value
    }

    func object(_ name: String) throws -> StoredObject { try StoredObject(value(name)) }

    func string(_ name: String) throws -> String {
        guard let string = members[name]?.string else { throw Damage() }
        return string
    }

    func strings(_ name: String) throws -> [String] {
        guard let strings = members[name]?.strings else { throw Damage() }
        return strings
    }

    func secret(_ name: String) throws -> Secret { Secret(try string(name)) }

    func date(_ name: String) throws -> Date {
        guard let seconds = members[name]?.double else { throw Damage() }
        return Date(timeIntervalSince1970: seconds)
    }

    /// Reads a member that may be missing, but not be of the wrong kind.
    func optional<Value>(_ name: String, _ read: (StoredObject, String) throws -> Value) rethrows -> Value? {
        members[name] == nil ? nil : try read(self, name)
    }
}

extension JSON {
    init(storing secret: Secret) { self = .string(secret.reveal()) }

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
        return ["id": .string(id), "authentication": .object(authentication), "provider": .object(provider.document)]
    }

    init(stored json: StoredObject) throws {
        let authentication = try json.object("authentication")
        self.init(
            id: try json.string("id"),
            authentication: try ClientAuthentication(
                method: authentication.string("method"),
                secret: authentication.optional("secret") { try $0.secret($1) }),
            provider: try ProviderMetadata(document: json.value("provider")))
    }
}

extension ClientAuthentication {
    fileprivate init(method: String, secret: Secret?) throws {
        switch (method, secret) {
        case ("none", nil): self = .none
        case ("client_secret_basic", let secret?): self = .clientSecretBasic(secret)
        case ("client_secret_post", let secret?): self = .clientSecretPost(secret)
        default: throw StoredObject.Damage()
        }
    }
}

extension AccessToken {
    var stored: JSON {
        get throws {
            var json: JSON.Object = [
                "value": JSON(storing: value), "type": .string(type.rawValue), "issuedAt": try JSON(storing: issuedAt),
            ]
            json["expiresAt"] = try expiresAt.map(JSON.init(storing:))
            return .object(json)
        }
    }

    init(stored json: StoredObject) throws {
        guard let type = TokenType(rawValue: try json.string("type")) else { throw StoredObject.Damage() }
        self.init(
            value: try json.secret("value"), type: type, issuedAt: try json.date("issuedAt"),
            expiresAt: try json.optional("expiresAt") { try $0.date($1) })
    }
}
