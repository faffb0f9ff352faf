internal import JOSE

extension JSON? {
    /// The value as an error message may show it: a string shortened to 200 code points, of any other value only its
    /// kind.
    package var foundText: String {
        if case .string(let text)? = self { "'\(text.shortened(to: 200))'" } else { foundKind }
    }

    /// As `foundText`, but shows a number itself.
    var foundNumber: String {
        if case .number? = self { self?.serialized().shortened(to: 40) ?? "" } else { foundText }
    }

    /// As `foundKind`, for a value that should be an array of strings.
    var foundStrings: String { self?.array?.isEmpty == false ? "an array with other values" : foundKind }
}
