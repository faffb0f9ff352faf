package import JOSE

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
