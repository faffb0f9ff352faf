package import FoundationEssentials
internal import JOSE

/// An object of a stored record. Its members must be present and of the right type.
///
/// Written by hand, because `JSONDecoder` takes longer to start than everything else for a stored token.
package struct StoredObject {
    /// A member is missing or of the wrong type.
    package struct Damage: Error {
        package init() {}
    }

    private let members: JSON.Object

    package init(_ json: JSON) throws {
        guard let members = json.object else { throw Damage() }
        self.members = members
    }

    var names: [String] { members.names }

    package func value(_ name: String) throws -> JSON {
        guard let value = members[name] else { throw Damage() }
        return value
    }

    package func object(_ name: String) throws -> StoredObject { try StoredObject(value(name)) }

    package func string(_ name: String) throws -> String {
        guard let string = members[name]?.string else { throw Damage() }
        return string
    }

    package func strings(_ name: String) throws -> [String] {
        guard let strings = members[name]?.strings else { throw Damage() }
        return strings
    }

    package func objects(_ name: String) throws -> [StoredObject] {
        guard let values = members[name]?.array else { throw Damage() }
        return try values.map(StoredObject.init)
    }

    package func int(_ name: String) throws -> Int {
        guard let int = members[name]?.int else { throw Damage() }
        return int
    }

    package func bool(_ name: String) throws -> Bool {
        guard let bool = members[name]?.bool else { throw Damage() }
        return bool
    }

    package func secret(_ name: String) throws -> Secret { Secret(try string(name)) }

    package func date(_ name: String) throws -> Date {
        guard let seconds = members[name]?.double else { throw Damage() }
        return Date(timeIntervalSince1970: seconds)
    }

    /// Reads seconds, rounded to the millisecond.
    func duration(_ name: String) throws -> Duration {
        guard let seconds = members[name]?.double, abs(seconds) <= Duration.longest else { throw Damage() }
        return .milliseconds(Int((seconds * 1000).rounded()))
    }

    /// Reads a dictionary whose names must differ in Swift too: two that differ in JSON may be canonically equivalent.
    func unambiguous<Value>(_ names: [String], _ value: (String) throws -> Value) throws -> [String: Value] {
        try Dictionary(names.map { ($0, try value($0)) }) { _, _ in throw Damage() }
    }

    /// Reads a member that may be absent but must not have the wrong type.
    package func optional<Value>(_ name: String, _ read: (StoredObject, String) throws -> Value) rethrows -> Value? {
        members[name] == nil ? nil : try read(self, name)
    }
}
