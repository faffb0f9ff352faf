/// The parameters of a query or a form, in the order they were sent.
public struct RequestParameters: Sendable, Hashable {
    /// A parameter.
    public struct Entry: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its decoded value.
        public let value: String
    }

    /// The parameters, including repeated ones.
    public let entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    /// The names, including repeated ones.
    public var names: [String] { entries.map(\.name) }

    /// Returns every value of a parameter, including empty ones.
    public func values(_ name: String) -> [String] { entries.filter { $0.name == name }.map(\.value) }

    /// Returns the value of a parameter; nil if it is missing or empty, which means the same (RFC 6749 §3.1, §3.2).
    public subscript(name: String) -> String? {
        entries.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }
}

/// A short name inside this package.
package typealias Parameters = RequestParameters

extension Parameters {
    /// Returns the parameters without those of these names.
    func without(_ names: Set<String>) -> Parameters { Parameters(entries.filter { !names.contains($0.name) }) }

    /// The first name that occurs more than once. RFC 6749 §3.1 and §3.2 forbid it; RFC 8707 §2 allows it for
    /// `resource`, and RFC 8693 §2.1 for `audience`.
    package var repeated: String? {
        var seen: Set<String> = []
        return names.first { $0 != "resource" && $0 != "audience" && !seen.insert($0).inserted }
    }
}
