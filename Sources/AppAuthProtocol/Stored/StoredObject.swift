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

    private func read<Value>(_ name: String, _ value: (JSON) -> Value?) throws -> Value {
        guard let value = members[name].flatMap(value) else { throw Damage() }
        return value
    }

    package func value(_ name: String) throws -> JSON { try read(name) { $0 } }
    package func object(_ name: String) throws -> StoredObject { try StoredObject(value(name)) }
    package func objects(_ name: String) throws -> [StoredObject] { try read(name, \.array).map(StoredObject.init) }
    package func string(_ name: String) throws -> String { try read(name, \.string) }
    package func strings(_ name: String) throws -> [String] { try read(name, \.strings) }
    package func int(_ name: String) throws -> Int { try read(name, \.int) }
    package func bool(_ name: String) throws -> Bool { try read(name, \.bool) }
    package func secret(_ name: String) throws -> Secret { Secret(try string(name)) }
    package func date(_ name: String) throws -> Date { Date(timeIntervalSince1970: try read(name, \.double)) }

    /// Reads seconds, rounded to the millisecond.
    func duration(_ name: String) throws -> Duration {
        let seconds = try read(name, \.double)
        guard abs(seconds) <= Duration.longest else { throw Damage() }
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
