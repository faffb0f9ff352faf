package import JOSE

extension AccessToken {
    package var stored: JSON {
        get throws {
            var json: JSON.Object = [
                "value": JSON(storing: value), "type": .string(type.rawValue), "received": try received.stored,
            ]
            json["lifetime"] = lifetime.map(JSON.init(storing:))
            json["refreshIn"] = refreshIn.map(JSON.init(storing:))
            json["serverDate"] = try serverDate.map(JSON.init(storing:))
            return .object(json)
        }
    }

    package init(stored json: StoredObject) throws {
        guard let type = TokenType(rawValue: try json.string("type")) else { throw StoredObject.Damage() }
        self.init(
            value: try json.secret("value"), type: type, received: try Timestamp(stored: json.object("received")),
            lifetime: try json.optional("lifetime") { try $0.duration($1) },
            refreshIn: try json.optional("refreshIn") { try $0.duration($1) },
            serverDate: try json.optional("serverDate") { try $0.date($1) })
    }
}
