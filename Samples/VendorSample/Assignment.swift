public import ArgumentParser

/// An argument `name=value`.
public struct Assignment: ExpressibleByArgument, Sendable {
    /// What stands before the first `=`.
    public let name: String
    /// What stands after it.
    public let value: String

    /// - Returns: nil without an `=`, or without a name.
    public init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        (name, value) = (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
    }

    /// The argument again.
    public var defaultValueDescription: String { "\(name)=\(value)" }
}
