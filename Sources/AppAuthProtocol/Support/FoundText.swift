internal import JOSE

extension JSON? {
    /// What stands here, for a message about what should: a text itself, cut; of anything else its kind.
    package var foundText: String {
        if case .string(let text)? = self { "'\(text.shortened(to: 200))'" } else { foundKind }
    }

    /// The same where a number should stand, and of a number itself.
    var foundNumber: String {
        if case .number? = self { self?.serialized().shortened(to: 40) ?? "" } else { foundText }
    }

    /// The same where strings should stand in an array.
    var foundStrings: String { self?.array?.isEmpty == false ? "an array with others" : foundKind }
}
