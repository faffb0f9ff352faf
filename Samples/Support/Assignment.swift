public import ArgumentParser

/// An argument `name=value`.
public struct Assignment: ExpressibleByArgument, Sendable {
    public let name: String
    public let value: String

    public init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        (name, value) = (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
    }

    public var defaultValueDescription: String { "\(name)=\(value)" }
}
