package import FoundationEssentials
internal import JOSE

extension JSON {
    package init(storing secret: Secret) { self = .string(secret.reveal()) }

    /// Stores seconds, limited to ±10¹², which is as much as can be read back.
    init(storing duration: Duration) {
        let longest = Duration.longest
        self = .number(Number(validated: "\(max(-longest, min(longest, duration.seconds)))"))
    }

    /// Stores seconds since 1970.
    package init(storing date: Date) throws {
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite else {
            throw AuthError(.store, .store, "expected a date to store, found \(seconds) seconds", outcome: .notSent)
        }
        self = .number(Number(validated: "\(seconds)"))
    }
}

extension Timestamp {
    package var stored: JSON {
        get throws {
            var json: JSON.Object = ["wall": try JSON(storing: wall)]
            if !boot.isEmpty { json["boot"] = .string(boot) }
            if sinceBoot != .zero { json["sinceBoot"] = JSON(storing: sinceBoot) }
            return .object(json)
        }
    }

    package init(stored json: StoredObject) throws {
        self.init(
            wall: try json.date("wall"), sinceBoot: try json.optional("sinceBoot") { try $0.duration($1) } ?? .zero,
            boot: try json.optional("boot") { try $0.string($1) } ?? "")
    }
}

extension Term {
    package var stored: JSON { get throws { ["begin": try begin.stored, "length": JSON(storing: length)] } }

    package init(stored json: StoredObject) throws {
        self.init(from: try Timestamp(stored: json.object("begin")), for: try json.duration("length"))
    }
}

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
