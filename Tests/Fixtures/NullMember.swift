package import JOSE

extension JSON {
    /// Returns whether this is an object in which the member is written as null. To a reader, it is absent.
    package func isNull(_ name: String) -> Bool {
        object?.members.contains { $0.name == name && $0.value == .null } == true
    }
}
