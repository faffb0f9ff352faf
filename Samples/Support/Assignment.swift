internal import ArgumentParser

/// An argument `name=value`.
package struct Assignment: ExpressibleByArgument, Sendable {
    package let name: String
    package let value: String

    package init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        (name, value) = (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
    }

    package var defaultValueDescription: String { "\(name)=\(value)" }
}
